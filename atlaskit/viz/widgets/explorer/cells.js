// The cells of the explorer: what lies over the image, for pointers, keys and screen readers.
const MAX_LABELS = 4; // in one cell

// A cell in words: interval, evidence, dead zone, subtitles.
function cellText(cell, index) {
  const dead = cell.dead === 1 ? "dead zone" : `${Math.round(100 * cell.dead)} % dead zone`;
  return [
    `cell ${index}, ${cell.span}`,
    cell.found.length ? `evidence ${cell.found.join(", ")}` : "",
    cell.dead ? dead : "",
    cell.said ? `subtitles: ${cell.said}` : "",
  ].filter(Boolean).join(" · ");
}

function cellRows(cells, k, focus) {
  return Array.from({ length: k }, (_, row) => element("div", { role: "row" },
    ...cells.slice(row * k, row * k + k).map((cell, column) => cellElement(cell, row * k + column, focus))));
}

function cellElement(cell, index, focus) {
  const classes = ["cell", cell.dead === 1 ? "dead" : cell.dead ? "partly" : "", cell.opens ? "opens" : ""];
  const labels = cell.found.slice(0, MAX_LABELS).join(" ") + (cell.found.length > MAX_LABELS ? "…" : "");
  return element("div", { class: classes.filter(Boolean).join(" "), role: "gridcell", "data-index": index,
    tabindex: index === focus ? 0 : -1, "aria-label": cellText(cell, index) },
    element("span", { class: "at", "aria-hidden": "true" }, clockText(cell.time_s)),
    cell.found.length ? element("span", { class: "found" }, labels) : null,
    cell.dead === 1 ? element("span", { class: "out", "aria-hidden": "true" }, "×") : null);
}

// The cell that has the focus first when a place follows another: on the way back, the one that was opened.
function firstFocus({ path, look, cell }, to, focus) {
  if (to.look !== "grid") return 0;
  if (look === "grid" && path.join() === to.path.join()) return focus; // the same place, sharper
  if (look !== "grid" && path.length === to.path.length) return cell;
  return path.length > to.path.length ? path[to.path.length] : 0;
}

// One frame, as a request names it: the shown one, or that of the cell that has the focus.
function oneFrame({ place, cells }, focus) {
  if (place.look === "frame") return { place };
  return place.look === "grid" ? { place: { ...place, look: "frame", cell: focus } } : { time_s: cells[focus].time_s };
}
