// The page of the explorer. It requests locations from the kernel, and shows their images.
const REPLY_MS = 4000; // until the page reports that the kernel has not replied
const STOPPED = "The kernel has stopped. The interactive widgets need a running kernel: run this cell again.";
const BUSY = "The kernel has not replied yet; it may be busy.";
const DRAW_AHEAD_MS = 120; // on a cell, until its grid is drawn in advance
const MAX_LABELS = 4; // in one cell
const HELP = "Arrows: move · Enter: open · Backspace or Escape: back · F: frame at full resolution · " +
  "B: time before · A: time after · M: marks";

function cssPercent(share) {
  return `${(100 * share).toFixed(3)}%`;
}

// A mark on the ruler; `from` and `to` are shares of the video.
function rulerMark([from, to], name) {
  const made = element("span", { class: name });
  made.style.left = cssPercent(from);
  made.style.width = cssPercent(to - from);
  return made;
}

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

class Explorer {
  constructor(model, el) {
    this.model = model;
    this.shown = null; // what the kernel sent last
    this.focus = 0; // the cell that has the focus
    this.received = 0; // number of images so far: an older one never replaces a newer one
    this.showStatic = () => {};
    this.build(el);
    this.listen();
    this.send({ want: "here" });
  }

  build(el) {
    this.crumbs = element("ol");
    this.picture = element("img", { alt: "" });
    this.cells = element("div", { class: "cells", role: "grid", "aria-label": "cells" });
    this.stage = element("div", { class: "stage", tabindex: -1 }, this.picture, this.cells);
    this.ruler = element("div", { class: "ruler", role: "img" });
    this.caption = element("p", { class: "caption", "aria-live": "polite" });
    this.status = element("p", { class: "status" });
    this.trouble = element("p", { class: "trouble", role: "alert" });
    this.root = element("section", { class: "atlaskit explorer", "aria-label": "video explorer",
      "data-lm-suppress-shortcuts": "true", hidden: true },
      element("nav", { "aria-label": "breadcrumbs" }, this.crumbs), this.buttons(), this.ruler, this.stage,
      this.status, this.trouble, this.caption, element("p", { class: "help" }, HELP));
    this.el = el;
    el.append(this.root);
  }

  buttons() {
    const make = (label, key, onClick) => button(label, { "aria-keyshortcuts": key }, onClick);
    this.back = make("← back", "Backspace", () => this.goBack());
    this.frame = make("full frame", "F", () => this.look("frame"));
    this.before = make("time before", "B", () => this.look("before"));
    this.after = make("time after", "A", () => this.look("after"));
    this.marks = make("marks", "M", () => this.toggleMarks());
    this.facts = element("span", { class: "facts" });
    const all = [this.back, this.before, this.after, this.frame, this.marks];
    return element("div", { class: "controls" }, ...all, this.facts);
  }

  listen() {
    this.onMessage = (message, buffers) => this.receive(message, buffers);
    this.onLost = () => this.stop();
    this.model.on("msg:custom", this.onMessage);
    this.model.on("comm_live_update", this.onLost);
    this.root.addEventListener("keydown", (event) => this.onKey(event));
    this.cells.addEventListener("click", (event) => this.onClick(event));
    this.cells.addEventListener("pointerover", (event) => this.onRest(event));
    this.cells.addEventListener("focusin", (event) => this.onRest(event));
    this.cells.addEventListener("pointerleave", () => this.describe(this.focus));
  }

  close() {
    this.model.off("msg:custom", this.onMessage);
    this.model.off("comm_live_update", this.onLost);
    clearTimeout(this.replyTimer);
    clearTimeout(this.aheadTimer);
    URL.revokeObjectURL(this.picture.src);
    this.showStatic();
  }

  // --- to the kernel

  send(message) {
    if (this.hasStopped) return this.fail(STOPPED);
    try {
      return this.model.send(message);
    } catch {
      return this.stop(); // the kernel stopped without a notice
    }
  }

  stop() {
    this.hasStopped = true;
    this.fail(STOPPED);
  }

  go(place) {
    if (this.hasStopped) return;
    this.stage.setAttribute("aria-busy", "true");
    clearTimeout(this.replyTimer);
    this.replyTimer = setTimeout(() => this.fail(BUSY), REPLY_MS);
    this.send({ want: "show", place });
  }

  goBack() {
    const { path, look } = this.shown.place;
    if (look !== "grid") this.go({ path, look: "grid", cell: null });
    else if (path.length) this.go({ path: path.slice(0, -1), look: "grid", cell: null });
  }

  look(what) {
    const { path, look, cell } = this.shown.place;
    this.go({ path, look: what, cell: look === "grid" ? this.focus : cell });
  }

  open(index) {
    if (this.shown.place.look !== "grid") return;
    const { path } = this.shown.place;
    if (this.shown.cells[index].opens) this.go({ path: [...path, index], look: "grid", cell: null });
    else this.go({ path, look: "frame", cell: index });
  }

  // --- from the kernel

  receive(message, buffers) {
    if (message.is === "picture") this.receiveImage(message, buffers[0]);
    else if (message.is === "drawing") clearTimeout(this.replyTimer);
    else this.fail(message.words);
  }

  async receiveImage(message, jpeg) {
    const number = ++this.received;
    const source = URL.createObjectURL(new Blob([jpeg], { type: "image/jpeg" }));
    const next = element("img", { alt: message.words, src: source });
    await next.decode().catch(() => {});
    if (number !== this.received) return URL.revokeObjectURL(source);
    const last = this.picture;
    this.picture = next;
    this.draw(message);
    last.replaceWith(next);
    URL.revokeObjectURL(last.src);
    if (this.root.hidden) this.appear();
  }

  appear() {
    this.root.hidden = false;
    this.showStatic = hideStaticPicture(this.el);
  }

  draw(message) {
    const hadFocus = [this.stage, this.crumbs].some((part) => part.contains(document.activeElement));
    clearTimeout(this.replyTimer);
    this.stage.removeAttribute("aria-busy");
    this.trouble.textContent = message.note;
    this.focus = this.firstFocus(message);
    this.shown = message;
    this.caption.textContent = message.words;
    this.facts.textContent = `${message.depth} · ${message.resolution}`;
    this.crumbs.replaceChildren(...message.crumbs.map((crumb) => this.crumb(crumb)));
    this.drawCells();
    this.drawRuler(message.ruler);
    this.updateButtons();
    this.describe(this.focus);
    if (hadFocus) (this.cell(this.focus) ?? this.stage).focus();
  }

  // The cell that has the focus first: on the way back, the one that was opened.
  firstFocus(message) {
    const { path, look, cell } = this.shown?.place ?? message.place;
    if (message.place.look !== "grid") return 0;
    if (look !== "grid" && path.length === message.place.path.length) return cell;
    return path.length > message.place.path.length ? path[message.place.path.length] : 0;
  }

  crumb({ path, words }) {
    const { path: here, look } = this.shown.place;
    const isCurrent = path.length === here.length && look === "grid";
    const open = () => this.go({ path, look: "grid", cell: null });
    return element("li", {}, button(words, { "aria-current": isCurrent ? "page" : null }, open));
  }

  drawCells() {
    const { k, cells } = this.shown;
    this.cells.style.setProperty("--k", k);
    this.cells.hidden = !k;
    const rows = Array.from({ length: k }, (_, row) => element("div", { role: "row" },
      ...cells.slice(row * k, row * k + k).map((cell, column) => this.drawCell(cell, row * k + column))));
    this.cells.replaceChildren(...rows);
  }

  drawCell(cell, index) {
    const classes = ["cell", cell.dead === 1 ? "dead" : cell.dead ? "partly" : "", cell.opens ? "opens" : ""];
    const labels = cell.found.slice(0, MAX_LABELS).join(" ") + (cell.found.length > MAX_LABELS ? "…" : "");
    return element("div", { class: classes.filter(Boolean).join(" "), role: "gridcell", "data-index": index,
      tabindex: index === this.focus ? 0 : -1, "aria-label": cellText(cell, index) },
      cell.found.length ? element("span", { class: "found" }, `[${labels}]`) : null,
      cell.dead === 1 ? element("span", { class: "out" }, "× dead") : null);
  }

  drawRuler({ ends, here, words, dead, found }) {
    this.ruler.setAttribute("aria-label", `Shown: ${words}.`);
    const labels = found.map(([share, label]) => {
      const made = element("span", { class: "found" }, label);
      made.style.left = cssPercent(share);
      return made;
    });
    const zones = dead.map((zone) => rulerMark(zone, "zone"));
    this.ruler.replaceChildren(element("span", { class: "end" }, ends[0]),
      element("div", { class: "line" }, ...zones, rulerMark(here, "here"), ...labels),
      element("span", { class: "end" }, ends[1]));
  }

  updateButtons() {
    const { path, look } = this.shown.place;
    this.back.disabled = look === "grid" && !path.length;
    this.frame.disabled = look === "frame";
    this.marks.hidden = !this.shown.ruler.dead.length && !this.shown.ruler.found.length;
    this.marks.setAttribute("aria-pressed", String(!this.root.classList.contains("unmarked")));
  }

  // Describes a shown cell, or the one that is shown in more detail.
  describe(index) {
    const { cells, about, place } = this.shown;
    this.status.textContent = cells.length ? cellText(cells[index], index) : cellText(about, place.cell);
  }

  fail(words) {
    clearTimeout(this.replyTimer);
    this.stage.removeAttribute("aria-busy");
    this.trouble.textContent = words;
  }

  // --- from the user

  cell(index) {
    return this.cells.querySelector(`[data-index="${index}"]`);
  }

  indexOf(event) {
    const cell = event.target.closest("[data-index]");
    return cell ? Number(cell.dataset.index) : null;
  }

  onClick(event) {
    const index = this.indexOf(event);
    if (index === null) return;
    this.move(index);
    this.open(index);
  }

  // Describes the cell that the pointer or the focus rests on, and draws its grid in advance.
  onRest(event) {
    const index = this.indexOf(event);
    if (index === null) return;
    this.describe(index);
    clearTimeout(this.aheadTimer);
    if (!this.shown.cells[index].opens) return;
    const place = { path: [...this.shown.place.path, index], look: "grid", cell: null };
    this.aheadTimer = setTimeout(() => this.send({ want: "ahead", place }), DRAW_AHEAD_MS);
  }

  move(index) {
    const { cells } = this.shown;
    if (index < 0 || index >= cells.length) return;
    this.cell(this.focus).tabIndex = -1;
    this.focus = index;
    this.cell(index).tabIndex = 0;
    this.cell(index).focus();
  }

  // Goes from the frame of a cell to that of a neighbouring one.
  moveFrame(by) {
    const { path, look, cell } = this.shown.place;
    if (cell + by >= 0 && cell + by < this.shown.of) this.go({ path, look, cell: cell + by });
  }

  toggleMarks() {
    this.root.classList.toggle("unmarked");
    this.updateButtons();
  }

  onKey(event) {
    if (!this.shown || event.altKey || event.ctrlKey || event.metaKey) return;
    const act = this.actionOf(event.key.length === 1 ? event.key.toLowerCase() : event.key, event.target);
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  // The action of a key, or null; Enter and Space on a button press the button.
  actionOf(key, target) {
    const { k } = this.shown, { length } = this.shown.cells;
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -k, ArrowDown: k };
    if (length && Object.hasOwn(steps, key)) return () => this.move(this.focus + steps[key]);
    if (length && key === "Home") return () => this.move(0);
    if (length && key === "End") return () => this.move(length - 1);
    if (key === "Enter" || key === " ") return target.closest("button") ? null : () => this.open(this.focus);
    if (key === "Backspace" || key === "Escape") return () => this.goBack();
    if (key === "ArrowLeft" || key === "ArrowRight") return () => this.moveFrame(steps[key]);
    const looks = { f: "frame", b: "before", a: "after" };
    if (Object.hasOwn(looks, key)) return () => this.look(looks[key]);
    return key === "m" ? () => this.toggleMarks() : null;
  }
}

export default {
  render({ model, el }) {
    const explorer = new Explorer(model, el);
    return () => explorer.close();
  },
};
