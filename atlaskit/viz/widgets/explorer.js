// The explorer's page. It says where it wants to go; the kernel draws that place and says what is told of it.
const PATIENCE_MS = 4000; // until it is told that the kernel has not answered
const GONE = "The kernel has gone: run this cell again to click on.";
const DWELL_MS = 120; // on a cell, until its grid is drawn ahead
const HELP = "Arrows move · Enter opens · Backspace or Escape: back · F: frame in full · B: before · A: after · M: marks";

function share(value) {
  return `${(100 * value).toFixed(3)}%`;
}

// A mark on the ruler, over a share of the whole time.
function span([from, to], name) {
  const made = element("span", { class: name });
  made.style.left = share(from);
  made.style.width = share(to - from);
  return made;
}

// What is told of a cell, in words that stand by themselves.
function cellTold(cell, index) {
  const dead = cell.dead === 1 ? "ruled out" : `${Math.round(100 * cell.dead)}% ruled out`;
  return [
    `cell ${index}, ${cell.span}`,
    cell.found.length ? `evidence ${cell.found.join(", ")}` : "",
    cell.dead ? dead : "",
    cell.said ? `said: ${cell.said}` : "",
  ].filter(Boolean).join(" · ");
}

class Explorer {
  constructor(model, el) {
    this.model = model;
    this.shown = null; // what the kernel told last
    this.focus = 0; // the cell that the keys are on
    this.painted = 0; // pictures so far: a slow one never replaces a later one
    this.wake = () => {}; // shows the static picture again
    this.build(el);
    this.listen();
    this.say({ want: "here" });
  }

  build(el) {
    this.crumbs = element("ol");
    this.picture = element("img", { alt: "" });
    this.cells = element("div", { class: "cells", role: "grid", "aria-label": "contact sheet" });
    this.stage = element("div", { class: "stage", tabindex: -1 }, this.picture, this.cells);
    this.ruler = element("div", { class: "ruler", role: "img" });
    this.caption = element("p", { class: "caption", "aria-live": "polite" });
    this.status = element("p", { class: "status" });
    this.trouble = element("p", { class: "trouble", role: "alert" });
    this.root = element("section", { class: "atlaskit explorer", "aria-label": "video explorer",
      "data-lm-suppress-shortcuts": "true", hidden: true },
      element("nav", { "aria-label": "way here" }, this.crumbs), this.buttons(), this.ruler, this.stage,
      this.status, this.trouble, this.caption, element("p", { class: "help" }, HELP));
    this.el = el;
    el.append(this.root);
  }

  buttons() {
    const make = (words, key, pressed) => button(words, { "aria-keyshortcuts": key }, pressed);
    this.back = make("← back", "Backspace", () => this.goBack());
    this.frame = make("frame in full", "F", () => this.look("frame"));
    this.before = make("before", "B", () => this.look("before"));
    this.after = make("after", "A", () => this.look("after"));
    this.marks = make("marks", "M", () => this.toggleMarks());
    this.facts = element("span", { class: "facts" });
    return element("div", { class: "controls" }, this.back, this.before, this.after, this.frame, this.marks, this.facts);
  }

  listen() {
    this.heard = (message, buffers) => this.hear(message, buffers);
    this.left = () => this.end();
    this.model.on("msg:custom", this.heard);
    this.model.on("comm_live_update", this.left);
    this.root.addEventListener("keydown", (event) => this.pressed(event));
    this.cells.addEventListener("click", (event) => this.clicked(event));
    this.cells.addEventListener("pointerover", (event) => this.rested(event));
    this.cells.addEventListener("focusin", (event) => this.rested(event));
    this.cells.addEventListener("pointerleave", () => this.tell(this.focus));
  }

  close() {
    this.model.off("msg:custom", this.heard);
    this.model.off("comm_live_update", this.left);
    clearTimeout(this.waiting);
    clearTimeout(this.dwelling);
    URL.revokeObjectURL(this.picture.src);
    this.wake();
  }

  // --- to the kernel

  say(message) {
    if (this.gone) return this.fail(GONE);
    try {
      return this.model.send(message);
    } catch {
      return this.end(); // the kernel went, and nobody said so
    }
  }

  end() {
    this.gone = true;
    this.fail(GONE);
  }

  go(place) {
    if (this.gone) return;
    this.stage.setAttribute("aria-busy", "true");
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.fail("The kernel has not answered yet: it may be busy."), PATIENCE_MS);
    this.say({ want: "show", place });
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

  hear(message, buffers) {
    if (message.is === "picture") this.receive(message, buffers[0]);
    else if (message.is === "drawing") clearTimeout(this.waiting);
    else this.fail(message.words);
  }

  async receive(told, jpeg) {
    const number = ++this.painted;
    const source = URL.createObjectURL(new Blob([jpeg], { type: "image/jpeg" }));
    const next = element("img", { alt: told.words, src: source });
    await next.decode().catch(() => {});
    if (number !== this.painted) return URL.revokeObjectURL(source);
    const last = this.picture;
    this.picture = next;
    this.draw(told);
    last.replaceWith(next);
    URL.revokeObjectURL(last.src);
    if (this.root.hidden) this.appear();
  }

  appear() {
    this.root.hidden = false;
    this.wake = standIn(this.el);
  }

  draw(told) {
    const held = [this.stage, this.crumbs].some((place) => place.contains(document.activeElement));
    clearTimeout(this.waiting);
    this.stage.removeAttribute("aria-busy");
    this.trouble.textContent = told.note;
    this.focus = this.arrival(told);
    this.shown = told;
    this.caption.textContent = told.words;
    this.facts.textContent = `${told.depth} · ${told.resolution}`;
    this.crumbs.replaceChildren(...told.crumbs.map((crumb) => this.crumb(crumb)));
    this.drawCells();
    this.drawRuler(told.ruler);
    this.enable();
    this.tell(this.focus);
    if (held) (this.cell(this.focus) ?? this.stage).focus();
  }

  // The cell that the keys are on when one arrives: the one that one comes back from.
  arrival(told) {
    const { path, look, cell } = this.shown?.place ?? told.place;
    if (told.place.look !== "grid") return 0;
    if (look !== "grid" && path.length === told.place.path.length) return cell;
    return path.length > told.place.path.length ? path[told.place.path.length] : 0;
  }

  crumb({ path, words }) {
    const { path: here, look } = this.shown.place;
    const current = path.length === here.length && look === "grid";
    const made = button(words, { "aria-current": current ? "page" : null }, () => this.go({ path, look: "grid", cell: null }));
    return element("li", {}, made);
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
    const name = ["cell", cell.dead === 1 ? "dead" : cell.dead ? "partly" : "", cell.opens ? "opens" : ""];
    return element("div", { class: name.filter(Boolean).join(" "), role: "gridcell", "data-index": index,
      tabindex: index === this.focus ? 0 : -1, "aria-label": cellTold(cell, index) },
      cell.found.length ? element("span", { class: "found" }, `[${cell.found.slice(0, 4).join(" ")}${cell.found.length > 4 ? "…" : ""}]`) : null,
      cell.dead === 1 ? element("span", { class: "out" }, "× ruled out") : null);
  }

  drawRuler({ ends, here, words, dead, found }) {
    this.ruler.setAttribute("aria-label", `You are at ${words}.`);
    const labels = found.map(([at, label]) => {
      const made = element("span", { class: "found" }, label);
      made.style.left = share(at);
      return made;
    });
    this.ruler.replaceChildren(element("span", { class: "end" }, ends[0]),
      element("div", { class: "line" }, ...dead.map((zone) => span(zone, "zone")), span(here, "here"), ...labels),
      element("span", { class: "end" }, ends[1]));
  }

  enable() {
    const { path, look } = this.shown.place;
    this.back.disabled = look === "grid" && !path.length;
    this.frame.disabled = look === "frame";
    this.marks.hidden = !this.shown.ruler.dead.length && !this.shown.ruler.found.length;
    this.marks.setAttribute("aria-pressed", String(!this.root.classList.contains("unmarked")));
  }

  // What is told of a cell of those that are shown, or of the one whose frame is.
  tell(index) {
    const { cells, about, place } = this.shown;
    this.status.textContent = cells.length ? cellTold(cells[index], index) : cellTold(about, place.cell);
  }

  fail(words) {
    clearTimeout(this.waiting);
    this.stage.removeAttribute("aria-busy");
    this.trouble.textContent = words;
  }

  // --- from the hand

  cell(index) {
    return this.cells.querySelector(`[data-index="${index}"]`);
  }

  indexOf(event) {
    const cell = event.target.closest("[data-index]");
    return cell ? Number(cell.dataset.index) : null;
  }

  clicked(event) {
    const index = this.indexOf(event);
    if (index === null) return;
    this.move(index);
    this.open(index);
  }

  rested(event) {
    const index = this.indexOf(event);
    if (index === null) return;
    this.tell(index);
    clearTimeout(this.dwelling);
    if (!this.shown.cells[index].opens) return;
    const place = { path: [...this.shown.place.path, index], look: "grid", cell: null };
    this.dwelling = setTimeout(() => this.say({ want: "ahead", place }), DWELL_MS);
  }

  move(index) {
    const { cells } = this.shown;
    if (index < 0 || index >= cells.length) return;
    this.cell(this.focus).tabIndex = -1;
    this.focus = index;
    this.cell(index).tabIndex = 0;
    this.cell(index).focus();
  }

  // From a frame to that of the next cell.
  pass(by) {
    const { path, look, cell } = this.shown.place;
    if (cell + by >= 0 && cell + by < this.shown.of) this.go({ path, look, cell: cell + by });
  }

  toggleMarks() {
    this.root.classList.toggle("unmarked");
    this.enable();
  }

  pressed(event) {
    if (!this.shown || event.altKey || event.ctrlKey || event.metaKey) return;
    const act = this.deed(event.key.length === 1 ? event.key.toLowerCase() : event.key, event.target);
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  // What a key does here; a button's own keys are left to it.
  deed(key, target) {
    const { k } = this.shown, { length } = this.shown.cells;
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -k, ArrowDown: k };
    if (length && Object.hasOwn(steps, key)) return () => this.move(this.focus + steps[key]);
    if (length && key === "Home") return () => this.move(0);
    if (length && key === "End") return () => this.move(length - 1);
    if (key === "Enter" || key === " ") return target.closest("button") ? null : () => this.open(this.focus);
    if (key === "Backspace" || key === "Escape") return () => this.goBack();
    if (key === "ArrowLeft" || key === "ArrowRight") return () => this.pass(steps[key]);
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
