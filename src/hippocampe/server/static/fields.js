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

document.addEventListener("htmx:afterSettle", (event) => {
  event.target.querySelector?.("[data-focus]")?.focus();
});
