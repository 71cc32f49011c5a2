// Messages after a change, with a way back, and messages of failures.
import { renewed } from "./request.js";

const place = document.getElementById("toasts");
const words = document.body.dataset;
const SHOWN_MS = 5000;
const UNDO_MS = 8000;
const failed = new WeakMap();

// The menu is as much shorter, so that no link is covered.
new ResizeObserver(() => {
  document.documentElement.style.setProperty("--toasts", `${Math.ceil(place.getBoundingClientRect().height)}px`);
}).observe(place);

function button(label, press) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "button small";
  made.textContent = label;
  made.addEventListener("click", press);
  return made;
}

export function toast(text, { undo = null, kind = "", from = null } = {}) {
  const box = document.createElement("div");
  box.className = `toast ${kind}`;
  if (from) failed.set(box, from);
  const message = document.createElement("span");
  message.textContent = text;
  box.append(message);
  if (undo) {
    box.append(button(words.undo, () => {
      box.remove();
      htmx.ajax("POST", undo, { source: document.body, swap: "none" });
    }));
  }
  box.append(button(words.close, () => box.remove()));
  place.append(box);
  while (place.children.length > 3) place.firstChild.remove();
  if (!box.matches(".danger")) {
    const end = () => (box.matches(":hover, :focus-within") ? setTimeout(end, 2000) : box.remove());
    setTimeout(end, undo ? UNDO_MS : SHOWN_MS);
  }
}

document.body.addEventListener("toast", ({ detail }) => {
  if (detail.next) sessionStorage.setItem("toast", detail.text);
  else toast(detail.text, detail);
});

const left = sessionStorage.getItem("toast");
if (left) {
  sessionStorage.removeItem("toast");
  toast(left);
}

// Of a request that the server may have executed before it fell silent.
export const silent = `${words.unreachable} ${words.unsure}`;

export function reason(request) {
  if (request.status === 401) return words.ended;
  try {
    return JSON.parse(request.responseText).detail;
  } catch {
    // A reverse proxy answers for a server that is down with a page of its own.
    return request.status > 501 ? words.unreachable : words.failed;
  }
}

// The reason why a change was refused. One that an old page sent can be sent again.
export async function refusal(request) {
  return request.status === 403 && (await renewed()) ? words.again : reason(request);
}

document.body.addEventListener("htmx:responseError", async (event) => {
  const { elt, xhr, target, requestConfig } = event.detail;
  if (requestConfig.verb === "get" && target?.matches("[data-part]")) return;
  const said = await refusal(xhr);
  toast(said === words.unreachable && requestConfig.verb !== "get" ? silent : said, { kind: "danger", from: elt });
});
document.body.addEventListener("htmx:sendError", (event) => {
  const asks = event.detail.requestConfig.verb === "get";
  if (asks && event.detail.target?.matches("[data-part]")) return;
  toast(asks ? words.unreachable : silent, { kind: "danger unreachable", from: event.detail.elt });
});
// A form that is sent again has another outcome.
document.body.addEventListener("htmx:beforeRequest", ({ detail }) => {
  for (const each of [...place.children]) if (failed.get(each) === detail.elt) each.remove();
});
document.body.addEventListener("htmx:afterOnLoad", () => {
  for (const each of place.querySelectorAll(".unreachable")) each.remove();
});
