// What all pages share. Each module looks for its own attributes.
import "./confirm.js";
import "./toast.js";
import "./parts.js";
import "./tables.js";
import "./fields.js";

const menu = document.querySelector("[data-menu]");
const rail = document.getElementById("rail");
menu?.addEventListener("click", () => {
  const open = rail.classList.toggle("open");
  menu.setAttribute("aria-expanded", String(open));
  // The rest of the head is between the button and the links.
  if (open) rail.querySelector("a").focus();
});
rail?.addEventListener("focusout", ({ relatedTarget }) => {
  const left = relatedTarget && relatedTarget !== menu && !rail.contains(relatedTarget);
  if (left && rail.classList.contains("open")) menu.click();
});

// A cookie for HTTPS only is not kept otherwise.
const insecure = document.querySelector("[data-insecure]");
if (insecure) insecure.hidden = window.isSecureContext;

// A link sends no header: the next page is in the space of the tab that is in use.
const { space } = document.body.dataset;
if (space) {
  const choose = () => {
    document.cookie = `hippocampe_space=${encodeURIComponent(space)}; path=/; max-age=31536000; samesite=strict`;
  };
  addEventListener("focus", choose);
  if (new URLSearchParams(location.search).has("space")) choose();
}

export const typing = (target) => target.closest?.("input, textarea, select, [contenteditable]");

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/" && !typing(event.target)) {
    const find = document.getElementById("find");
    if (find) {
      event.preventDefault();
      find.focus();
      find.select();
    }
  }
  if (event.key === "Escape" && menu?.getAttribute("aria-expanded") === "true") {
    menu.click();
    menu.focus();
  }
});
