// The chat: Enter sends, what was said is shown at once, and the latest exchange is in view.
const form = document.querySelector("[data-say]");
const talk = document.getElementById("talk");
let waiting = null;

function bubble(name, text) {
  const made = document.createElement("p");
  made.className = `bubble ${name}`;
  made.textContent = text;
  return made;
}

form?.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || !event.target.matches("[data-enter]")) return;
  event.preventDefault();
  if (!form.querySelector(".primary").disabled) form.requestSubmit();
});

form?.addEventListener("htmx:beforeRequest", () => {
  const field = form.elements.message;
  waiting = document.createElement("article");
  waiting.className = "exchange";
  const said = document.createElement("div");
  said.className = "said";
  said.append(bubble("mine", field.value), bubble("wait", talk.dataset.thinking));
  waiting.append(said);
  talk.append(waiting);
  form.dataset.sent = field.value;
  field.value = "";
  waiting.scrollIntoView({ block: "end" });
});

form?.addEventListener("htmx:afterRequest", (event) => {
  waiting?.remove();
  const field = form.elements.message;
  // What could not be sent is not lost.
  if (!event.detail.successful && !field.value) field.value = form.dataset.sent;
  talk.lastElementChild?.scrollIntoView({ block: "nearest" });
  field.focus();
});
