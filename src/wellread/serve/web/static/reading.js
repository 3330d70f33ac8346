// Sentences and their sources, side by side: the source follows the sentence, and a mark in the
// source leads back to the sentence that cites it.
// Whoever closes the source does not get it again by itself.
const CLOSED = "source-closed";
const closed = (change) => {
  try {
    if (change === true) sessionStorage.setItem(CLOSED, "yes");
    if (change === false) sessionStorage.removeItem(CLOSED);
    return sessionStorage.getItem(CLOSED) !== null;
  } catch {
    return false; // this browser keeps nothing
  }
};
const WIDE = window.matchMedia("(min-width: 70rem)");

export function reading(say, showKeys) {
  const panes = document.querySelector(".panes");
  const pane = document.getElementById("source");
  const beside = Boolean(panes && pane);
  let sentences = [];
  let current = -1;
  let asked = 0;

  let links = []; // the first link to each citation of the answer, in the order of their numbers

  const refresh = () => {
    sentences = [...document.querySelectorAll("[data-sentence]")];
    current = -1;
    const answer = document.querySelector("#answer .answer");
    const found = new Map();
    for (const link of answer?.querySelectorAll("a[data-cite]") ?? []) if (!found.has(link.dataset.cite)) found.set(link.dataset.cite, link);
    links = [...found.values()].sort((one, other) => one.dataset.cite - other.dataset.cite);
    if (links.length && panes?.classList.contains("open") && WIDE.matches && !closed()) show(links[0], { told: false });
    else if (answer && !links.length && pane?.querySelector(".pane-empty")) pane.firstElementChild.textContent = "This answer cites nothing.";
    else if (beside && closed()) panes.classList.remove("open");
  };

  // The links to what a sentence cites. In a stretch of several only the last has them in itself.
  const linksOf = (sentence) => {
    const answer = sentence.closest(".answer") ?? document;
    const numbers = sentence.dataset.cited.split(" ").filter(Boolean);
    return numbers.map((one) => answer.querySelector(`[data-cite="${CSS.escape(one)}"]`)).filter(Boolean);
  };

  const select = (place, { focus = true, which = 0 } = {}) => {
    if (!sentences.length) return;
    current = Math.max(0, Math.min(place, sentences.length - 1));
    for (const one of document.querySelectorAll(".sentence.current")) one.classList.remove("current");
    const sentence = sentences[current];
    sentence.closest("details:not([open])")?.setAttribute("open", "");
    sentence.classList.add("current");
    if (focus) {
      sentence.focus({ preventScroll: true });
      sentence.scrollIntoView({ block: "nearest" });
    }
    const cited = linksOf(sentence);
    if (cited.length && beside && WIDE.matches) show(cited[which % cited.length]);
  };

  const mark = (link) => {
    const number = link.dataset.cite;
    const scope = link.closest(".answer") ?? document;
    for (const one of document.querySelectorAll(".cite.current")) one.classList.remove("current");
    for (const one of scope.querySelectorAll(`.cite[data-cite="${CSS.escape(number)}"]`)) one.classList.add("current");
  };

  const show = async (link, { enter = false, told = true } = {}) => {
    const mine = ++asked;
    if (pane.dataset.from !== link.href) {
      const address = new URL(link.href);
      address.searchParams.set("pane", "true");
      const html = await (await fetch(address)).text();
      if (mine !== asked) return; // another sentence was chosen meanwhile
      pane.innerHTML = html;
      pane.dataset.from = link.href;
      player(pane);
    }
    panes.classList.add("open");
    mark(link);
    const cited = pane.querySelector("#cited");
    if (cited) into(cited, enter);
    else pane.scrollTop = 0;
    const title = pane.querySelector(".source-title")?.textContent.trim() ?? "";
    const place = link.closest("#answer") ? links.findIndex((one) => one.dataset.cite === link.dataset.cite) : -1;
    const position = pane.querySelector("[data-position]");
    if (position) position.textContent = place < 0 ? "" : `${place + 1} of ${links.length}`;
    if (!told) return;
    say(cited ? `Source ${link.dataset.cite}: ${title}` : `Source ${link.dataset.cite} has no exact place`);
    if (enter && !cited) pane.querySelector("a, button")?.focus();
  };

  // scrollIntoView would scroll the answer as well.
  const into = (cited, enter) => {
    if (WIDE.matches) {
      const top = cited.getBoundingClientRect().top - pane.getBoundingClientRect().top;
      pane.scrollTop += top - pane.clientHeight / 4;
    } else {
      cited.scrollIntoView({ block: "center" });
    }
    if (enter) {
      cited.setAttribute("tabindex", "-1");
      cited.focus({ preventScroll: true });
    }
  };

  document.addEventListener("click", (event) => {
    const step = event.target.closest?.("[data-step]");
    if (step) return turn(Number(step.dataset.step));
    if (event.target.closest?.("[data-close]")) return close();
    const seek = event.target.closest?.("[data-seek]");
    if (seek) return play(seek);
    const other = event.target.closest?.("[data-marks]");
    if (other) return back(other.dataset.marks.split(" ")[0]);
    const link = event.target.closest?.("[data-cite]");
    const plain = !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0;
    if (link && beside && plain && WIDE.matches) {
      event.preventDefault();
      closed(false);
      const sentence = link.closest("[data-sentence]");
      if (sentence) choose(sentence);
      show(link);
      return;
    }
    const sentence = event.target.closest?.("[data-sentence]");
    if (sentence && !event.target.closest("a") && !String(window.getSelection())) select(sentences.indexOf(sentence));
  });

  // To the next or the previous source of the answer.
  const turn = async (by) => {
    const number = pane.querySelector(".pane-bar") && document.querySelector("#answer .cite.current")?.dataset.cite;
    const place = links.findIndex((one) => one.dataset.cite === number);
    const link = links[(place + by + links.length) % links.length];
    const sentence = link.closest("[data-sentence]") ?? sentences.find((one) => one.matches(`[data-cited~="${CSS.escape(link.dataset.cite)}"]`));
    if (sentence) choose(sentence);
    await show(link);
    pane.querySelector(`[data-step="${by}"]`)?.focus();
  };

  const close = () => {
    panes.classList.remove("open");
    closed(true);
    sentences[Math.max(current, 0)]?.focus();
  };

  document.addEventListener("mouseup", () => {
    const selection = window.getSelection();
    if (!pane || !selection || selection.isCollapsed) return;
    const node = selection.anchorNode;
    const marked = (node?.closest ? node : node?.parentElement)?.closest("#source mark");
    if (!marked) return;
    back(marked.dataset.marks?.split(" ")[0] ?? new URL(pane.dataset.from ?? location.href, location.href).searchParams.get("citation"), false);
  });

  const choose = (sentence) => {
    current = sentences.indexOf(sentence);
    for (const one of document.querySelectorAll(".sentence.current")) one.classList.remove("current");
    sentence.classList.add("current");
  };

  // From a mark of the source to the sentence that cites it; of a stretch, to the part that answers.
  const back = (number, focus = true) => {
    const shown = pane?.dataset.from && new URL(pane.dataset.from).searchParams.get("answer");
    if (shown && shown !== document.querySelector("#answer .answer")?.dataset.answer) return; // of an earlier turn
    const citing = sentences.filter((one) => one.matches(`[data-cited~="${CSS.escape(number ?? "")}"]`));
    const sentence = citing.find((one) => one.querySelector("mark")) ?? citing[0];
    const link = sentence && linksOf(sentence).find((one) => one.dataset.cite === number);
    if (!link) return;
    choose(sentence);
    mark(link);
    sentence.scrollIntoView({ block: "nearest" });
    if (focus) {
      sentence.focus({ preventScroll: true });
      if (beside && WIDE.matches) show(link);
    }
    say(sentence.getAttribute("aria-label"));
  };

  document.addEventListener("focusin", (event) => {
    const sentence = event.target.closest?.("[data-sentence]");
    if (sentence && sentences.indexOf(sentence) !== current) select(sentences.indexOf(sentence), { focus: false });
  });

  let which = 0;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    // The page itself does not scroll, so its keys scroll what is said.
    const talk = event.target === document.body && document.querySelector(".talk");
    const far = talk && { PageDown: talk.clientHeight * 0.9, " ": talk.clientHeight * 0.9, PageUp: -talk.clientHeight * 0.9, ArrowDown: 60, ArrowUp: -60, End: talk.scrollHeight, Home: -talk.scrollHeight }[event.key];
    if (far) {
      event.preventDefault();
      talk.scrollBy({ top: event.shiftKey ? -far : far });
      return;
    }
    const typing = event.target.closest?.("input, textarea, select, dialog, audio, video, summary");
    if (event.key === "Escape" && pane?.contains(document.activeElement) && sentences[current]) {
      sentences[current].focus();
      return;
    }
    if (typing) return;
    const inPane = pane?.contains(event.target);
    const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
    if (step && sentences.length && (event.key.length === 1 || event.target.closest?.("[data-sentence]"))) {
      event.preventDefault();
      which = 0;
      select(current < 0 ? (step > 0 ? 0 : sentences.length - 1) : current + step);
    } else if (event.key === "n" && sentences[current]) {
      select(current, { which: ++which });
    } else if ((event.key === "o" || (event.key === "Enter" && event.target.matches?.("[data-sentence]"))) && sentences[current] && !inPane) {
      const cited = linksOf(sentences[current]);
      if (!cited.length) return;
      event.preventDefault();
      const link = cited[which % cited.length];
      if (beside && WIDE.matches) show(link, { enter: true });
      else location.assign(link.href);
    } else if (event.key === "p") {
      const audio = document.querySelector("audio");
      if (audio) audio.paused ? audio.play() : audio.pause();
    } else if (event.key === "/") {
      event.preventDefault();
      const box = document.getElementById("q") ?? document.querySelector("main [type=search]");
      if (box) box.focus();
      else location.assign("/");
    } else if (event.key === "?") {
      showKeys();
    }
  });

  // --- recordings ---

  const player = (root) => {
    const audio = root.querySelector("audio");
    if (!audio) return;
    const begin = Number(audio.dataset.begin ?? NaN);
    if (Number.isFinite(begin)) at(audio, begin);
    const turns = [...root.querySelectorAll("[data-begin]")].filter((one) => one !== audio);
    audio.addEventListener("timeupdate", () => {
      const spoken = turns.filter((one) => Number(one.dataset.begin) <= audio.currentTime).pop();
      for (const one of turns) one.classList.toggle("playing", one === spoken && !audio.paused);
    });
  };

  // A player that has loaded nothing yet keeps the second until it has.
  const at = (audio, second) => {
    audio.dataset.at = String(second);
    if (audio.readyState > 0) audio.currentTime = second;
    else audio.addEventListener("loadedmetadata", () => { audio.currentTime = Number(audio.dataset.at); }, { once: true });
  };

  const play = (button) => {
    const audio = document.querySelector("audio");
    if (!audio) return;
    at(audio, Number(button.dataset.seek));
    audio.play().catch(() => say("The recording cannot be played here"));
  };

  if (!beside) {
    player(document);
    document.querySelector("#source #cited")?.scrollIntoView({ block: "center" });
  }
  return { refresh };
}
