// Tables: heads that sort, and rows for the keyboard. j and k walk, Enter opens, e edits, x deletes.
const value = (row, column, kind) => {
  const cell = row.cells[column];
  const text = cell?.dataset.value ?? cell?.textContent.trim() ?? "";
  return kind === "number" ? Number(text) || 0 : text.toLocaleLowerCase();
};

document.addEventListener("click", (event) => {
  const head = event.target.closest("th button[data-sort]");
  if (!head) return;
  const th = head.closest("th");
  const table = th.closest("table");
  const kind = head.dataset.sort;
  const now = th.getAttribute("aria-sort");
  const ascending = now === "none" ? kind !== "number" : now === "descending";
  for (const other of table.tHead.rows[0].cells) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
  th.setAttribute("aria-sort", ascending ? "ascending" : "descending");
  const column = th.cellIndex;
  const order = new Intl.Collator(document.documentElement.lang, { numeric: true });
  const compare = (a, b) => {
    const [x, y] = [value(a, column, kind), value(b, column, kind)];
    const found = kind === "number" ? x - y : order.compare(x, y);
    return ascending ? found : -found;
  };
  table.tBodies[0].append(...[...table.tBodies[0].rows].sort(compare));
});

const rows = () => [...document.querySelectorAll("main [data-row]")].filter((row) => row.offsetParent);

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest?.("input, textarea, select, dialog")) return;
  const row = event.target.closest?.("[data-row]");
  if (event.key === "j" || event.key === "k") {
    const all = rows();
    if (!all.length) return;
    const at = row ? all.indexOf(row) + (event.key === "j" ? 1 : -1) : event.key === "j" ? 0 : all.length - 1;
    all[Math.max(0, Math.min(at, all.length - 1))].focus();
    event.preventDefault();
    return;
  }
  if (!row) return;
  const name = { Enter: event.target === row && "open", e: "edit", x: "delete" }[event.key];
  const control = name && row.querySelector(`[data-key="${name}"]`);
  if (control) {
    event.preventDefault();
    control.click();
  }
});

// A part that is loaded again, or a row that is replaced, keeps the place of the keyboard.
const places = new WeakMap();
const rowsOf = (part) => [...(part?.querySelectorAll?.("[data-row]") ?? [])];
document.addEventListener("htmx:beforeSwap", ({ detail: { target } }) => {
  const row = document.activeElement?.closest("[data-row]");
  const part = target === row ? row?.parentElement : target;
  if (row && part?.contains(row)) places.set(part, rowsOf(part).indexOf(row));
});
document.addEventListener("htmx:afterSettle", ({ detail: { target, elt } }) => {
  const part = places.has(target) ? target : elt?.parentElement;
  const place = places.get(part);
  places.delete(part);
  const all = rowsOf(part);
  if (place >= 0 && all.length && document.activeElement === document.body) all[Math.min(place, all.length - 1)].focus();
});
