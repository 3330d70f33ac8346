// Rating an answer without leaving its page, and taking a citation from the source beside it.
let words = "";
let source = null;

document.addEventListener("selectionchange", () => {
  const selection = window.getSelection();
  const pane = document.getElementById("source");
  const inside = pane && selection?.anchorNode && pane.contains(selection.anchorNode);
  if (!inside || !String(selection).trim()) return;
  const title = pane.querySelector(".source-title a");
  words = String(selection).trim();
  source = title && { id: decodeURIComponent(new URL(title.href).pathname.split("/").pop()), title: title.textContent };
});

// The form as the server has it now; what follows it stays.
async function fresh() {
  const page = await fetch(location.pathname, { headers: { Accept: "text/html" } });
  const kept = new DOMParser().parseFromString(await page.text(), "text/html").getElementById("feedback");
  const place = document.getElementById("feedback");
  place.innerHTML = kept.innerHTML;
  for (const one of place.querySelectorAll("[data-take]")) one.hidden = false;
}

let listening = false;

export function feedback(say) {
  for (const one of document.querySelectorAll("[data-take]")) one.hidden = false;
  if (listening) return;
  listening = true;
  document.addEventListener("submit", async (event) => {
    const form = event.target.closest?.("[data-rate]");
    if (!form) return;
    event.preventDefault();
    const reply = await fetch(form.action, { method: "POST", body: new URLSearchParams({ score: event.submitter.value }) });
    if (!reply.ok) return say("Could not be saved");
    for (const one of form.querySelectorAll("button")) one.setAttribute("aria-pressed", String(one === event.submitter));
    await fresh();
    say("Saved. You can say more below.");
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-take]");
    if (!button) return;
    if (!source) return say("Open a source and select words in it first");
    const fields = button.closest("[data-better]");
    const select = fields.querySelector("select");
    if (![...select.options].some((one) => one.value === source.id)) select.add(new Option(source.title, source.id));
    select.value = source.id;
    fields.querySelector("textarea").value = words;
    say(`Taken from ${source.title}`);
  });
  document.addEventListener("submit", async (event) => {
    const form = event.target.closest?.("[data-feedback]");
    if (!form) return;
    event.preventDefault();
    const place = document.getElementById("feedback");
    const problem = place.querySelector("[data-problem]");
    const body = new URLSearchParams(new FormData(form));
    const reply = await fetch(form.action, { method: "POST", body, headers: { Accept: "application/json" } });
    if (!reply.ok) {
      const told = await reply.json();
      problem.textContent = `${told.detail} ${told.hint}`;
      problem.hidden = false;
      return;
    }
    await fresh();
    place.querySelector("[data-feedback] button.primary").focus();
    say("Feedback saved");
  });
}
