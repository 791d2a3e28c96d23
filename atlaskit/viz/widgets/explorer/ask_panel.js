// The question about the shown region: the line of code, or of the shell, that asks it, and, with a model, the run:
// its progress, its answer, its evidence and its steps.
const LINE_MS = 150; // after the last key, until the line is written
const BEAT_MS = 15_000; // between two messages that the page is there, while a question goes on

class AskPanel {
  constructor(explorer) {
    this.explorer = explorer;
    this.state = { phase: "idle" };
    this.buildDraft();
    this.buildRun();
    this.box = element("details", { class: "panel ask", name: PANELS }, element("summary", {}, "Ask about this region (Q)"),
      ...this.draftParts, this.run);
    this.steps = element("div", { class: "atlaskit-steps" }); // outside of the explorer, whose style and keys it has not
    this.box.addEventListener("toggle", () => {
      if (!this.box.open) return;
      if (document.activeElement !== this.question) this.open();
      this.writeLine();
    });
    this.followUp.hidden = true;
    this.draw({ phase: "idle" });
    this.send("here");
    this.onHide = () => this.send("left");
    this.onReturn = ({ persisted }) => { if (persisted) this.send("here"); };
    addEventListener("pagehide", this.onHide);
    addEventListener("pageshow", this.onReturn);
    this.beat = setInterval(() => { if (!this.stop.hidden) this.send("alive"); }, BEAT_MS);
  }

  send(want, message) {
    this.explorer.send({ panel: "ask", want, ...message });
  }

  buildDraft() {
    this.names = element("datalist", { id: `${PANELS}-models` });
    this.model = element("input", { type: "text", list: this.names.id, autocomplete: "off", spellcheck: "false",
      placeholder: "a name, or an address and a name" });
    this.model.addEventListener("change", () => {
      this.problem.textContent = "";
      this.send("model", { model: this.model.value });
    });
    this.known = []; // the only questions that the model can answer, if it is such a model
    this.offered = chooser("This model can answer only these:", [], (at) => this.fill(at));
    this.offered.box.className = "long";
    this.offered.box.hidden = true;
    this.question = element("textarea", { rows: 2 });
    this.choices = element("textarea", { rows: 3 });
    this.within = element("input", { type: "checkbox" });
    this.follows = element("input", { type: "checkbox" });
    this.followUp = element("label", {}, this.follows, " follow-up: may use what was found before");
    this.region = element("span");
    this.line = element("textarea", { rows: 2, readonly: true, spellcheck: "false" });
    this.copied = element("span", { role: "status" });
    this.note = element("p", { class: "note" });
    const copy = button("copy the line", {}, () => copyText(this.line.value, this.copied));
    this.draftParts = [
      element("label", { class: "long" }, "Model", this.model), this.names, this.offered.box,
      element("label", { class: "long" }, "Question", this.question),
      element("label", { class: "long" }, "Choices, one a line (optional)", this.choices),
      element("label", {}, this.within, " only this region ", this.region), this.followUp,
      element("div", { class: "fields" }, element("label", { class: "grow" }, "Line", this.line), copy,
        this.copied),
      this.note,
    ];
    for (const field of [this.question, this.choices]) field.addEventListener("input", () => {
      this.problem.textContent = "";
      this.writeLineSoon();
    });
    this.follows.addEventListener("change", () => this.writeLine());
    this.within.addEventListener("change", () => {
      this.isChosen = true;
      this.writeLine();
    });
  }

  buildRun() {
    this.ask = button("Ask", { class: "go" }, () => this.start());
    this.stop = button("stop", {}, () => this.send("stop"));
    this.again = button("go on", {}, () => this.send("again"));
    this.goesOn = element("input", { type: "checkbox" });
    this.goesOn.addEventListener("change", () => this.send("go on", { goes_on: this.goesOn.checked }));
    this.problem = element("p", { class: "problem", role: "alert" });
    this.asked = element("p", { class: "asked" });
    this.outcome = element("p", { class: "outcome", role: "status" });
    this.elapsed = element("p", { class: "note", "aria-hidden": "true" });
    this.reasoning = element("p", { class: "note" });
    this.counts = element("p", { class: "note" });
    this.latest = element("ul", { class: "latest", "aria-label": "latest steps" });
    this.evidence = element("ul", { class: "evidence", "aria-label": "evidence" });
    this.toSteps = button("steps", { "aria-expanded": "false" }, () => this.toggleSteps());
    this.run = element("div", {}, element("div", { class: "fields" }, this.ask, this.stop, this.again),
      element("label", {}, this.goesOn, " go on when this page is closed; else it stops, and replies are kept"), this.problem,
      element("div", { class: "run" }, this.asked, this.outcome, this.elapsed, this.reasoning, this.evidence, this.counts,
        this.latest, this.toSteps));
  }

  // Shows which model answers, offers others, and the only questions that it can answer, if it is such a model.
  offerModel({ model, models, questions }) {
    if (document.activeElement !== this.model) this.model.value = model;
    this.names.replaceChildren(...models.map((value) => element("option", { value })));
    this.known = questions;
    this.offered.box.hidden = !questions.length;
    const options = questions.map(({ question }, at) => element("option", { value: at }, question));
    this.offered.select.replaceChildren(element("option", { value: "" }, "choose…"), ...options);
  }

  fill(at) {
    if (!at) return;
    const { question, choices } = this.known[at];
    this.question.value = question;
    this.choices.value = choices.join("\n");
    this.writeLine();
  }

  open() {
    this.box.open = true;
    this.question.focus();
  }

  // --- the draft

  draft() {
    const choices = this.choices.value.split("\n").filter((choice) => choice.trim());
    const within = this.within.checked ? regionOf(this.explorer.shown) : null;
    return { question: this.question.value, choices, within, follows: this.follows.checked && !this.followUp.hidden };
  }

  writeLineSoon() {
    clearTimeout(this.lineTimer);
    this.lineTimer = setTimeout(() => this.writeLine(), LINE_MS);
  }

  writeLine() {
    clearTimeout(this.lineTimer);
    this.copied.textContent = "";
    if (this.explorer.shown) this.send("line", this.draft());
  }

  start() {
    this.problem.textContent = "";
    this.toReveal = true;
    this.send("ask", { ...this.draft(), model: this.model.value }); // the model that the field names, or none
  }

  onShown(message) {
    const isWhole = message.place.look === "grid" && !message.place.path.length;
    if (!this.isChosen) this.within.checked = !isWhole;
    this.region.textContent = `(${regionOf(message).map(clockText).join("–")})`;
    if (this.box.open) this.writeLineSoon();
  }

  // --- the run

  receive(message) {
    if (message.panel !== "ask") return message.panel === "steps"; // which the walker receives
    if (message.is === "line") [this.line.value, this.note.textContent] = [message.line, message.note];
    else if (message.is === "model") this.offerModel(message);
    else if (message.is === "problem") {
      this.problem.textContent = message.words;
      this.reveal(this.problem);
    } else this.draw(message);
    return true;
  }

  // Scrolls what became of "Ask" into view, once.
  reveal(part) {
    if (this.toReveal) part.scrollIntoView({ block: "nearest" });
    this.toReveal = false;
  }

  draw(state) {
    const isRunning = state.phase === "running" || state.phase === "stopping";
    this.ask.disabled = isRunning;
    this.ask.textContent = isRunning ? "Asking… one run at a time" : "Ask";
    this.stop.hidden = !isRunning;
    this.goesOn.checked = state.goes_on ?? false;
    this.again.hidden = state.phase !== "stopped" && state.phase !== "failed";
    this.stop.disabled = state.phase === "stopping";
    this.asked.textContent = state.question ?? "";
    this.reasoning.textContent = state.reasoning ?? "";
    this.counts.textContent = state.counts ?? "";
    this.latest.replaceChildren(...(state.run === undefined ? state.steps ?? [] : []).map(([who, does]) =>
      element("li", {}, element("b", {}, who), " ", element("bdi", {}, does))));
    this.drawEvidence(state.evidence ?? []);
    this.toSteps.hidden = state.run === undefined;
    if (state.run !== undefined) this.followUp.hidden = false; // there is something to follow
    if (state.run !== this.state.run) this.closeSteps();
    this.state = state;
    this.tell(isRunning);
    if (state.phase !== "idle") this.reveal(this.outcome);
  }

  // The buttons are kept while the evidence is the same, so that a click or the focus is not lost.
  drawEvidence(items) {
    const drawn = JSON.stringify(items);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    this.evidence.replaceChildren(...items.map(({ label, time, time_s: timeS, words }) => {
      const show = button(`[${label}] ${time}`, {}, (event) => this.explorer.showTime(timeS, event));
      return element("li", {}, show, " ", element("bdi", {}, words));
    }));
  }

  // Says that a run goes on, and for how long, or how it ended.
  tell(isRunning) {
    const { phase, words = "", seconds } = this.state;
    const outcome = isRunning ? `${phase === "stopping" ? "Stopping" : "Running"}…` : words;
    if (this.outcome.textContent !== outcome) this.outcome.textContent = outcome; // else it would be read out again
    this.elapsed.textContent = isRunning ? `${seconds} s` : "";
  }

  // --- its steps

  toggleSteps() {
    if (this.walker) return this.closeSteps();
    if (this.explorer.hasStopped) return this.explorer.fail(NO_KERNEL);
    this.explorer.el.append(this.steps);
    this.walker = new Walker(this.steps, this.explorer.model, [this.state.run], "steps");
    this.toSteps.setAttribute("aria-expanded", "true");
    return this.walker.root.focus();
  }

  closeSteps() {
    this.walker?.close();
    this.walker = null;
    this.steps.remove();
    this.toSteps.setAttribute("aria-expanded", "false");
  }

  close() {
    clearTimeout(this.lineTimer);
    this.closeSteps();
    removeEventListener("pagehide", this.onHide);
    removeEventListener("pageshow", this.onReturn);
    clearInterval(this.beat);
    this.send("left");
  }
}
