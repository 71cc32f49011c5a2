// The log as it is written: filtered, paused and copied here; the server sends every line.
const head = document.querySelector("[data-log]");
const lines = document.getElementById("log-lines");
const rows = lines?.firstElementChild;
const state = document.getElementById("log-state");
const level = document.getElementById("log-level");
const filter = document.getElementById("log-filter");
const pause = document.getElementById("log-pause");
const MOST = 1000;
const RANKS = { debug: 0, info: 1, warning: 2, error: 3 };
let buffer = [];
let paused = false;
let waiting = 0;

const text = (line) => `${line.at} ${line.level.toUpperCase()} ${line.logger}: ${line.text}`;

function wanted(line) {
  return RANKS[line.level] >= RANKS[level.value]
    && text(line).toLocaleLowerCase().includes(filter.value.trim().toLocaleLowerCase());
}

function row(line) {
  const made = document.createElement("li");
  made.className = line.level;
  for (const [name, value] of [["at", line.at], ["level", line.level], ["text", line.text]]) {
    const part = document.createElement("span");
    part.className = name;
    part.textContent = value;
    made.append(part);
  }
  made.title = line.logger;
  return made;
}

function atEnd() {
  return lines.scrollHeight - lines.scrollTop - lines.clientHeight < 40;
}

function showAll() {
  rows.replaceChildren(...buffer.filter(wanted).map(row));
  lines.hidden = !buffer.length;
  document.getElementById("log-empty").hidden = buffer.length > 0;
  lines.scrollTop = lines.scrollHeight;
}

function add(line) {
  buffer.push(line);
  if (buffer.length > MOST) buffer = buffer.slice(-MOST);
  if (paused) {
    waiting += 1;
    say("paused", ` +${waiting}`);
    return;
  }
  if (buffer.length === 1) return showAll();
  if (!wanted(line)) return;
  const follow = atEnd();
  rows.append(row(line));
  while (rows.children.length > MOST) rows.firstChild.remove();
  if (follow) lines.scrollTop = lines.scrollHeight;
}

function say(name, more = "") {
  state.textContent = head.dataset[name] + more;
  state.className = `tag ${{ live: "good", lost: "attention" }[name] ?? ""}`;
}

if (head) {
  const source = new EventSource(head.dataset.log);
  source.onopen = () => say(paused ? "paused" : "live");
  source.onerror = () => say("lost");
  source.onmessage = (event) => add(JSON.parse(event.data));
  addEventListener("pagehide", () => source.close());
  level.addEventListener("change", showAll);
  filter.addEventListener("input", showAll);
  pause.addEventListener("click", () => {
    paused = !paused;
    waiting = 0;
    pause.setAttribute("aria-pressed", String(paused));
    pause.querySelector("span").textContent = paused ? head.dataset.goOn : head.dataset.pause;
    say(paused ? "paused" : "live");
    if (!paused) showAll();
  });
  document.getElementById("log-copy").addEventListener("click", async () => {
    await navigator.clipboard.writeText(buffer.filter(wanted).map(text).join("\n"));
    const { toast } = await import("./toast.js");
    toast(document.body.dataset.copied);
  });
}
