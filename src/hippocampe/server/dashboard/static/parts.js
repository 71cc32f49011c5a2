// Parts that are loaded after their page: when one fails, it says so in its place and can be tried again.
import { reason } from "./toast.js";

function broken(part, detail) {
  const shown = document.getElementById("broken").content.cloneNode(true);
  shown.querySelector("[data-detail]").textContent = detail;
  shown.querySelector("[data-again]").addEventListener("click", () => {
    htmx.ajax("GET", part.getAttribute("hx-get"), { source: part, target: part });
  });
  part.replaceChildren(shown);
}

for (const [name, detail] of [
  ["htmx:responseError", (event) => reason(event.detail.xhr)],
  ["htmx:sendError", () => document.body.dataset.unreachable],
]) {
  document.body.addEventListener(name, (event) => {
    const { target, requestConfig } = event.detail;
    if (requestConfig.verb === "get" && target?.matches("[data-part]")) broken(target, detail(event));
  });
}

// A line to copy.
document.addEventListener("click", async (event) => {
  const control = event.target.closest("[data-copy]");
  if (!control) return;
  // Over plain HTTP a browser has no clipboard: the line is selected for Ctrl+C instead.
  if (!navigator.clipboard) {
    getSelection().selectAllChildren(control.previousElementSibling);
    return;
  }
  await navigator.clipboard.writeText(control.dataset.copy);
  const { toast } = await import("./toast.js");
  toast(document.body.dataset.copied);
});
