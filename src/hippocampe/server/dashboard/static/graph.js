// The graph: a worker lays it out, graph-view.js draws it, this module has its controls and its list.
import { View } from "./graph-view.js";
import { headers } from "./request.js";

const place = document.getElementById("graph");
const LISTED = 200;

// Letters without accents and case, as the other searches compare them.
const fold = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLocaleLowerCase();

async function load() {
  const answer = await fetch("/graph/data", { headers: headers() });
  if (!answer.ok) throw new Error((await answer.json()).detail);
  return answer.json();
}

function failed(error) {
  const shown = document.getElementById("broken").content.cloneNode(true);
  shown.querySelector("[data-detail]").textContent = error.message;
  shown.querySelector("[data-again]").addEventListener("click", () => location.reload());
  document.getElementById("graph-state").replaceChildren(shown);
}

// The weight of a link: a node with many links is not pulled together into one clump.
function weights(data) {
  const many = new Uint32Array(data.ids.length);
  for (const ends of [data.source, data.target]) for (const end of ends) many[end] += 1;
  return { many, weight: data.source.map((from, n) => 0.7 / Math.max(1, Math.min(many[from], many[data.target[n]]))) };
}

function start(data) {
  const count = data.ids.length;
  const { many, weight } = weights(data);
  const subject = data.types.indexOf("subject");
  const around = Array.from({ length: count }, () => []);
  data.source.forEach((from, n) => { around[from].push(data.target[n]); around[data.target[n]].push(from); });
  const folded = data.labels.map(fold);
  const kinds = JSON.parse(place.dataset.kinds);
  const words = place.dataset;
  const filters = document.getElementById("graph-filters");
  const list = document.getElementById("graph-list");
  const view = new View(document.getElementById("graph-canvas"), document.getElementById("graph-tip"), { data, many, subject, choose });
  let chosen = -1;

  for (const type of data.types) {
    if (type === "subject") continue;
    filters.elements.type.append(new Option(kinds[type] ?? type, type));
  }
  const subjects = [...folded.keys()].filter((n) => data.type[n] === subject).sort((a, b) => many[b] - many[a]);
  document.getElementById("graph-subjects").append(...subjects.slice(0, 500).map((n) => new Option(data.labels[n])));

  function shown() {
    const { text, type, subject: about, since, until } = Object.fromEntries(new FormData(filters));
    const query = fold(text.trim());
    const wanted = data.types.indexOf(type);
    const from = since ? Date.parse(`${since}T00:00`) / 1000 : -Infinity;
    const to = until ? Date.parse(`${until}T00:00`) / 1000 + 86400 : Infinity;
    const name = fold(about.trim());
    const owner = name ? subjects.find((n) => folded[n] === name) ?? subjects.find((n) => folded[n].startsWith(name)) : undefined;
    const near = owner === undefined ? null : new Set(around[owner]);
    const visible = new Uint8Array(count);
    let memories = 0;
    for (let n = 0; n < count; n += 1) {
      if (data.type[n] === subject) continue;
      const good = (!query || folded[n].includes(query)) && (wanted < 0 || data.type[n] === wanted)
        && data.at[n] >= from && data.at[n] < to && (!name || near?.has(n));
      if (good) { visible[n] = 1; memories += 1; }
    }
    const all = !query && wanted < 0 && !name && !since && !until;
    for (const n of subjects) visible[n] = all || around[n].some((other) => visible[other]) ? 1 : 0;
    return { visible, memories };
  }

  function update() {
    const { visible, memories } = shown();
    if (chosen >= 0 && !visible[chosen]) choose(-1);
    view.show(visible);
    document.getElementById("graph-none").hidden = memories > 0;
    const total = data.type.reduce((sum, type) => sum + (type !== subject), 0);
    const fill = (text, values) => text.replace(/{(\w+)}/g, (_, key) => values[key].toLocaleString(document.documentElement.lang));
    document.getElementById("graph-count").textContent = `${fill(words.shown, { shown: memories, all: total })} ${words.memories}`;
    const listed = [...visible.keys()].filter((n) => visible[n] && data.type[n] !== subject).slice(0, LISTED);
    document.getElementById("graph-listed").textContent = fill(words.shown, { shown: listed.length, all: memories });
    list.replaceChildren(...listed.map((n) => {
      const item = document.createElement("li");
      const button = document.createElement("button");
      button.type = "button";
      button.dataset.row = "";
      button.dataset.node = data.ids[n];
      button.textContent = data.labels[n];
      if (n === chosen) button.setAttribute("aria-current", "true");
      item.append(button);
      return item;
    }));
  }

  function choose(node) {
    chosen = node;
    view.mark(node, node < 0 ? [] : around[node]);
    for (const button of list.querySelectorAll("button")) {
      if (button.dataset.node === data.ids[node]) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    }
    if (node < 0) return;
    if (data.type[node] === subject) {
      filters.elements.subject.value = data.labels[node];
      update();
      return;
    }
    htmx.ajax("GET", `/graph/card/${data.ids[node]}`, { target: "#graph-card", swap: "innerHTML" });
  }

  place.addEventListener("click", (event) => {
    const id = event.target.closest("[data-node]")?.dataset.node;
    if (id === undefined) return;
    const node = data.ids.indexOf(id);
    if (node < 0) return;
    choose(node);
    view.centre(node);
  });
  for (const button of place.querySelectorAll("[data-zoom]")) button.addEventListener("click", () => view.zoom(Number(button.dataset.zoom)));
  place.querySelector("[data-fit]").addEventListener("click", () => view.fit());
  filters.addEventListener("input", update);
  filters.addEventListener("reset", () => setTimeout(update));
  filters.addEventListener("submit", (event) => event.preventDefault());

  const worker = new Worker(place.dataset.worker);
  worker.onmessage = ({ data: { places, done } }) => {
    document.getElementById("graph-state")?.remove();
    view.move(places, done);
    if (done) place.dataset.done = "";
  };
  const libraries = JSON.parse(place.dataset.d3).map((path) => new URL(path, location).href);
  worker.postMessage({ libraries, count, source: data.source, target: data.target, weight });
  update();
  place.view = view;
}

if (place) load().then(start, failed);
