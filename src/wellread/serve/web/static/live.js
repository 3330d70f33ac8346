// Looks on while something runs: the part of the page is fetched again each second.
const SECONDS = 1;

export function live(say) {
  for (const place of document.querySelectorAll("[data-live]")) watch(place, say);
}

export async function watch(place, say) {
  let told = "";
  while (place.querySelector("[data-running]")) {
    await new Promise((resolve) => setTimeout(resolve, SECONDS * 1000));
    const busy = document.activeElement && place.contains(document.activeElement);
    let html = "";
    try {
      const reply = await fetch(place.dataset.live);
      if (!reply.ok) continue;
      html = await reply.text();
    } catch {
      say("Connection lost; trying again");
      continue;
    }
    const action = busy ? document.activeElement.closest("form")?.getAttribute("action") : null;
    place.innerHTML = html;
    // Who stands on a button keeps standing on it.
    if (action) place.querySelector(`form[action="${CSS.escape(action)}"] button`)?.focus();
    const states = [...place.querySelectorAll(".state")].map((one) => one.textContent).join(", ");
    if (states !== told) say(states);
    told = states;
  }
  if (place.dataset.after) location.assign(place.dataset.after);
}
