// A question on its way. Events are numbered by the server, so that a lost connection goes on
// where it was: the browser sends the last number it has seen by itself.
export function follow(run, say, ready) {
  const byId = (id) => document.getElementById(id);
  const begun = Date.now() - 1000 * Number(run.dataset.elapsed);
  const now = byId("now");
  const answer = byId("answer");
  let ended = false;
  const source = new EventSource(`/ask/${encodeURIComponent(run.dataset.run)}/events`);
  const tick = () => { byId("elapsed").textContent = `${Math.round((Date.now() - begun) / 1000)} s`; };
  const ticking = setInterval(tick, 1000);
  tick();

  const close = () => {
    ended = true;
    source.close();
    clearInterval(ticking);
    byId("working")?.remove();
    byId("skeleton").remove();
    byId("draft").hidden = true;
    byId("follow").inert = false;
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
    now.textContent = NEXT[step.name] ?? step.name;
    say(now.textContent);
  });

  source.addEventListener("token", (event) => {
    byId("skeleton").hidden = true;
    byId("draft").hidden = false;
    byId("draft-text").innerHTML = JSON.parse(event.data).html;
  });

  source.addEventListener("final", (event) => {
    const final = JSON.parse(event.data);
    if (final.id && run.dataset.show) return location.replace(`/answers/${encodeURIComponent(final.id)}?${run.dataset.show}`);
    close();
    answer.innerHTML = final.html;
    run.dataset.state = "done";
    if (final.id) history.replaceState(null, "", `/answers/${encodeURIComponent(final.id)}`);
    follow.session(final.session);
    ready(answer);
    const count = answer.querySelectorAll("[data-sentence]").length;
    say(count === 1 ? "Answered in 1 sentence" : `Answered in ${count} sentences`);
  });

  source.addEventListener("ended", (event) => {
    const { state, problem } = JSON.parse(event.data);
    if (state === "cancelled") finish("Stopped", "You stopped this question.");
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

// What is asked next belongs to the same conversation.
follow.session = (id) => {
  const form = document.getElementById("ask");
  if (!id || !form) return;
  const field = form.querySelector("[name=session]") ?? form.appendChild(Object.assign(document.createElement("input"), { type: "hidden", name: "session" }));
  field.value = id;
  form.querySelector("#q").placeholder = "Ask a follow-up question";
};

const NEXT = {
  cache: "Found an earlier answer",
  analysis: "Searching",
  retrieval: "Reading the passages",
  evidence: "Writing",
  draft: "Checking each sentence",
  verification: "Citing",
  citation: "Finishing",
};
