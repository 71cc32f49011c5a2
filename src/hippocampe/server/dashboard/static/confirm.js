// A control that destroys asks first: data-confirm is the question, which names the thing; data-detail says
// what will happen; data-yes is the word of the button; data-word has to be typed, if present.
const dialog = document.getElementById("confirm");
const yes = document.getElementById("confirm-yes");
const word = document.getElementById("confirm-word");
const typing = document.getElementById("confirm-typing");

export function ask({ confirm, detail = "", yes: label = "", word: needed = "", ask: request = "" }) {
  document.getElementById("confirm-title").textContent = confirm;
  document.getElementById("confirm-detail").textContent = detail;
  document.getElementById("confirm-ask").textContent = request;
  yes.textContent = label;
  typing.hidden = !needed;
  word.value = "";
  yes.disabled = Boolean(needed);
  // Phones begin a field with a capital.
  word.oninput = () => { yes.disabled = word.value.trim().toLowerCase() !== needed.toLowerCase(); };
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((answer) => {
    dialog.addEventListener("close", () => answer(dialog.returnValue === "yes" && !yes.disabled), { once: true });
  });
}

// Enter presses the first button of a form, which cancels; in the field it should do what was typed for.
word?.addEventListener("keydown", (event) => {
  if (event.key === "Enter") {
    event.preventDefault();
    if (!yes.disabled) yes.click();
  }
});

// The part that the control is in may have been loaded again meanwhile: then the page itself asks.
function go(control, { verb, path, issueRequest }) {
  if (control.isConnected) {
    issueRequest(true);
    return;
  }
  const values = JSON.parse(control.getAttribute("hx-vals") ?? "{}");
  htmx.ajax(verb, path, { source: document.body, swap: "none", values });
}

document.addEventListener("htmx:confirm", (event) => {
  const control = event.detail.elt;
  if (!control.dataset?.confirm) return;
  event.preventDefault();
  ask(control.dataset).then((sure) => sure && go(control, event.detail));
});
