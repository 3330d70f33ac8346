// Tables that are sorted by a click on a heading: numbers as numbers, words by the alphabet.
export function tables(root) {
  for (const table of root.querySelectorAll("table[data-sortable]")) {
    if (table.dataset.ready) continue;
    table.dataset.ready = "yes";
    [...table.tHead.rows[0].cells].forEach((cell, place) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = cell.textContent;
      cell.replaceChildren(button);
      button.addEventListener("click", () => sort(table, cell, place));
    });
  }
}

function sort(table, cell, place) {
  const up = cell.getAttribute("aria-sort") !== "ascending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  cell.setAttribute("aria-sort", up ? "ascending" : "descending");
  const body = table.tBodies[0];
  const value = (row) => row.cells[place].dataset.value ?? row.cells[place].textContent.trim();
  const number = (text) => Number(text.replace(/[,\s%$]/g, ""));
  const rows = [...body.rows];
  const numeric = rows.every((row) => value(row) === "" || Number.isFinite(number(value(row))));
  rows.sort((one, other) => {
    const order = numeric ? number(value(one)) - number(value(other)) : value(one).localeCompare(value(other), undefined, { numeric: true });
    return up ? order : -order;
  });
  body.append(...rows);
}
