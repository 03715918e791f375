"use strict";
// Sorts the table of kernels by the column that is clicked: numbers by the cells' data-v, texts by what they say.
for (const table of document.querySelectorAll("table.sorted")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.addEventListener("click", () => {
    const down = head.dataset.down !== "1";
    heads.forEach(h => delete h.dataset.down);
    if (down) head.dataset.down = "1";
    const value = row => {
      const cell = row.cells[column];
      return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
    };
    const rows = [...table.tBodies[0].rows].sort((a, b) => {
      const x = value(a), y = value(b);
      return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
    });
    table.tBodies[0].append(...rows);
  }));
}
// A kernel that is pointed at in one place shows in the others.
const marked = name => document.querySelectorAll(`[data-kernel="${name}"]`);
document.addEventListener("mouseover", event => {
  const at = event.target.closest("[data-kernel]");
  for (const old of document.querySelectorAll(".hot")) old.classList.remove("hot");
  if (at) for (const x of marked(at.dataset.kernel)) x.classList.add("hot");
});
