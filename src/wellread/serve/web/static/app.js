// Everything that a page does beyond what its HTML does alone. No page needs it to ask or to read.
import { follow } from "./stream.js";
import { reading } from "./reading.js";
import { box } from "./box.js";
import { tables } from "./tables.js";

const say = (words) => {
  const status = document.getElementById("status");
  if (status) status.textContent = words;
};

const keys = document.getElementById("keys");
const showKeys = () => keys && !keys.open && keys.showModal();
for (const button of document.querySelectorAll("[data-keys]")) {
  button.hidden = false;
  button.addEventListener("click", showKeys);
}

document.addEventListener("submit", (event) => {
  const words = event.target.dataset?.confirm;
  if (words && !window.confirm(words)) event.preventDefault();
});

// --- copying: an answer with its citations, one citation, the address of an answer ---

const copy = async (button, text) => {
  await navigator.clipboard.writeText(text);
  const label = button.textContent;
  button.textContent = "Copied";
  say("Copied");
  setTimeout(() => { button.textContent = label; }, 2000);
};

document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-copy], [data-copy-text], [data-link]");
  if (!button || !navigator.clipboard || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  if (!button.dataset.copy) return copy(button, button.dataset.copyText ?? button.href);
  const reply = await fetch(button.dataset.copy);
  if (reply.ok) await copy(button, await reply.text());
  else say("Could not be copied");
});

const read = reading(say, showKeys);
const ready = (root) => {
  for (const one of root.querySelectorAll("[data-copy], [data-copy-text]")) one.hidden = !navigator.clipboard;
  tables(root);
  read.refresh();
  if (root.querySelector("#feedback")) import("./feedback.js").then((module) => module.feedback(say));
};
ready(document);
box();

const run = document.getElementById("run");
if (run?.dataset.state === "running") follow(run, say, ready);

if (document.querySelector("[data-live]")) import("./live.js").then((module) => module.live(say));
if ("mayEdit" in document.body.dataset) import("./upload.js").then((module) => module.upload(say));
if (document.querySelector("[data-selection]")) import("./selection.js").then((module) => module.selection());
