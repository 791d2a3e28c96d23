// The page of the explorer. It requests locations from the kernel, and shows their images.
const REPLY_MS = 4000; // until the page reports that the kernel has not replied
const NO_KERNEL = "The kernel has stopped. The interactive widgets need a running kernel: run this cell again.";
const BUSY = "The kernel is busy and has not replied yet: another cell may be running. It replies while a cell runs " +
  "if JupyterLab is 4.4 or newer and ipykernel 7 or newer; otherwise when that cell has ended.";
const DRAW_AHEAD_MS = 120; // on a cell, until its grid is drawn in advance
const SHARPER = 1.1; // how many times wider the page must be than when its picture was requested, to request it again
const RESIZED_MS = 250; // after the last change of the width, until a sharper picture is requested

class Explorer {
  constructor(model, el) {
    this.model = model;
    this.shown = null; // what the kernel sent last
    this.focus = 0; // the cell that has the focus
    this.received = 0; // number of images so far: an older one never replaces a newer one
    this.showStatic = () => {};
    this.build(el);
    this.listen();
  }

  build(el) {
    this.crumbs = element("ol");
    this.picture = element("img", { alt: "" });
    this.cells = element("div", { class: "cells", role: "grid", "aria-label": "cells" });
    this.clip = new ClipPlayer(() => this.focusStage());
    this.stage = element("div", { class: "stage", tabindex: -1 }, this.picture, this.cells, this.clip.box);
    this.ruler = new Ruler((seconds) => this.goToTime(seconds), (seconds) => this.send({ want: "glance", time_s: seconds }));
    this.time = new TimeField((text) => this.goToTyped(text));
    this.caption = element("p", { class: "caption", "aria-live": "polite" });
    this.status = element("p", { class: "status" });
    this.notice = element("p", { class: "notice", role: "status" });
    this.trouble = element("p", { class: "trouble", role: "alert" });
    this.panels = [new SearchPanel(this), new NotesPanel(this), new AskPanel(this)];
    this.actions = this.makeActions(...this.panels);
    this.help = keysPanel(this.actions);
    this.root = element("section", { class: "atlaskit explorer", "aria-label": "video explorer",
      "data-lm-suppress-shortcuts": "true", hidden: true },
      element("nav", { "aria-label": "breadcrumbs" }, this.crumbs), this.controls(), this.ruler.box, this.stage,
      this.status, this.trouble, this.notice, this.caption, ...this.panels.map((panel) => panel.box), this.help);
    this.el = el;
    el.append(this.root);
  }

  // What single keys do, and those buttons that do the same.
  makeActions(search, notes, ask) {
    const actions = [
      ["Backspace", "go back, as Escape does", () => this.goBack(), "← back"],
      ["b", "show the time just before the cell", () => this.look("before"), "time before"],
      ["a", "show the time just after the cell", () => this.look("after"), "time after"],
      ["f", "show the cell's frame at full resolution", () => this.look("frame"), "full frame"],
      ["p", "play a clip of the cell; Escape closes it", () => this.orderClip("webm", "Making a clip…"), "play clip"],
      ["d", "save a clip of the cell as a film", () => this.orderClip("mp4", "Making a film…"), "save clip"],
      ["c", "copy the time", () => this.copyTime(), "copy time"],
      ["s", "save the picture as PNG; with Shift, the cell's frame", (isShifted) => this.save(isShifted), "save sheet"],
      ["m", "show or hide times and marks", () => this.toggleMarks(), "marks"],
      ["t", "go to a time that you type: 65, 1:05, 1:02:03.5 or 1m5s", () => this.time.focus()],
      ["/", "search words in the subtitles", () => search.open()],
      ["n", "go to the next line that was found; with Shift, to the one before", (isShifted) => search.step(isShifted ? -1 : 1)],
      ["w", "write a note about the cell", () => notes.open(this.focus)],
      ["q", "ask a question about the shown region", () => ask.open()],
      ["?", "show or hide this list", () => this.toggleHelp()],
    ];
    return actions.map(([key, words, act, label]) => ({ key, words, act,
      button: label && button(label, { "aria-keyshortcuts": key, title: words }, () => act(false)) }));
  }

  buttonOf(key) {
    return this.actions.find((action) => action.key === key).button;
  }

  controls() {
    const frame = button("save frame", { "aria-keyshortcuts": "Shift+s" }, () => this.save(true));
    this.facts = element("span", { class: "facts" });
    const made = element("div", { class: "controls" }, ...this.actions.map((action) => action.button).filter(Boolean),
      this.time.box, this.facts);
    this.buttonOf("s").after(frame);
    return made;
  }

  listen() {
    this.sizes = new ResizeObserver(() => this.onSize());
    this.sizes.observe(this.el);
    this.endListening = listen(this.model, (message, buffers) => this.receive(message, buffers), () => this.stop());
    this.root.addEventListener("keydown", (event) => this.onKey(event));
    this.cells.addEventListener("click", (event) => this.onClick(event));
    this.cells.addEventListener("pointerover", (event) => this.onRest(event));
    this.cells.addEventListener("focusin", (event) => this.onFocus(event));
    this.cells.addEventListener("pointerleave", () => this.describe(this.focus));
  }

  close() {
    this.endListening();
    this.sizes.disconnect();
    clearTimeout(this.sizeTimer);
    clearTimeout(this.replyTimer);
    clearTimeout(this.aheadTimer);
    URL.revokeObjectURL(this.picture.src);
    this.clip.release();
    for (const panel of this.panels) panel.close();
    this.showStatic();
  }

  // Device pixels across the picture: the kernel draws it as sharp as the screen is.
  get pixels() {
    const most = parseFloat(getComputedStyle(this.root).maxWidth) || Infinity;
    return Math.round(devicePixelRatio * (this.stage.clientWidth || Math.min(this.el.clientWidth, most)));
  }

  // Requests the first picture once the page has a width, and a sharper one when the page has grown.
  onSize() {
    clearTimeout(this.sizeTimer);
    if (!this.el.clientWidth || this.hasStopped) return;
    const isFirst = !this.isSized;
    this.isSized = true;
    if (isFirst) this.send({ want: "here" });
    else this.sizeTimer = setTimeout(() => {
      if (this.shown && !this.clip.isOpen && this.pixels > SHARPER * this.shown.px) this.go(this.shown.place);
    }, RESIZED_MS);
  }

  // --- to the kernel

  send(message) {
    if (this.hasStopped) return this.fail(NO_KERNEL);
    try {
      return this.model.send({ ...(this.isSized && { px: this.pixels }), ...message });
    } catch {
      return this.stop(); // the kernel stopped without a notice
    }
  }

  stop() {
    this.hasStopped = true;
    this.fail(NO_KERNEL);
  }

  go(place) {
    this.request({ want: "show", place });
    this.requested = place;
  }

  goToTime(seconds) {
    this.request({ want: "time", time_s: seconds });
  }

  // Goes to a time for a panel, which is below the picture: the picture is scrolled into view. After a click of the
  // pointer, the keys are the picture's; after a key, the focus stays, so that Tab leads on in the panel.
  showTime(seconds, event) {
    this.toReveal = true;
    this.goToTime(seconds);
    if (event?.detail) this.focusStage({ preventScroll: true });
  }

  reveal() {
    if (this.toReveal) for (const part of [this.stage, this.ruler.box]) part.scrollIntoView({ block: "nearest" });
    this.toReveal = false;
  }

  goToTyped(text) {
    this.isTyped = true;
    this.request({ want: "time", text });
  }

  // Requests another picture.
  request(message) {
    this.requested = null;
    if (this.hasStopped) return this.fail(NO_KERNEL);
    this.stage.setAttribute("aria-busy", "true");
    return this.sendTimed(message);
  }

  sendTimed(message) {
    clearTimeout(this.replyTimer);
    this.replyTimer = setTimeout(() => this.fail(BUSY), REPLY_MS);
    return this.send(message);
  }

  // Requests something else of a place: a clip, a file.
  order(message, words) {
    if (this.hasStopped) return this.fail(NO_KERNEL);
    this.notice.textContent = words;
    return this.sendTimed(message);
  }

  orderClip(form, words) {
    this.order({ want: "clip", form, ...oneFrame(this.shown, this.focus) }, words);
  }

  // Back from what was requested last, so that two presses in a row go back twice.
  goBack() {
    const { path, look } = this.requested ?? this.shown.place;
    if (look !== "grid") this.go({ path, look: "grid", cell: null });
    else if (path.length) this.go({ path: path.slice(0, -1), look: "grid", cell: null });
  }

  look(what) {
    const { path, look, cell } = this.shown.place;
    this.go({ path, look: what, cell: look === "grid" ? this.focus : cell });
  }

  open(index) {
    const { path, look } = this.shown.place, cell = this.shown.cells[index];
    if (look === "frame") return;
    if (look !== "grid") this.goToTime(cell.time_s); // one of the frames before or after a cell
    else if (cell.opens) this.go({ path: [...path, index], look: "grid", cell: null });
    else this.go({ path, look: "frame", cell: index });
  }

  // --- from the kernel

  receive(message, buffers) {
    if (this.panels.some((panel) => panel.receive(message, buffers))) return;
    const act = {
      picture: () => this.receiveImage(message, buffers[0]),
      marks: () => this.drawMarks(message),
      drawing: () => this.hear(),
      speech: () => this.ruler.setLane("speech", message.spans, message.words),
      glance: () => this.ruler.showGlance(buffers[0]),
      clip: () => { this.notice.textContent = ""; this.clip.show(buffers[0], message.words); },
      file: () => {
        saveFile(buffers[0], message.type, message.name);
        this.notice.textContent = `Saved as ${message.name}. ${message.words ?? ""}`;
      },
      notice: () => { this.notice.textContent = message.words; },
      trouble: () => this.refuse(message.words),
    };
    if (Object.hasOwn(act, message.is)) act[message.is]();
  }

  // The kernel has begun; what it makes may take long.
  hear() {
    clearTimeout(this.replyTimer);
    if (this.trouble.textContent === BUSY) this.trouble.textContent = "";
  }

  // Shows why a place cannot be shown, at the field if its time was typed.
  refuse(words) {
    if (this.isTyped) this.time.refuse();
    this.isTyped = false;
    this.fail(words);
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
    this.reveal();
    URL.revokeObjectURL(last.src);
    if (this.root.hidden) this.appear();
  }

  appear() {
    this.root.hidden = false;
    this.showStatic = hideStaticPicture(this.el);
    this.send({ want: "speech" });
  }

  draw(message) {
    const hadFocus = this.isTyped || [this.stage, this.crumbs].some((part) => part.contains(document.activeElement));
    this.isTyped = false;
    this.requested = null;
    this.time.accept();
    this.clip.close();
    this.notice.textContent = "";
    clearTimeout(this.replyTimer);
    this.stage.removeAttribute("aria-busy");
    this.trouble.textContent = message.note;
    this.focus = firstFocus(this.shown?.place ?? message.place, message.place, this.focus);
    this.shown = message;
    this.caption.textContent = message.words;
    this.facts.textContent = `${message.depth} · ${message.resolution}`;
    this.crumbs.replaceChildren(...message.crumbs.map((crumb) => this.crumb(crumb)));
    this.drawPlace(hadFocus);
    this.describe(this.focus);
  }

  // Draws what lies over the picture and beside it.
  drawPlace(hadFocus) {
    this.drawCells();
    this.ruler.draw(this.shown.ruler);
    this.updateButtons();
    if (hadFocus) this.focusStage();
    for (const panel of this.panels) panel.onShown(this.shown);
  }

  // Draws the marks of the shown place again; the image, the focus and a clip stay.
  drawMarks(message) {
    if (JSON.stringify(message.place) !== JSON.stringify(this.shown?.place)) return;
    const hadFocus = this.cells.contains(document.activeElement);
    this.shown = { ...message, px: this.shown.px };
    this.drawPlace(hadFocus);
  }

  focusStage(how) {
    (this.cell(this.focus) ?? this.stage).focus(how);
  }

  crumb({ path, words }) {
    const { path: here, look } = this.shown.place;
    const isCurrent = path.length === here.length && look === "grid";
    const open = () => this.go({ path, look: "grid", cell: null });
    return element("li", {}, button(words, { "aria-current": isCurrent ? "page" : null }, open));
  }

  drawCells() {
    const { k, cells } = this.shown;
    this.cells.hidden = !k;
    this.cells.replaceChildren(...cellRows(cells, k, this.focus));
  }

  updateButtons() {
    const { path, look } = this.shown.place;
    this.buttonOf("Backspace").disabled = look === "grid" && !path.length;
    this.buttonOf("f").disabled = look === "frame";
    this.buttonOf("s").hidden = look === "frame";
    this.buttonOf("m").setAttribute("aria-pressed", String(!this.root.classList.contains("unmarked")));
  }

  // Describes a shown cell, or the one that is shown in more detail.
  describe(index) {
    const { cells, about, place } = this.shown;
    this.status.textContent = cells.length ? cellText(cells[index], index) : cellText(about, place.cell);
  }

  fail(words) {
    this.requested = null;
    clearTimeout(this.replyTimer);
    this.stage.removeAttribute("aria-busy");
    this.trouble.textContent = words;
    this.reveal();
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
    this.cell(index)?.focus();
  }

  // One cell can be reached by Tab: the one that had the focus last, by whatever means.
  onFocus(event) {
    this.cell(this.focus).tabIndex = -1;
    this.focus = this.indexOf(event);
    this.cell(this.focus).tabIndex = 0;
    this.onRest(event);
  }

  // Saves the shown picture, or the frame of the cell that has the focus.
  save(isFrame) {
    const what = isFrame ? oneFrame(this.shown, this.focus) : { place: this.shown.place };
    this.order({ want: "png", ...what }, "Making a PNG…");
  }

  copyTime() {
    const { cells, about } = this.shown;
    copyText(cells[this.focus]?.at ?? about.at, this.notice);
  }

  toggleMarks() {
    this.root.classList.toggle("unmarked");
    this.updateButtons();
  }

  toggleHelp() {
    this.help.open = !this.help.open;
    (this.help.open ? this.help : this.stage).scrollIntoView({ block: "nearest" });
  }

  onKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    event.stopPropagation(); // else JupyterLab handles it
    const act = this.shown && this.actionOf(event);
    if (!act) return;
    event.preventDefault();
    act();
  }

  // The action of a key, or null; keys in a field, on a button or on a film are that element's.
  actionOf({ key: pressed, shiftKey, target }) {
    const key = pressed.length === 1 ? pressed.toLowerCase() : pressed;
    const isTyped = target.closest("input:not([type=checkbox], [type=range]), textarea, select") !== null;
    const isControl = target.closest(".panel, input") !== null;
    if (isTyped || (isControl && key === "Escape")) return key === "Escape" ? () => this.focusStage() : null;
    if (key === "Escape" && this.clip.isOpen) return () => this.clip.close();
    if (target.closest("video")) return null;
    const action = this.actions.find((each) => each.key === (key === "Escape" ? "Backspace" : key));
    if (action) return () => action.act(shiftKey);
    if (isControl || ((key === "Enter" || key === " ") && target.closest("button"))) return null;
    return key === "Enter" || key === " " ? () => this.open(this.focus) : this.motionOf(key, shiftKey);
  }

  // The action of a key that moves: between cells, by frames, or to a neighbouring cell's time.
  motionOf(key, shiftKey) {
    const { k, cells: { length }, place } = this.shown;
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -k, ArrowDown: k };
    if (place.look === "frame" && (key === "ArrowLeft" || key === "ArrowRight")) {
      return () => this.request({ want: "step", ...(shiftKey ? { seconds: steps[key] } : { frames: steps[key] }) });
    }
    if (length && Object.hasOwn(steps, key)) return () => this.move(this.focus + steps[key]);
    if (length && key === "Home") return () => this.move(0);
    if (length && key === "End") return () => this.move(length - 1);
    return null;
  }
}

export default {
  render({ model, el }) {
    const explorer = new Explorer(model, el);
    return () => explorer.close();
  },
};
