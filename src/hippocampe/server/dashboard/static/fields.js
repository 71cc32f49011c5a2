// Sliders show their number while they move; some forms send themselves; what is typed is not lost by accident.
import { ask } from "./confirm.js";

document.addEventListener("input", (event) => {
  const slider = event.target.closest?.("input[type=range]");
  const shown = slider && document.getElementById(slider.dataset.shown);
  if (shown) {
    const digits = Number(slider.dataset.digits ?? 0);
    shown.textContent = new Intl.NumberFormat(document.documentElement.lang, {
      minimumFractionDigits: digits, maximumFractionDigits: digits,
    }).format(slider.value);
  }
  event.target.closest?.("form[data-edit]")?.setAttribute("data-dirty", "");
});

// A changed form asks before its text is lost: by Escape, or by leaving the page or the part it is in.
export async function discards(part) {
  const changed = part.matches("[data-dirty]") ? part : part.querySelector("[data-dirty]");
  const { discard, discardYes } = document.body.dataset;
  if (changed && !(await ask({ confirm: discard, yes: discardYes }))) {
    changed.querySelector("textarea, input:not([type=hidden])").focus();
    return false;
  }
  changed?.removeAttribute("data-dirty");
  return true;
}

addEventListener("beforeunload", (event) => {
  if (document.querySelector("[data-dirty]")) event.preventDefault();
});

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (detail.target?.matches?.("[data-part]") && detail.target.querySelector("[data-dirty]")) detail.shouldSwap = false;
});

document.addEventListener("keydown", async (event) => {
  const form = event.key === "Escape" && event.target.closest?.("form[data-edit]");
  if (!form) return;
  event.preventDefault();
  if (await discards(form)) form.querySelector("[data-cancel]")?.click();
});

// A form that a button opens, and one inside it closes. The first leads into an open form: what is typed is not lost.
document.addEventListener("click", (event) => {
  const control = event.target.closest("[data-toggle]");
  const form = control && document.getElementById(control.dataset.toggle);
  if (!form) return;
  form.hidden = form.contains(control);
  const opener = document.querySelector(`[aria-controls="${form.id}"]`);
  opener?.setAttribute("aria-expanded", String(!form.hidden));
  if (form.hidden) {
    form.reset();
    form.removeAttribute("data-dirty");
    opener?.focus();
  } else form.querySelector("textarea, input")?.focus();
});

// A press counts once: not again while its request is under way, nor by the second click of a double click.
document.addEventListener("htmx:confirm", (event) => {
  const { elt, verb, triggeringEvent } = event.detail;
  const pressed = verb !== "get" && ["click", "submit"].includes(triggeringEvent?.type);
  if (pressed && elt.matches(".htmx-request")) event.preventDefault();
});
document.addEventListener("click", (event) => {
  if (event.detail > 1 && event.target.closest("form[hx-post] button:not([type=button])")) event.preventDefault();
});

// Not the id of the form: the browser would move the focus to it, and away from its field.
if (location.hash === "#change") document.querySelector("[data-toggle=edit]")?.click();

// A form is emptied once it is sent, unless the next text was typed meanwhile.
const typed = (form) => new URLSearchParams(new FormData(form)).toString();
const sent = new WeakMap();
document.addEventListener("htmx:beforeRequest", ({ detail: { elt } }) => {
  if (elt.matches?.("form")) sent.set(elt, typed(elt));
});
document.addEventListener("htmx:afterRequest", ({ detail: { elt: form, successful } }) => {
  if (!successful || !form.matches?.("form") || typed(form) !== sent.get(form)) return;
  form.removeAttribute("data-dirty");
  if (form.matches("[data-reset]")) {
    form.reset();
    form.querySelector("textarea, input:not([type=hidden])")?.focus();
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.target.closest?.("[data-submit], form[data-edit] :is(input, select, textarea)")?.form.requestSubmit();
});

// A choice that sends its form at once.
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-send]")) event.target.form.requestSubmit();
});

// A long text is shown whole, and again its beginning only.
document.addEventListener("click", (event) => {
  const control = event.target.closest("[data-unclamp]");
  if (!control) return;
  const open = document.getElementById(control.dataset.unclamp).classList.toggle("shortened");
  control.setAttribute("aria-expanded", String(!open));
});

document.addEventListener("htmx:afterSettle", (event) => {
  event.target.querySelector?.("[data-focus]")?.focus();
});
