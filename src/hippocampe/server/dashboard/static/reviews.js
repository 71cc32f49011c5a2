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

// The pairs that are selected are decided together.
document.addEventListener("change", (event) => {
  const form = document.getElementById("bulk");
  if (!form || event.target.form !== form) return;
  const pairs = [...document.querySelectorAll("[form=bulk][name=pair]")];
  const all = form.querySelector("[data-all]");
  if (event.target === all) for (const each of pairs) each.checked = all.checked;
  const selected = pairs.filter((each) => each.checked).length;
  all.checked = selected === pairs.length;
  all.indeterminate = selected > 0 && selected < pairs.length;
  for (const button of form.querySelectorAll("button")) button.disabled = selected === 0;
  form.querySelector("[data-selected]").textContent = selected ? form.dataset.bulk.replace("{number}", selected.toLocaleString(document.documentElement.lang)) : "";
});
