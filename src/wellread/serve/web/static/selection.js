// Counts the chosen rows of the library's table. The form works without it.
export function selection() {
  const form = document.querySelector("[data-selection]");
  const boxes = [...form.querySelectorAll("tbody input[name=document]")];
  const all = form.querySelector("[data-all]");
  const words = form.querySelector("[data-chosen]");
  const before = words.textContent;
  const count = () => {
    const chosen = boxes.filter((box) => box.checked).length;
    words.textContent = chosen ? `${chosen} chosen` : before;
    all.checked = chosen === boxes.length;
    all.indeterminate = chosen > 0 && chosen < boxes.length;
  };
  all.hidden = false;
  all.addEventListener("change", () => {
    for (const box of boxes) box.checked = all.checked;
    count();
  });
  form.addEventListener("change", count);
  count();
}
