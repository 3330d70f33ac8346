// Files dropped on the form, and how far the upload is. Without this the form works by itself.
export function upload(say) {
  for (const form of document.querySelectorAll("form[data-drop]")) {
    const files = form.querySelector("input[type=file]");
    const bar = form.querySelector("progress");
    const state = form.querySelector("[data-drop-state]");
    const over = (on) => (event) => {
      event.preventDefault();
      form.classList.toggle("over", on);
    };
    form.classList.add("drop");
    form.addEventListener("dragover", over(true));
    form.addEventListener("dragleave", over(false));
    form.addEventListener("drop", (event) => {
      over(false)(event);
      if (event.dataTransfer.files.length) {
        files.files = event.dataTransfer.files;
        form.requestSubmit();
      }
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const request = new XMLHttpRequest(); // fetch tells nothing of how much was sent
      request.open("POST", form.action);
      request.setRequestHeader("Accept", "application/json");
      request.upload.addEventListener("progress", (sent) => {
        bar.hidden = false;
        bar.value = sent.lengthComputable ? (100 * sent.loaded) / sent.total : 0;
        state.textContent = `${(sent.loaded / 1e6).toFixed(1)} MB sent`;
      });
      request.addEventListener("load", () => {
        if (request.status < 300) return location.assign("/library/jobs");
        const problem = JSON.parse(request.responseText);
        state.textContent = `${problem.detail} ${problem.hint}`;
        say(state.textContent);
        bar.hidden = true;
      });
      request.addEventListener("error", () => {
        state.textContent = "The connection was lost. Nothing was added; try again.";
        say(state.textContent);
      });
      say("Sending");
      request.send(new FormData(form));
    });
  }
}
