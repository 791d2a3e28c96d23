// The steps of one run. `source.picture(number)` returns the address of an image or a promise of it;
// `source.look(now, next)` receives the images that are shown, and those likely to be shown next.
const STEP_MS = 1600; // for each step while they are played
const MOMENTS_OPEN = 8; // a longer list of moments is folded
const RETRY_MS = 200; // until a step whose images have not arrived is checked again

class Pane {
  constructor(run, source, { title = "", onMove = () => {} } = {}) {
    Object.assign(this, { run, onMove });
    this.steps = []; // all steps that have arrived
    this.shown = []; // the indices of those that match the filters
    this.current = 0;
    this.isComplete = false;
    this.timer = null;
    this.filters = new Filters(() => this.applyFilters());
    this.memory = new MemoryAt(this.steps);
    this.view = new StepView(source, run, new RunMap(run, this.memory), (step, label) => this.link(step, label));
    this.time = new RunStrip(run, this.steps, (step) => this.describe(step), (step) => this.show(step));
    this.video = new VideoStrip(run, this.memory);
    this.regions = new RegionList(run.regions, (node) => this.visit(node));
    this.heading = element("h2", { "aria-live": "polite", class: "heading" });
    this.makeControls();
    this.box = this.layout(title);
    this.keys = {
      ArrowLeft: () => this.go(-1),
      ArrowRight: () => this.go(1),
      Home: () => this.showAt(0),
      End: () => this.showAt(this.shown.length - 1),
      " ": () => this.play(this.timer === null),
    };
  }

  makeControls() {
    this.previous = button("← previous", { class: "previous" }, () => this.go(-1));
    this.next = button("next →", { class: "next" }, () => this.go(1));
    this.player = button("▶ play", { class: "play" }, () => this.play(this.timer === null));
    this.larger = button("larger images", { "aria-pressed": "false" }, () => {
      this.larger.setAttribute("aria-pressed", String(this.view.box.classList.toggle("large")));
    });
    const isUnknown = !this.run.moments.length;
    this.truth = button("hide where the answer lies", { "aria-pressed": "false", hidden: isUnknown }, () => {
      this.truth.setAttribute("aria-pressed", String(this.box.classList.toggle("without-truth")));
    });
    this.slider = element("input", { type: "range", min: 0, value: 0, "aria-label": "step" });
    this.slider.addEventListener("input", () => this.showAt(Number(this.slider.value)));
  }

  layout(title) {
    const { run } = this;
    return element("section", { class: "pane", "aria-label": title || "Steps of the run" },
      title ? element("h2", { class: "title" }, title) : null,
      element("p", { class: "answer", hidden: !run.answer }, run.answer),
      element("div", {}, ...run.notes.map((note) => element("p", { class: "note" }, note))),
      this.folded("moments", "Where the answer lies, and whether it was found", this.list(run.found, ""),
        run.found.length <= MOMENTS_OPEN),
      element("div", { class: "controls", role: "group", "aria-label": "Steps" },
        this.previous, this.player, this.slider, this.next, this.larger, this.truth),
      this.filters.box, this.time.box, this.video.box, this.heading, this.view.box,
      this.folded("regions", "Explored regions by depth", this.regions.box, run.regions.length > 1),
      this.folded("evidence", "Evidence and the steps that found it",
        this.list(run.evidence, "The run collected no evidence."), true),
      this.folded("settings", "Settings of the run", element("dl", {}, ...run.settings.flatMap(([name, text]) =>
        [element("dt", {}, name), element("dd", {}, text)])), false));
  }

  folded(name, title, content, isOpen) {
    return element("details", { class: name, open: Boolean(isOpen), hidden: content === null },
      element("summary", {}, title), content);
  }

  // Lines of text, each of which leads to a step; null for none without a text to say so.
  list(rows, none) {
    if (!rows.length) return none ? element("p", {}, none) : null;
    const line = ([text, step]) => element("li", {}, step === null ? text : this.link(step, text));
    return element("ul", {}, ...rows.map(line));
  }

  describe(step) {
    const { round, who, what } = this.steps[step];
    return `Step ${step} of ${this.run.count - 1}${round ? `, round ${round}` : ""}, ${who}: ${what}`;
  }

  link(step, label) {
    return button(label, { class: "link", "data-step": step }, () => this.show(step, true));
  }

  // Adds the next steps as they arrive; `isLast` says that no more follow.
  add(more, isLast) {
    const isFirst = !this.steps.length;
    for (const step of more) {
      const index = this.steps.push(step) - 1;
      this.regions.add(step, index);
      this.filters.learn(step);
    }
    this.isComplete = isLast;
    if (isLast || this.steps.length >= 2 * this.time.drawn) this.time.draw(); // not at each of many batches
    this.selectSteps();
    if (isFirst) this.show(0);
  }

  // Selects the steps that match the filters, and shows the first of them from the current one on.
  applyFilters() {
    this.selectSteps();
    const after = this.shown.findIndex((step) => step >= this.current);
    if (this.shown.length) this.show(this.shown[after < 0 ? this.shown.length - 1 : after]);
  }

  selectSteps() {
    const matches = (step) => this.filters.matches(this.steps[step]);
    this.shown = this.steps.map((_, step) => step).filter(matches);
    this.slider.max = Math.max(0, this.shown.length - 1);
    this.slider.disabled = this.shown.length < 2;
    this.regions.draw(matches);
    this.updateControls();
  }

  updateControls() {
    const index = this.shown.indexOf(this.current);
    this.slider.value = index;
    // Not `disabled`: a disabled button loses the focus, and the pane with it the keys.
    this.previous.setAttribute("aria-disabled", String(index <= 0));
    this.next.setAttribute("aria-disabled", String(index < 0 || index === this.shown.length - 1));
    this.filters.report(this.shown.length, this.steps.length, this.isComplete);
  }

  // Shows a step; one that the filters exclude clears them. `scrolls` brings it into view.
  show(step, scrolls = false) {
    if (!this.steps.length) return;
    this.current = Math.min(step, this.steps.length - 1);
    if (!this.shown.includes(this.current)) {
      this.filters.clear();
      this.selectSteps();
    }
    const data = this.steps[this.current];
    this.heading.setAttribute("aria-live", this.timer === null ? "polite" : "off");
    this.heading.textContent = this.describe(this.current);
    this.slider.setAttribute("aria-valuetext", this.heading.textContent);
    this.view.show(this.current, this.shown[this.shown.indexOf(this.current) + 1], this.steps);
    this.time.mark(this.current);
    this.video.show(this.current, data);
    this.regions.mark(data.path);
    this.updateControls();
    if (scrolls) this.heading.scrollIntoView({ block: "nearest" });
    this.onMove(this.current);
  }

  showAt(index) {
    if (this.shown.length) this.show(this.shown[Math.max(0, Math.min(this.shown.length - 1, index))]);
  }

  go(by) {
    this.showAt(Math.max(0, this.shown.indexOf(this.current)) + by);
  }

  // Shows the next step of a region: one that matches the filters, else any, else one of a region below.
  visit(node) {
    const matching = node.steps.filter((step) => this.shown.includes(step));
    const steps = [matching, node.steps, this.regions.below(node)].find((each) => each.length);
    if (steps) this.show(steps.find((step) => step > this.current) ?? steps[0], true);
  }

  // Shows one step after the other, each once the images of the one before have arrived.
  play(isOn) {
    clearTimeout(this.timer);
    this.timer = null;
    const isAtEnd = () => this.shown.indexOf(this.current) === this.shown.length - 1;
    const turn = () => {
      if (!this.box.isConnected || (this.isComplete && isAtEnd())) return this.play(false);
      const isWaiting = this.view.isLoading || isAtEnd();
      if (!isWaiting) this.go(1);
      this.timer = setTimeout(turn, isWaiting ? RETRY_MS : STEP_MS);
    };
    if (isOn && isAtEnd()) this.showAt(0);
    if (isOn) this.timer = setTimeout(turn, STEP_MS);
    this.player.textContent = isOn ? "❚❚ pause" : "▶ play";
  }

  // Handles a key that moves between steps; returns whether it did.
  key(event) {
    const isPress = event.key === " " && event.target.closest("button, summary");
    if (isTaken(event) || isPress || !Object.hasOwn(this.keys, event.key)) return false;
    event.preventDefault();
    this.keys[event.key]();
    return true;
  }
}
