// Adding files from any page: a sheet lists what was dropped or chosen, sends it, and then shows how
// far the reading is. Without this, the form at /library/add does the same on pages of its own.
import { watch } from "./live.js";

const FORM = "/library/add?pane=true";

export function upload(say) {
  for (const one of document.querySelectorAll("[data-needs-script]")) one.hidden = false;
  for (const form of document.querySelectorAll("form[data-files]")) prepare(form, say);
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-add]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    sheet([], say, new URL(link.href).searchParams.get("collection") ?? "");
  });
  const has = (event) => event.dataTransfer?.types.includes("Files");
  const over = (on) => document.body.classList.toggle("dropping", on);
  document.addEventListener("dragover", (event) => {
    if (!has(event)) return;
    event.preventDefault();
    over(true);
  });
  document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) over(false); });
  document.addEventListener("drop", (event) => {
    if (!has(event)) return;
    event.preventDefault();
    over(false);
    const form = document.querySelector("dialog[open] form[data-files], main form[data-files]");
    if (form) take(form, event.dataTransfer.files);
    else sheet(event.dataTransfer.files, say);
  });
}

// The sheet: made on first use, emptied when it closes.
async function sheet(files, say, collection = "") {
  const reply = await fetch(`${FORM}&collection=${encodeURIComponent(collection)}`);
  if (!reply.ok) return location.assign("/library/add");
  if (!document.querySelector("link[href$='/library.css']")) {
    const style = Object.assign(document.createElement("link"), { rel: "stylesheet", href: "/static/library.css" });
    document.head.append(style);
  }
  const dialog = document.createElement("dialog");
  dialog.className = "sheet-add";
  dialog.setAttribute("aria-labelledby", "sheet-title");
  dialog.innerHTML = `<div class="page-head"><h2 id="sheet-title">Add files</h2><form method="dialog"><button class="plain-button" aria-label="Close">✕</button></form></div>${await reply.text()}<p class="quiet"><a href="/library/add">A web page, a folder or a text instead</a></p>`;
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  const form = dialog.querySelector("form[data-files]");
  prepare(form, say);
  if (files.length) take(form, files);
}

const size = (bytes) => (bytes < 1e5 ? `${Math.max(1, Math.round(bytes / 1e3))} kB` : `${(bytes / 1e6).toFixed(1)} MB`);

// Adds files to those that the form has already.
function take(form, files) {
  const input = form.querySelector("input[type=file]");
  const all = new DataTransfer();
  for (const file of [...input.files, ...files]) all.items.add(file);
  input.files = all.files;
  input.dispatchEvent(new Event("change", { bubbles: true }));
}

function prepare(form, say) {
  const input = form.querySelector("input[type=file]");
  const list = form.querySelector("[data-chosen-files]");
  input.addEventListener("change", () => {
    list.replaceChildren(...[...input.files].map((file) => {
      const line = document.createElement("li");
      line.textContent = `${file.name} `;
      line.append(Object.assign(document.createElement("span"), { className: "quiet", textContent: size(file.size) }));
      return line;
    }));
    list.hidden = !input.files.length;
    form.querySelector("button.primary").textContent = input.files.length > 1 ? `Add ${input.files.length} files` : "Add";
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(form, say);
  });
}

function send(form, say) {
  const bar = form.querySelector("progress");
  const told = form.querySelector("[data-sent]");
  const button = form.querySelector("button.primary");
  const failed = (words) => {
    told.textContent = words;
    bar.hidden = true;
    button.disabled = false;
  };
  const request = new XMLHttpRequest(); // fetch does not tell how much was sent
  request.open("POST", form.action);
  request.upload.addEventListener("progress", (sent) => {
    bar.value = sent.lengthComputable ? (100 * sent.loaded) / sent.total : 0;
    told.textContent = `${size(sent.loaded)} sent`;
  });
  request.addEventListener("load", () => {
    if (request.status < 300) return follow(form, request.responseURL, say);
    try {
      const problem = JSON.parse(request.responseText);
      failed(`${problem.detail} ${problem.hint}`);
    } catch {
      failed("The server refused these files.");
    }
  });
  request.addEventListener("error", () => failed("The connection was lost. Nothing was added; try again."));
  request.setRequestHeader("Accept", "application/json");
  button.disabled = true;
  bar.hidden = false;
  say("Sending");
  request.send(new FormData(form));
}

// The server leads to the page of the run: in the sheet, its part stands in place of the form.
async function follow(form, address, say) {
  const dialog = form.closest("dialog");
  if (!dialog) return location.assign(address);
  const place = document.createElement("div");
  place.dataset.live = `${new URL(address).pathname}?pane=true`;
  place.innerHTML = await (await fetch(place.dataset.live)).text();
  dialog.querySelector("h2").textContent = "Adding";
  form.nextElementSibling.remove();
  form.replaceWith(place);
  watch(place, say);
}
