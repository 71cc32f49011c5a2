// Sliders show their number while they move; some forms send themselves; Escape leaves an edit.
document.addEventListener("input", (event) => {
  const slider = event.target.closest?.("input[type=range]");
  const shown = slider && document.getElementById(slider.dataset.shown);
  if (shown) {
    const digits = Number(slider.dataset.digits ?? 0);
    shown.textContent = new Intl.NumberFormat(document.documentElement.lang, {
      minimumFractionDigits: digits, maximumFractionDigits: digits,
    }).format(slider.value);
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  event.target.closest?.("form[data-edit]")?.querySelector("[data-cancel]")?.click();
});

// A form that is opened by a button, and one that is emptied once it is sent.
document.addEventListener("click", (event) => {
  const control = event.target.closest("[data-toggle]");
  const form = control && document.getElementById(control.dataset.toggle);
  if (!form) return;
  form.hidden = !form.hidden;
  const opener = document.querySelector(`[aria-controls="${form.id}"]`);
  opener?.setAttribute("aria-expanded", String(!form.hidden));
  if (form.hidden) opener?.focus();
  else form.querySelector("textarea, input")?.focus();
});

if (location.hash === "#edit") document.querySelector("[data-toggle=edit]")?.click();

document.addEventListener("htmx:afterRequest", (event) => {
  const form = event.detail.elt;
  if (event.detail.successful && form.matches?.("[data-reset]")) {
    form.reset();
    form.querySelector("input:not([type=hidden])")?.focus();
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.target.closest?.("[data-submit]")?.form.requestSubmit();
});

document.addEventListener("htmx:afterSettle", (event) => {
  event.target.querySelector?.("[data-focus]")?.focus();
});
