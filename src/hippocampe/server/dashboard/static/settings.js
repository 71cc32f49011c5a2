// The form of the settings: only what was changed is sent, a changed setting is marked, each goes back to its default.
const form = document.querySelector("form[data-changes]");

function changed(control) {
  if (control.type === "checkbox") return control.checked !== control.defaultChecked;
  if (control.options) return [...control.options].some((each) => each.selected !== each.defaultSelected);
  return control.type !== "hidden" && control.value !== control.defaultValue;
}

function mark() {
  const names = new Set([...form.elements].filter((each) => each.name && changed(each)).map((each) => each.name));
  for (const row of form.querySelectorAll(".setting")) {
    row.classList.toggle("dirty", names.has(row.querySelector("[name]").name));
  }
  const note = form.querySelector("[data-unsaved]");
  if (note) note.hidden = !names.size;
  return names;
}

form.addEventListener("input", mark);
form.addEventListener("reset", () => setTimeout(() => {
  for (const slider of form.querySelectorAll("input[type=range]")) slider.dispatchEvent(new Event("input", { bubbles: true }));
  mark();
  form.dispatchEvent(new Event("input", { bubbles: true }));
}));

form.addEventListener("click", (event) => {
  const control = event.target.closest("[data-for]");
  if (!control) return;
  const field = document.getElementById(control.dataset.for);
  if (field.type === "checkbox") field.checked = control.dataset.value === "true";
  else field.value = control.dataset.value;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  field.focus();
});

document.body.addEventListener("htmx:configRequest", (event) => {
  if (event.detail.verb !== "post" || !event.detail.path.startsWith("/settings")) return;
  if (event.detail.path.includes("?")) return;
  const names = mark();
  for (const each of form.elements) {
    if (each.name && !names.has(each.name)) delete event.detail.parameters[each.name];
  }
});

window.addEventListener("beforeunload", (event) => {
  if (mark().size) event.preventDefault();
});
