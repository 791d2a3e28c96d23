// The page of the explorer. It requests locations from the kernel, and shows their images: a bar, the grid with a side
// panel, and the ruler. Alone in a browser it fills the window, and the address tells where one is.
const REPLY_MS = 4000; // until the page reports that the kernel has not replied
const NO_KERNEL = "The kernel has stopped. The interactive widgets need a running kernel: run this cell again.";
const BUSY = "The kernel is busy and has not replied yet: another cell may be running. It replies while a cell runs " +
  "if JupyterLab is 4.4 or newer and ipykernel 7 or newer; otherwise when that cell has ended.";
const SLOW = "No reply yet: the file, or the connection, is slow.";
const DRAW_AHEAD_MS = 120; // on a cell, until its grid is drawn in advance
const PEEK_MS = 80; // on a cell, until its frame is shown in the side panel
const SHARPER = 1.1; // how many times wider the page must be than when its picture was requested, to request it again
const RESIZED_MS = 250; // after the last change of the width, until a sharper picture is requested
const PINCH = 1.3; // how many times farther, or nearer, two fingers are when they open a cell, or lead back
const WHEEL_MS = 350; // between two turns of the wheel that open a cell or lead back
const NARROW_PX = 560; // a page of less has grids of four columns
const OFFERED_K = [4, 6, 8, 12, 16];
const PICKS = { shots: "shots", midpoint: "midpoints", keyframe: "keyframes" };
const PANELS = `explorer-${crypto.getRandomValues(new Uint32Array(1))[0]}`; // of panels with one name, one is open

class Explorer {
  constructor(model, el) {
    Object.assign(this, { model, el, shown: null, focus: 0, received: 0, cut: [null, null], showStatic: () => {} });
    this.isApp = Boolean(model.isPage);
    this.build();
    this.listen();
  }

  build() {
    this.crumbs = element("ol");
    this.picture = element("img", { alt: "" });
    this.cells = element("div", { class: "cells", role: "grid", "aria-label": "cells" });
    this.sheet = element("div", { class: "sheet" }, this.picture, this.cells);
    this.clip = new ClipPlayer(() => this.focusStage());
    this.stage = element("div", { class: "stage", tabindex: -1 }, this.sheet, this.clip.box);
    this.ruler = new Ruler((seconds) => this.goToTime(seconds), (seconds) => this.send({ want: "glance", time_s: seconds }));
    this.peek = element("img", { class: "peek", alt: "", hidden: true });
    this.caption = element("p", { class: "caption", "aria-live": "polite" });
    this.status = element("p", { class: "status" });
    this.notice = element("p", { class: "notice", role: "status" });
    this.trouble = element("p", { class: "trouble", role: "alert" });
    this.panels = [new SearchPanel(this), new NotesPanel(this), new AskPanel(this)];
    this.actions = this.makeActions(...this.panels);
    this.help = keysPanel(this.actions);
    const buttons = (...keys) => element("div", { class: "controls" }, ...keys.map((key) => this.buttonOf(key)));
    const head = element("div", { class: "head" }, buttons("w", "i", "o", "p", "d", "f", "b", "a", "c", "s"), this.trouble, this.notice);
    const side = element("div", { class: "side" }, head, this.status, this.peek, this.caption,
      ...this.panels.map((panel) => panel.box), this.help);
    this.root = element("section", { class: "atlaskit explorer", "aria-label": "video explorer",
      "data-lm-suppress-shortcuts": "true", hidden: true },
      this.bar(), element("div", { class: "work" }, this.stage, side), this.ruler.box);
    this.el.append(this.root);
  }

  bar() {
    this.facts = element("span", { class: "facts" });
    this.pick = chooser("cells show", [], (pick) => this.request({ want: "look", pick }));
    this.k = chooser("K", OFFERED_K.map((k) => [k, k]), (k) => this.request({ want: "look", k: Number(k) }));
    return element("div", { class: "bar controls" }, this.buttonOf("Backspace"),
      element("nav", { "aria-label": "breadcrumbs" }, this.crumbs), this.facts, this.pick.box, this.k.box, this.buttonOf("m"), this.buttonOf("?"));
  }

  // What single keys do; those with an icon have a button.
  makeActions(search, notes, ask) {
    const actions = [
      ["Backspace", "go back, as Escape does", () => this.goBack(), "back", "back"],
      ["f", "show the cell's frame at full resolution", () => this.look("frame"), "full frame", "frame"],
      ["b", "show the time just before the cell", () => this.look("before"), "time before", "before"],
      ["a", "show the time just after the cell", () => this.look("after"), "time after", "after"],
      ["p", "play a clip of the cell, or from the in to the out point; Escape closes it", () => this.orderClip("webm", "Making a clip…"), "play clip", "play"],
      ["d", "save such a clip as a film", () => this.orderClip("mp4", "Making a film…"), "save clip", "film"],
      ["c", "copy the time", () => this.copyTime(), "copy time", "copy"],
      ["s", "save the picture as PNG; with Shift, the cell's frame", (isShifted) => this.save(isShifted), "save picture", "save"],
      ["w", "write a note about the cell, or from the in to the out point", () => notes.open(), "note", "note"],
      ["i", "set the in point where the cell begins", () => this.setCut(0), "in point", "in"],
      ["o", "set the out point where the cell ends", () => this.setCut(1), "out point", "out"],
      ["x", "forget the in and the out point", () => this.setCut(null)],
      ["m", "show or hide times and marks", () => this.toggleMarks(), "marks", "marks"],
      ["/", "search words in the subtitles", () => search.open()],
      ["t", "go to a time that you type: 65, 1:05, 1:02:03.5 or 1m5s", () => search.open()],
      ["n", "go to the next line that was found; with Shift, to the one before", (isShifted) => search.step(isShifted ? -1 : 1)],
      ["q", "ask a question about the shown region", () => ask.open()],
      ["?", "show or hide this list", () => { this.help.open = !this.help.open; }, "keys", "help"],
    ];
    return actions.map(([key, words, act, name, icon]) => ({ key, words, act,
      button: icon && iconButton(icon, name, key, words, () => act(false)) }));
  }

  buttonOf(key) {
    return this.actions?.find((action) => action.key === key).button;
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
    this.root.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
    this.stage.addEventListener("touchmove", (event) => this.onPinch(event), { passive: false });
    this.stage.addEventListener("touchend", () => { this.pinched = null; });
    this.onPop = () => this.request(this.addressed() ?? { want: "show", place: { path: [], look: "grid", cell: null } });
    if (this.isApp) addEventListener("popstate", this.onPop);
  }

  close() {
    this.endListening();
    this.sizes.disconnect();
    removeEventListener("popstate", this.onPop);
    for (const timer of [this.sizeTimer, this.replyTimer, this.aheadTimer, this.peekTimer]) clearTimeout(timer);
    for (const image of [this.picture, this.peek]) URL.revokeObjectURL(image.src);
    this.clip.release();
    for (const panel of this.panels) panel.close();
    this.showStatic();
  }

  // Device pixels across the picture: the kernel draws it as sharp as the screen is.
  get pixels() {
    const { clientWidth: width, clientHeight: height } = this.stage, [w, h] = this.shown?.size ?? [16, 9];
    return Math.round(devicePixelRatio * (width ? Math.min(width, (height * w) / h) : Math.min(this.el.clientWidth, innerWidth)));
  }

  // Requests the first picture once the page has a width, and a sharper one when the page has grown.
  onSize() {
    clearTimeout(this.sizeTimer);
    if (!this.el.clientWidth || this.hasStopped) return;
    const isFirst = !this.isSized;
    this.isSized = true;
    if (isFirst) this.send(this.addressed() ?? { want: "here", ...(this.el.clientWidth < NARROW_PX && { k: OFFERED_K[0] }) });
    else this.sizeTimer = setTimeout(() => {
      this.ruler.drawTicks();
      if (this.stage.hasAttribute("aria-busy")) this.onSize(); // later, as it would undo what was requested
      else if (this.shown && !this.clip.isOpen && this.pixels > SHARPER * this.shown.px) this.go(this.shown.place);
    }, RESIZED_MS);
  }

  // --- the address

  // What the address requests, or null.
  addressed() {
    const { t, depth, k, pick, look } = Object.fromEntries(new URLSearchParams(this.isApp ? location.hash.slice(1) : ""));
    this.wanted = t && Number(t); // whose cell gets the focus
    return t ? { want: "address", t: Number(t), depth: Number(depth), k: Number(k), pick, look: look ?? "grid" } : null;
  }

  // Lets the address tell where one is; a new place is one that the browser's Back leaves.
  remember(isNew) {
    if (!this.isApp) return;
    const { place, cells, time_s: time, looks } = this.shown, at = (time ?? cells[this.focus].time_s).toFixed(3);
    const words = new URLSearchParams({ t: at, depth: place.path.length, ...(place.look !== "grid" && { look: place.look }), ...looks });
    if (`#${words}` !== location.hash) history[isNew ? "pushState" : "replaceState"](null, "", `#${words}`);
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

  // Goes to a time for a panel. After a click of the pointer, the keys are the picture's; after a key, the focus stays, so
  // that Tab leads on in the panel.
  showTime(seconds, event) {
    this.toReveal = !this.isApp;
    this.goToTime(seconds);
    if (event?.detail) this.focusStage({ preventScroll: true });
  }

  // In a notebook, what was asked for may be out of sight.
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
    this.replyTimer = setTimeout(() => { this.trouble.textContent = this.isApp ? SLOW : BUSY; }, REPLY_MS);
    return this.send(message);
  }

  // Requests something else of a place: a clip, a file.
  order(message, words) {
    if (this.hasStopped) return this.fail(NO_KERNEL);
    this.notice.textContent = words;
    return this.sendTimed(message);
  }

  orderClip(form, words) {
    const isCell = this.isPicked && !this.selection;
    this.order({ want: "clip", form, ...(isCell ? oneFrame(this.shown, this.focus) : { span_s: this.span }) }, words);
  }

  // Back from what was requested last, so that two presses in a row go back twice.
  goBack() {
    const { path, look } = this.requested ?? this.shown.place;
    if (look !== "grid") this.go({ path, look: "grid", cell: null });
    else if (path.length) this.go({ path: path.slice(0, -1), look: "grid", cell: null });
  }

  // What is before or after what was opened lies beside its first or last cell.
  look(what) {
    const { place: { path, look, cell }, cells } = this.shown, isAfter = what === "after" && !this.isPicked;
    this.go({ path, look: what, cell: look !== "grid" ? cell : isAfter ? cells.length - 1 : this.focus });
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
      glance: () => (message.place === "cell" ? this.showPeek(message.time_s, buffers[0]) : this.ruler.showGlance(message.time_s, buffers[0])),
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
    if ([BUSY, SLOW].includes(this.trouble.textContent)) this.trouble.textContent = "";
  }

  // Shows why a place cannot be shown, at the field if its time was typed.
  refuse(words) {
    if (this.isTyped) this.panels[0].refuse();
    this.isTyped = false;
    this.fail(words);
  }

  async receiveImage(message, jpeg) {
    const number = ++this.received; // an older image never replaces a newer one
    const source = URL.createObjectURL(new Blob([jpeg], { type: "image/jpeg" }));
    const next = element("img", { alt: message.words, src: source });
    await next.decode().catch(() => {});
    if (number !== this.received) return URL.revokeObjectURL(source);
    const last = this.picture;
    this.picture = next;
    if (this.root.hidden) this.appear();
    this.draw(message);
    last.replaceWith(next);
    this.reveal();
    URL.revokeObjectURL(last.src);
  }

  appear() {
    this.root.hidden = false;
    this.showStatic = hideStaticPicture(this.el);
    this.send({ want: "speech" });
    this.send({ want: "shots" });
  }

  draw(message) {
    const hadFocus = this.isTyped || [this.stage, this.crumbs].some((part) => part.contains(document.activeElement));
    const before = this.shown?.place ?? message.place, isNew = JSON.stringify(before) !== JSON.stringify(message.place);
    this.isTyped = false;
    this.requested = null;
    this.clip.close();
    this.notice.textContent = "";
    clearTimeout(this.replyTimer);
    this.stage.removeAttribute("aria-busy");
    this.trouble.textContent = message.note;
    this.focus = firstFocus(before, message.place, this.focus, message.cells.length);
    if (this.wanted && message.k) {
      this.focus = Math.max(0, message.cells.findLastIndex((_, at) => cellSpan(message, at)[0] <= this.wanted));
    }
    this.wanted = undefined;
    this.shown = message;
    if (isNew) this.isPicked = message.place.look !== "grid" || !this.isPointed; // the pointer means what it opened
    this.caption.textContent = message.words;
    this.facts.textContent = `${message.depth} · ${message.resolution}`;
    this.crumbs.replaceChildren(...message.crumbs.map((crumb) => this.crumb(crumb)));
    this.drawLooks(message);
    this.remember(isNew);
    this.drawPlace(hadFocus);
    this.isPointed = false;
    this.describe(this.focus);
  }

  // How large the picture may be, a frame never larger than it is; and what the cells are.
  drawLooks({ size: [width, height], looks, place }) {
    const { style } = this.stage;
    style.setProperty("--ratio", width / height);
    if (place.look === "frame") style.setProperty("--most", `${width / devicePixelRatio}px`);
    else style.removeProperty("--most");
    const names = Object.entries(PICKS).filter(([pick]) => pick !== "keyframe" || looks.pick === pick);
    this.pick.select.replaceChildren(...names.map(([value, text]) => element("option", { value }, text)));
    this.pick.select.value = looks.pick;
    offer(this.k.select, String(looks.k), String(looks.k));
    this.k.select.value = looks.k;
  }

  // Draws what lies over the picture and beside it.
  drawPlace(hadFocus) {
    const { k, cells, place: { path, look }, ruler } = this.shown;
    this.cells.hidden = !k;
    this.cells.replaceChildren(...cellRows(cells, k, this.focus));
    this.ruler.draw(ruler, (seconds) => this.request({ want: "seen", time_s: seconds }));
    this.ruler.setCut(this.cut);
    this.buttonOf("Backspace").disabled = look === "grid" && !path.length;
    this.buttonOf("f").disabled = look === "frame";
    this.updateMarks();
    if (hadFocus) this.focusStage();
    this.markPicked();
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
    ((this.isPicked && this.cell(this.focus)) || this.stage).focus(how);
  }

  crumb({ path, words }) {
    const { path: here, look } = this.shown.place;
    const isCurrent = path.length === here.length && look === "grid";
    const open = ({ detail }) => {
      this.isPointed = detail > 0;
      this.go({ path, look: "grid", cell: null });
    };
    return element("li", {}, button(words, { "aria-current": isCurrent ? "page" : null }, open));
  }

  // Describes a shown cell and shows its frame; or describes what was opened, or is shown in more detail.
  describe(index) {
    const { cells, about, place } = this.shown, isOpened = !this.isPicked && index === this.focus;
    this.status.textContent = !cells.length ? cellText(about, place.cell)
      : isOpened ? `${this.span.map(clockText).join("–")}: ${cells.length} cells` : cellText(cells[index], index);
    clearTimeout(this.peekTimer);
    this.peek.classList.toggle("unseen", !cells.length);
    if (!cells.length) return;
    if (cells[index].time_s !== this.peekedAt || this.peek.hidden) this.peekTimer = setTimeout(() => {
      this.peekedAt = cells[index].time_s;
      this.send({ want: "peek", time_s: this.peekedAt, side: Math.round(devicePixelRatio * this.peek.parentElement.clientWidth) });
    }, PEEK_MS);
  }

  showPeek(seconds, jpeg) {
    if (seconds !== this.peekedAt || !this.shown.cells.length) return;
    URL.revokeObjectURL(this.peek.src);
    this.peek.src = URL.createObjectURL(new Blob([jpeg], { type: "image/jpeg" }));
    this.peek.hidden = false;
  }

  fail(words) {
    this.requested = null;
    this.isPointed = false;
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
    this.isPointed = true;
    this.move(index);
    this.open(index);
  }

  // Two fingers that part open the cell between them; that come together, they lead back.
  onPinch(event) {
    if (event.touches.length !== 2 || !this.shown) return;
    event.preventDefault();
    const [one, other] = event.touches, apart = Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
    this.pinched ??= { apart, target: document.elementFromPoint((one.clientX + other.clientX) / 2, (one.clientY + other.clientY) / 2) };
    const ratio = apart / this.pinched.apart;
    if (this.pinched.isDone || (ratio < PINCH && ratio > 1 / PINCH)) return;
    this.pinched.isDone = true;
    this.point(ratio > 1, this.pinched);
  }

  // Opens the cell below the pointer, or leads back; on the ruler, makes it longer. In a notebook, with two fingers only.
  onWheel(event) {
    const isRuler = this.ruler.box.contains(event.target), isOurs = isRuler || this.stage.contains(event.target);
    if (!isOurs || !(event.ctrlKey || this.isApp) || !event.deltaY || !this.shown) return;
    event.preventDefault();
    if (isRuler) return this.ruler.stretch(event.deltaY < 0 ? 1.25 : 0.8, this.ruler.timeAt(event) / this.ruler.duration);
    if (event.timeStamp - (this.wheeledAt ?? -WHEEL_MS) < WHEEL_MS) return;
    this.wheeledAt = event.timeStamp;
    this.point(event.deltaY < 0, event);
  }

  // The pointer opens the cell below it, or leads back.
  point(isInto, event) {
    this.isPointed = true;
    if (isInto) this.onClick(event);
    else this.goBack();
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
    this.isPicked = true;
    this.markPicked();
    this.onRest(event);
    this.remember(false);
  }

  // Marks the cell that is meant by what is noted, copied or saved, wherever the focus goes.
  markPicked() {
    this.cells.querySelector("[aria-selected]")?.removeAttribute("aria-selected");
    if (this.isPicked) this.cell(this.focus)?.setAttribute("aria-selected", "true");
  }

  // What is meant, in seconds: from the in to the out point, the cell that was picked, or what was opened.
  get span() {
    return this.selection ?? this.picked;
  }

  get picked() {
    return this.isPicked ? cellSpan(this.shown, this.focus) : openedSpan(this.shown);
  }

  // Saves the shown picture, or the frame of the cell that was picked.
  save(isFrame) {
    const what = isFrame ? oneFrame(this.shown, this.focus) : { place: this.shown.place };
    this.order({ want: "png", ...what }, "Making a PNG…");
  }

  copyTime() {
    const { cells, about, time_s: time } = this.shown;
    copyText(this.isPicked ? cells[this.focus]?.at ?? about.at : exactText(time ?? this.picked[0]), this.notice);
  }

  // From the in to the out point, in seconds, if both are set.
  get selection() {
    return this.cut.includes(null) ? null : this.cut;
  }

  // Sets the in point (0) or the out point (1), or forgets both; a point on the wrong side of the other replaces both.
  setCut(end) {
    const { time_s: time } = this.shown;
    if (end === null) this.cut = [null, null];
    else this.cut[end] = time ?? this.picked[end];
    if (this.selection && this.cut[0] >= this.cut[1]) this.cut[1 - end] = null;
    const [start, stop] = this.cut.map((each) => (each === null ? "not set" : clockText(each)));
    this.notice.textContent = end === null ? "" : `In point: ${start}. Out point: ${stop}.`;
    this.ruler.setCut(this.cut);
  }

  toggleMarks() {
    this.root.classList.toggle("unmarked");
    this.updateMarks();
  }

  updateMarks() {
    this.buttonOf("m").setAttribute("aria-pressed", String(!this.root.classList.contains("unmarked")));
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
    if (isControl || ((key === "Enter" || key === " ") && target.closest("button, summary"))) return null;
    return key === "Enter" || key === " " ? () => this.open(this.focus) : this.motionOf(key, shiftKey);
  }

  // The action of a key that moves: between cells, by frames, or to a neighbouring cell's time.
  motionOf(key, shiftKey) {
    const { k, cells: { length }, place } = this.shown;
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -k, ArrowDown: k };
    const by = { ",": -1, ".": 1, j: -1, l: 1, ArrowLeft: -1, ArrowRight: 1 }[key];
    if (place.look === "frame" && by) {
      return () => this.request({ want: "step", ...(shiftKey || "jl".includes(key) ? { seconds: by } : { frames: by }) });
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
