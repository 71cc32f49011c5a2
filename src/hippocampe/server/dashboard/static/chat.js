// The chat: Enter sends, what was said is shown at once, and the answer as it is written.
import { headers } from "./request.js";
import { refusal, silent, toast } from "./toast.js";

const form = document.querySelector("[data-say]");
const talk = document.getElementById("talk");
const words = document.body.dataset;
let waiting = null;

function bubble(name, text) {
  const made = document.createElement("p");
  made.className = `bubble ${name}`;
  made.textContent = text;
  return made;
}

form?.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || !event.target.matches("[data-enter]")) return;
  event.preventDefault();
  if (!form.querySelector(".primary").disabled) form.requestSubmit();
});

function begin() {
  const field = form.elements.message;
  waiting = document.createElement("article");
  waiting.className = "exchange";
  const said = document.createElement("div");
  said.className = "said";
  said.append(bubble("mine", field.value), bubble("wait", talk.dataset.thinking));
  waiting.append(said);
  talk.append(waiting);
  form.dataset.sent = field.value;
  field.value = "";
  waiting.scrollIntoView({ block: "end" });
}

function end(done) {
  waiting?.remove();
  const field = form.elements.message;
  // What could not be sent is not lost.
  if (!done && !field.value) field.value = form.dataset.sent;
  talk.lastElementChild?.scrollIntoView({ block: "nearest" });
  field.focus();
}

form?.addEventListener("htmx:beforeRequest", begin);
form?.addEventListener("htmx:afterRequest", (event) => end(event.detail.successful));

// An answer comes as server-sent events: its text in pieces, then the exchange with what memory did for it.

async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const blocks = (rest + part.value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const [, name, data] = block.match(/^event: (.*)\ndata: (.*)$/);
      yield [name, JSON.parse(data)];
    }
  }
}

async function answer(body) {
  const response = await fetch(form.dataset.answer, { method: "POST", headers: headers(), body });
  if (!response.ok) {
    toast(await refusal({ status: response.status, responseText: await response.text() }), { kind: "danger" });
    return false;
  }
  const shown = waiting.querySelector(".wait");
  let text = "";
  let whole = false;
  for await (const [name, data] of eventsOf(response)) {
    if (name === "text") {
      text = data.restart ? data.text : text + data.text;
      shown.textContent = text;
      shown.classList.remove("wait");
      waiting.scrollIntoView({ block: "nearest" });
    } else {
      talk.insertAdjacentHTML("beforeend", data.html);
      htmx.process(talk.lastElementChild);
      htmx.trigger(document.body, "memory-changed");
      whole = true;
    }
  }
  if (!whole) toast(silent, { kind: "danger" });
  return whole;
}

document.addEventListener("submit", async (event) => {
  if (event.target !== form || !form.dataset.answer || form.elements.alone?.checked) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  const send = form.querySelector(".primary");
  const body = new URLSearchParams(new FormData(form));
  begin();
  send.disabled = true;
  let done = false;
  try {
    done = await answer(body);
  } catch {
    toast(silent, { kind: "danger" });
  }
  send.disabled = false;
  end(done);
}, { capture: true });
