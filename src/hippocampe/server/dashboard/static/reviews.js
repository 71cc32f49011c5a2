// The pair that has the focus is decided with 1, 2 or 3; then the next one gets the focus.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea, dialog")) return;
  const pair = event.target.closest?.("[data-review]");
  const choice = pair?.querySelector(`[data-digit="${CSS.escape(event.key)}"]`);
  if (!choice) return;
  event.preventDefault();
  choice.click();
});

let place = -1;
document.addEventListener("htmx:beforeRequest", (event) => {
  const pair = event.target.closest?.("[data-review]");
  if (pair) place = [...document.querySelectorAll("[data-review]")].indexOf(pair);
});
document.addEventListener("htmx:afterSettle", (event) => {
  if (event.target.id !== "pairs" || place < 0) return;
  const pairs = document.querySelectorAll("[data-review]");
  pairs[Math.min(place, pairs.length - 1)]?.focus();
  place = -1;
});
