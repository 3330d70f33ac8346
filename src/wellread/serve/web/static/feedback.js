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

export function feedback(say) {
  for (const one of document.querySelectorAll("[data-take]")) one.hidden = false;
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
    const page = await fetch(location.pathname, { headers: { Accept: "text/html" } });
    const fresh = new DOMParser().parseFromString(await page.text(), "text/html").getElementById("feedback");
    place.innerHTML = fresh.innerHTML;
    for (const one of place.querySelectorAll("[data-take]")) one.hidden = false;
    place.querySelector("[data-feedback] button.primary").focus();
    say("Feedback saved");
  });
}
