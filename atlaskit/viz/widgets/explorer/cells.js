// The cells of the explorer, what lies over the image, for pointers, keys and screen readers; and what is done with them.
const MAX_LABELS = 4; // in one cell
const MIN_REGION_S = 1; // of a shown frame or a shorter cell, the region that a question is about is a grid above it
const ICONS = { // paths in a square of 24
  back: "M15 5 8 12l7 7", frame: "M3 5h18v14H3zM8 9h8v6H8z", before: "M12 5 5 12l7 7M19 5l-7 7 7 7",
  after: "M12 5l7 7-7 7M5 5l7 7-7 7", play: "M7 5v14l12-7z", film: "M3 6h12v12H3zM15 10l6-4v12l-6-4", copy: "M9 9h11v11H9zM5 15V4h10",
  save: "M12 4v11M7 10l5 5 5-5M5 20h14", marks: "M2 12s4-7 10-7 10 7 10 7-4 7-10 7-10-7-10-7zM12 9a3 3 0 100 6 3 3 0 000-6",
  help: "M8 9a4 4 0 116 3c-2 1-2 2-2 3M12 18.5v1", note: "M5 4h14v11l-5 5H5zM14 20v-5h5", in: "M10 4H6v16h4M11 12h9", out: "M14 4h4v16h-4M4 12h9",
};

// A button that shows a picture; its name is read out, and shown as long as the pointer rests on it.
function iconButton(icon, name, key, words, onClick) {
  const drawn = shape("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, shape("path", { d: ICONS[icon] }));
  return button(drawn, { class: "icon", "aria-label": name, "aria-keyshortcuts": key, title: `${name}: ${words} (${keyName(key)})` }, onClick);
}

const keyName = (key) => (key.length === 1 ? key.toUpperCase() : key);

// A cell in words: interval, evidence, dead zone, cuts, subtitles.
function cellText(cell, index) {
  const dead = cell.dead === 1 ? "dead zone" : `${Math.round(100 * cell.dead)} % dead zone`;
  return [
    `cell ${index}, ${cell.span}`,
    cell.found.length ? `evidence ${cell.found.join(", ")}` : "",
    cell.dead ? dead : "",
    cell.cuts ? `${cell.cuts} cut${cell.cuts === 1 ? "" : "s"} beside the shot that is shown` : "",
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
    element("span", { class: "at", "aria-hidden": "true" }, clockText(cell.time_s) + (cell.cuts ? ` +${cell.cuts}` : "")),
    cell.found.length ? element("span", { class: "found" }, labels) : null,
    cell.dead === 1 ? element("span", { class: "out", "aria-hidden": "true" }, "×") : null);
}

// The cell that has the focus first when a place follows another: on the way back, the one that was opened.
function firstFocus({ path, look, cell }, to, focus, cells) {
  if (to.look !== "grid") return 0;
  if (look === "grid" && path.join() === to.path.join()) return Math.min(focus, cells - 1); // the same place, sharper
  if (look !== "grid" && path.length === to.path.length) return Math.min(cell, cells - 1);
  return path.length > to.path.length ? Math.min(path[to.path.length], cells - 1) : 0;
}

// One frame, as a request names it: the shown one, or that of the cell that has the focus.
function oneFrame({ place, cells }, focus) {
  if (place.look === "frame") return { place };
  return place.look === "grid" ? { place: { ...place, look: "frame", cell: focus } } : { time_s: cells[focus].time_s };
}

// The interval of the cell that has the focus, exactly, or of the cell whose frame is shown.
function cellSpan({ span_s: span, cells }, focus) {
  return cells.length ? cells[focus].span_s : span;
}

// The interval of the cell that was opened, exactly: a grid of single frames may hold more.
function openedSpan({ place, crumbs, span_s: span }) {
  return place.look === "grid" ? crumbs.at(-1).span_s : span;
}

// The interval that is shown, or of the smallest grid above it that is at least a second long.
function regionOf({ span_s: shown, crumbs }) {
  const spans = [...crumbs.map((crumb) => crumb.span_s), shown];
  return spans.findLast(([start, end]) => end - start >= MIN_REGION_S) ?? spans[0];
}

// A clip over the image, with its sound, repeating.
class ClipPlayer {
  constructor(onClose) {
    this.onClose = onClose;
    this.video = element("video", { controls: true, loop: true, playsinline: true });
    this.words = element("p", {});
    this.box = element("div", { class: "clip", role: "group", "aria-label": "clip", hidden: true },
      this.video, this.words, button("close clip", { "aria-keyshortcuts": "Escape" }, () => this.close()));
  }

  get isOpen() {
    return !this.box.hidden;
  }

  show(webm, words) {
    this.release();
    this.video.src = URL.createObjectURL(new Blob([webm], { type: "video/webm" }));
    this.words.textContent = words;
    this.box.hidden = false;
    this.video.play().catch(() => {}); // a browser that refuses shows its controls
    this.box.querySelector("button").focus();
  }

  close() {
    if (!this.isOpen) return;
    const hadFocus = this.box.contains(document.activeElement);
    this.release();
    this.box.hidden = true;
    if (hadFocus) this.onClose();
  }

  release() {
    if (this.video.src) URL.revokeObjectURL(this.video.src);
    this.video.removeAttribute("src");
    this.video.load();
  }
}

// Copies a text; where the browser does not allow that, shows it selected in a field.
async function copyText(text, notice) {
  try {
    await navigator.clipboard.writeText(text);
    notice.textContent = `Copied ${text}.`;
  } catch {
    const field = element("input", { type: "text", readonly: true, value: text, "aria-label": "text to copy" });
    notice.replaceChildren("The browser does not let this page copy; copy it from here: ", field);
    field.focus();
    field.select();
  }
}

// The keys of the explorer, in a panel; `actions` are those of single keys, each with its words.
const MOTIONS = [
  ["Arrows, Home, End", "move between cells; the wheel, or two fingers, opens the cell below the pointer and leads back"],
  ["Enter", "open the cell"],
  ["← and →, or , and .", "in a frame: go one frame back or on; with Shift, or by J and L, one second"],
  ["Arrows on the ruler", "go through the video, with Page Up and Page Down by a tenth; + and − make it longer"],
];

function keysPanel(actions) {
  const rows = [...MOTIONS, ...actions.map(({ key, words }) => [keyName(key), words])];
  return element("details", { class: "panel keys", name: PANELS }, element("summary", {}, "Keys (?)"), element("dl", {},
    ...rows.flatMap(([key, words]) => [element("dt", {}, element("kbd", {}, key)), element("dd", {}, words)])));
}
