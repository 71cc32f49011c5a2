// A file that is dropped on the page, or chosen, is sent; its preview takes the place of the form.
import { headers } from "./request.js";
import { refusal, toast } from "./toast.js";

const zone = document.querySelector("[data-drop]");
const place = document.getElementById("imported");
const bar = place.querySelector(".sending");
const chooser = zone.querySelector("input");
const format = place.querySelector("[data-format]");
let refused = null;

function send(file) {
  const request = new XMLHttpRequest();
  request.open("POST", `${zone.dataset.drop}?${new URLSearchParams({ name: file.name, format: format.value })}`);
  for (const [name, value] of Object.entries(headers())) request.setRequestHeader(name, value);
  request.setRequestHeader("Content-Type", "application/octet-stream");
  const shown = bar.querySelector("progress");
  request.upload.addEventListener("progress", (event) => {
    if (event.lengthComputable) shown.value = event.loaded / event.total;
  });
  const again = (text) => {
    zone.hidden = false;
    bar.hidden = true;
    chooser.value = "";
    toast(text, { kind: "danger" });
  };
  request.addEventListener("error", () => again(document.body.dataset.unreachable));
  request.addEventListener("load", async () => {
    if (request.status !== 200) {
      refused = file;
      format.focus();
      again(await refusal(request));
      return;
    }
    place.innerHTML = request.responseText;
    htmx.process(place);
    place.querySelector("[data-focus]")?.focus();
  });
  zone.hidden = true;
  bar.hidden = false;
  request.send(file);
}

chooser.addEventListener("change", () => chooser.files[0] && send(chooser.files[0]));
// A file whose format was not recognised, or not the one that was chosen.
format.addEventListener("change", () => refused && send(refused));

for (const name of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(name, (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    zone.classList.toggle("over", name === "dragover");
    const [file] = event.dataTransfer.files;
    if (name === "drop" && file && zone.isConnected && !zone.hidden) send(file);
  });
}
