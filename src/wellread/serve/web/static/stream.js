// A question on its way. Events are numbered by the server, so that a lost connection goes on
// where it was: the browser sends the last number it has seen by itself.
export function follow(run, say, ready) {
  const byId = (id) => document.getElementById(id);
  const steps = byId("steps");
  const now = byId("now");
  const answer = byId("answer");
  let ended = false;
  const source = new EventSource(`/ask/${encodeURIComponent(run.dataset.run)}/events`);
  const insert = (place, html) => place.insertAdjacentHTML("beforeend", html);

  const close = () => {
    ended = true;
    source.close();
    byId("working")?.remove();
    byId("draft").hidden = true;
  };

  const finish = (word, detail) => {
    close();
    byId("ended-word").textContent = `${word}.`;
    byId("ended-detail").textContent = detail;
    byId("ended").hidden = false;
    run.dataset.state = word.toLowerCase();
    say(`${word}. ${detail}`);
    byId("retry").focus();
  };

  source.addEventListener("step", (event) => {
    const step = JSON.parse(event.data);
    insert(steps, step.html);
    now.textContent = NEXT[step.name] ?? "Working";
    say(now.textContent);
  });

  source.addEventListener("token", (event) => {
    byId("draft").hidden = false;
    byId("draft-text").innerHTML = JSON.parse(event.data).html;
  });

  source.addEventListener("final", (event) => {
    const final = JSON.parse(event.data);
    close();
    answer.innerHTML = final.html;
    run.dataset.state = "done";
    if (final.id) history.replaceState(null, "", `/answers/${encodeURIComponent(final.id)}`);
    const follow = byId("follow");
    follow.hidden = false;
    follow.querySelector("[name=session]").value = final.session;
    ready(answer);
    const count = answer.querySelectorAll("[data-sentence]").length;
    say(count === 1 ? "Answered in 1 sentence" : `Answered in ${count} sentences`);
  });

  source.addEventListener("ended", (event) => {
    const { state, problem } = JSON.parse(event.data);
    if (state === "cancelled") finish("Cancelled", "You stopped this question.");
    else finish("Failed", problem ? `${problem.detail} ${problem.hint}` : "");
  });

  source.addEventListener("error", () => {
    if (ended) return;
    if (source.readyState === EventSource.CLOSED) {
      finish("Interrupted", "The server stopped while it was answering. Ask again.");
    } else {
      now.textContent = "Connection lost; trying again";
      say(now.textContent);
    }
  });

  byId("cancel")?.addEventListener("submit", async (event) => {
    event.preventDefault();
    now.textContent = "Stopping";
    await fetch(event.target.action, { method: "POST", redirect: "manual" });
  });
}

const NEXT = {
  cache: "Found an earlier answer",
  analysis: "Searching",
  retrieval: "Reading the passages",
  evidence: "Writing",
  draft: "Checking each sentence",
  verification: "Citing",
  citation: "Finishing",
};
