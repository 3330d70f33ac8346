// The question box, and the choice of collections in the rail, which the browser remembers.
const KEY = "collections-left-out"; // what is added later is asked as well

// Some browsers refuse to keep anything.
const remembered = () => {
  try {
    return JSON.parse(localStorage.getItem(KEY));
  } catch {
    return null;
  }
};

const remember = (names) => {
  try {
    localStorage.setItem(KEY, JSON.stringify(names));
  } catch {
    // the choice holds for this page
  }
};

function scope() {
  const place = document.getElementById("scope-choice");
  if (!place) return;
  const boxes = [...place.querySelectorAll("input")];
  const chip = document.querySelector("[data-scope-chip]");
  const told = () => {
    const chosen = boxes.filter((one) => one.checked).map((one) => one.value);
    if (!chip) return;
    const all = chosen.length === 0 || chosen.length === boxes.length;
    chip.textContent = all ? "All collections" : chosen.length === 1 ? chosen[0] : `${chosen.length} collections`;
    chip.classList.toggle("set", !all);
  };
  const out = "named" in place.dataset ? null : remembered();
  for (const one of out ? boxes : []) one.checked = !out.includes(one.value);
  told();
  place.addEventListener("change", () => {
    if (!boxes.some((one) => one.checked)) for (const one of boxes) one.checked = true; // none would be all
    remember(boxes.filter((one) => !one.checked).map((one) => one.value));
    told();
  });
  document.addEventListener("click", (event) => {
    const only = event.target.closest?.("[data-only]");
    if (!only || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const name = only.dataset.only;
    for (const one of boxes) one.checked = !name || one.value === name;
    place.dispatchEvent(new Event("change"));
    only.closest("details").open = false;
    document.getElementById("q")?.focus();
  });
}

export function box() {
  scope();
  // The newest question stands on top; what was asked before it is above.
  if (document.querySelector(".turns")) document.querySelector("h1.question")?.scrollIntoView();
  const question = document.querySelector("textarea#q");
  if (!question) return;
  const grow = () => {
    question.style.height = "auto";
    question.style.height = `${question.scrollHeight + 2}px`;
  };
  if (!CSS.supports("field-sizing", "content")) question.addEventListener("input", grow);
  question.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (question.value.trim()) question.form.requestSubmit();
  });
  if (document.activeElement === question) question.setSelectionRange(question.value.length, question.value.length);
  const chip = question.form.querySelector("[data-time-chip]");
  if (chip) question.form.addEventListener("change", () => {
    const [from, to] = ["from", "to"].map((name) => question.form.elements[name].value.trim());
    chip.textContent = from && from === to ? from : from && to ? `${from} – ${to}` : from ? `since ${from}` : to ? `until ${to}` : "Any time";
    chip.classList.toggle("set", Boolean(from || to));
  });
  document.addEventListener("click", (event) => {
    const span = event.target.closest?.("[data-span]");
    if (span && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      for (const name of ["from", "to"]) question.form.elements[name].value = span.dataset.span;
      question.form.dispatchEvent(new Event("change"));
      span.closest("details").open = false;
      question.focus();
    }
    const edit = event.target.closest?.("[data-edit]");
    if (edit && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      question.value = edit.dataset.edit;
      question.focus();
    }
    // A menu closes when something else is pressed.
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (!menu.contains(event.target)) menu.open = false;
    }
  });
  document.addEventListener("keydown", (event) => {
    const menu = event.key === "Escape" && event.target.closest?.("details.menu[open]");
    if (!menu) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
}
