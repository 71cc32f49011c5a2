// The page of memories: results follow the form, rows are selected, and one opens in the panel beside the table.
import { discards } from "./fields.js";

const form = document.getElementById("search-form");
const found = document.getElementById("found");
const panel = document.getElementById("panel");
const wide = matchMedia("(min-width: 1100px)");
const TYPING_MS = 300;

// Search. Results are not replaced while a pointer is down: the click on them would be lost.

const query = () => {
  const values = new FormData(form);
  values.delete("open");
  return new URLSearchParams(values).toString();
};
let shown = query();
let timer;
let pressed = false;
let waits = false;

function search() {
  clearTimeout(timer);
  waits = pressed;
  if (waits || query() === shown) return;
  shown = query();
  htmx.trigger(form, "ask");
}

form.addEventListener("input", (event) => {
  form.elements.page.value = 1;
  clearTimeout(timer);
  timer = setTimeout(search, event.target.matches("[type=search], [list], [name=channel]") ? TYPING_MS : 0);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  search();
});
found.addEventListener("htmx:beforeSwap", (event) => {
  if (!pressed || event.detail.target !== found) return;
  event.detail.shouldSwap = false;
  waits = true;
  shown = null;
});
// The same question is asked again after a failure.
for (const name of ["htmx:responseError", "htmx:sendError"]) {
  document.body.addEventListener(name, ({ detail }) => {
    if (detail.target === found) shown = null;
  });
}
document.addEventListener("pointerdown", () => { pressed = true; });
for (const name of ["pointerup", "pointercancel"]) {
  document.addEventListener(name, () => {
    pressed = false;
    if (waits) setTimeout(search);
  });
}

// The panel

const rowOf = (id) => found.querySelector(`[data-row][data-id="${CSS.escape(id)}"]`);
// The search when the panel was opened.
let before;
// Going back takes a while, and would close what is opened meanwhile.
let back = Promise.resolve();
const opened = () => (panel.hidden ? "" : form.elements.open.value);

function mark(id) {
  form.elements.open.value = id;
  for (const row of found.querySelectorAll("[data-row][aria-current]")) row.removeAttribute("aria-current");
  rowOf(id)?.setAttribute("aria-current", "true");
  const address = new URL(location);
  if (id) address.searchParams.set("open", id);
  else address.searchParams.delete("open");
  history.replaceState(history.state, "", address);
}

async function open(id, { edit = false, focus = true } = {}) {
  await back;
  if (!(await discards(panel))) return;
  if (panel.hidden) {
    before = query();
    // Going back closes the panel, and leaves the search as it is.
    const state = { query: query() };
    history.replaceState(state, "");
    history.pushState({ ...state, opened: true }, "");
  }
  await show(id, { edit, focus });
}

async function show(id, { edit = false, focus = true } = {}) {
  panel.hidden = false;
  mark(id);
  await htmx.ajax("GET", `/memory/${encodeURIComponent(id)}/panel`, { target: panel, swap: "innerHTML" });
  if (opened() !== id) return;
  if (edit) panel.querySelector("[data-toggle=edit]")?.click();
  else if (focus) panel.focus({ preventScroll: true });
}

function hide() {
  const row = rowOf(opened());
  panel.hidden = true;
  panel.replaceChildren();
  mark("");
  row?.focus();
}

async function shut() {
  if (!(await discards(panel))) return;
  const { opened: added } = history.state ?? {};
  hide();
  if (!added) return;
  back = new Promise((gone) => { addEventListener("popstate", gone, { once: true }); });
  history.back();
}

addEventListener("popstate", async ({ state }) => {
  const id = new URL(location).searchParams.get("open") ?? "";
  if (id !== opened() && !(await discards(panel))) {
    history.forward();
    return;
  }
  // The search that was changed while the panel was open.
  for (const [name, value] of new URLSearchParams(state?.query)) form.elements[name].value = value;
  if (id !== opened()) {
    if (id) show(id, { focus: false });
    else hide();
  }
  search();
});

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-shut]")) {
    shut();
    return;
  }
  const control = event.target.closest("a, button, input, label, select, summary, .reasons, .pick, .tools");
  const row = event.target.closest("#found [data-row]");
  const link = control ? control.closest("[data-panel]") : row?.querySelector("[data-key=open]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || String(getSelection())) return;
  if (!wide.matches || !link.matches("[data-panel]")) {
    // A row leads where its link does.
    if (!control) link.click();
    return;
  }
  event.preventDefault();
  open(decodeURIComponent(link.pathname.split("/").pop()), { edit: link.hash === "#change" });
});
found.addEventListener("focusin", ({ target }) => {
  if (opened() && !pressed && target.matches("[data-row][data-id]") && target.dataset.id !== opened()) {
    open(target.dataset.id, { focus: false });
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !opened() || event.target.closest?.("dialog, form, input, select, textarea")) return;
  shut();
});
if (panel.dataset.open && wide.matches) show(panel.dataset.open, { focus: false });

// The selection

let last = null;
const boxes = () => [...found.querySelectorAll("input[name=id]")];

function count() {
  const bar = document.getElementById("several");
  if (!bar) return;
  const number = boxes().filter((box) => box.checked).length;
  const { one, many } = bar.querySelector("[data-picked]").dataset;
  bar.hidden = !number;
  bar.querySelector("[data-picked]").textContent = number === 1 ? one : many.replace("{number}", number);
  for (const all of found.querySelectorAll("[data-all]")) {
    const own = [...all.closest("table").querySelectorAll("input[name=id]")];
    all.checked = own.length > 0 && own.every((box) => box.checked);
    all.indeterminate = !all.checked && own.some((box) => box.checked);
  }
}

found.addEventListener("click", ({ target, shiftKey }) => {
  if (target.matches("[data-all]")) {
    for (const box of target.closest("table").querySelectorAll("input[name=id]")) box.checked = target.checked;
  } else if (target.matches("[data-none]")) {
    for (const box of boxes()) box.checked = false;
  } else if (target.matches("input[name=id]")) {
    const all = boxes();
    const [from, to] = [all.indexOf(last), all.indexOf(target)].sort((a, b) => a - b);
    if (shiftKey && from >= 0) for (const box of all.slice(from, to)) box.checked = target.checked;
    last = target;
  } else {
    return;
  }
  count();
});
found.addEventListener("keydown", (event) => {
  const box = event.key === " " && event.target.matches("[data-row]") && event.target.querySelector("input[name=id]");
  if (!box) return;
  event.preventDefault();
  box.click();
});
document.addEventListener("htmx:afterSettle", ({ target }) => {
  if (target !== found) return;
  count();
  // Outside of what is replaced: what comes with its text may not be read out.
  document.getElementById("said").textContent = found.querySelector("[data-said]")?.dataset.said ?? "";
  // HTMX has put its own state there, with which going back would load the page again, and close a form that is open.
  const now = query();
  history.replaceState({ query: now, opened: Boolean(opened()) && now === before }, "");
  if (opened()) mark(opened());
});
