// The way from a page's panes to the kernel: steps as they come, and pictures when they are looked at. Only some
// pictures are held: those that were looked at last.
const MOST_HELD = 60;

class Feed {
  constructor(model, { onHead, onSteps, onTrouble, onGone }) {
    this.model = model;
    this.on = { head: onHead, steps: onSteps, trouble: onTrouble };
    this.held = new Map(); // pictures by name, the one looked at last at the end
    this.looks = new Map(); // of each run, which pictures are looked at now and are likely to be next
    this.isAsking = false;
    this.heard = (message, buffers) => this.hear(message, buffers);
    this.gone = () => onGone("The kernel has gone. Steps can still be gone through; run this cell again for their pictures.");
    model.on("msg:custom", this.heard);
    model.on("comm_live_update", this.gone);
  }

  close() {
    this.model.off("msg:custom", this.heard);
    this.model.off("comm_live_update", this.gone);
    for (const name of [...this.held.keys()]) this.drop(name);
  }

  open(run) {
    this.model.send({ want: "run", run });
  }

  // What gives a pane the pictures of a run.
  source(run) {
    return {
      picture: (number) => this.picture(`${run}/${number}`),
      look: (now, next) => {
        this.looks.set(run, { now, next });
        if (this.isAsking) return;
        this.isAsking = true;
        queueMicrotask(() => this.ask());
      },
    };
  }

  ask() {
    this.isAsking = false;
    const named = (when) => [...this.looks].flatMap(([run, look]) => look[when].map((number) => [run, number]));
    const wanted = [...named("now"), ...named("next")];
    const missing = wanted.filter(([run, number]) => !this.held.get(`${run}/${number}`)?.address);
    if (missing.length) this.model.send({ want: "pictures", wanted: missing });
    const kept = new Set(wanted.map(([run, number]) => `${run}/${number}`));
    for (const name of [...this.held.keys()]) {
      if (this.held.size <= MOST_HELD) break;
      if (!kept.has(name)) this.drop(name);
    }
  }

  picture(name) {
    const held = this.entry(name);
    this.held.delete(name);
    this.held.set(name, held);
    return held.address ?? held.promise;
  }

  entry(name) {
    const held = this.held.get(name) ?? {};
    if (!held.promise) {
      held.promise = new Promise((resolve, reject) => Object.assign(held, { resolve, reject }));
      held.promise.catch(() => {}); // who shows it says so
      this.held.set(name, held);
    }
    return held;
  }

  drop(name) {
    const { address } = this.held.get(name);
    if (address) URL.revokeObjectURL(address);
    this.held.delete(name);
  }

  hear(message, buffers) {
    const name = `${message.run}/${message.picture}`;
    if (message.is === "picture") {
      const held = this.entry(name);
      if (held.address) return;
      held.address = URL.createObjectURL(new Blob([buffers[0]], { type: "image/jpeg" }));
      held.resolve(held.address);
    } else if (message.is === "missing") {
      this.entry(name).reject(message.words);
      this.held.delete(name); // it is asked for again when it is looked at again
    } else {
      this.on[message.is]?.(message);
    }
  }
}

// The panes of one run, or of two side by side, in a place of the page.
class Walker {
  constructor(el, model, runs) {
    this.runs = runs;
    this.heads = new Map();
    this.counts = new Map(runs.map((run) => [run, 0]));
    this.status = element("p", { class: "status quiet", role: "status" }, "The run is on its way.");
    this.root = element("section", { class: "atlaskit-walk", tabindex: 0, "aria-label": "trace viewer",
      "data-lm-suppress-shortcuts": "true" }, this.status);
    this.root.addEventListener("keydown", (event) => {
      this.shown?.key(event);
      event.stopPropagation(); // JupyterLab takes arrows for its own, also those of a slider
    });
    el.append(this.root);
    this.feed = new Feed(model, {
      onHead: (message) => this.head(message),
      onSteps: (message) => this.add(message),
      onTrouble: (message) => this.say(message),
      onGone: (words) => this.say({ words }),
    });
    for (const run of runs) this.feed.open(run);
  }

  close() {
    for (const each of this.shown?.panes ?? []) each.play(false);
    this.feed.close();
    this.root.remove();
  }

  say({ run, words }) {
    if (run === undefined || this.runs.includes(run)) this.status.textContent = words;
  }

  head({ run, head }) {
    if (!this.runs.includes(run) || this.heads.has(run)) return;
    this.heads.set(run, head);
    if (this.heads.size < this.runs.length) return;
    const heads = this.runs.map((each, place) => {
      const about = this.heads.get(each);
      return this.runs.length > 1 ? { ...about, title: `Run ${place + 1}: ${about.name}` } : about;
    });
    const sources = this.runs.map((each) => this.feed.source(each));
    this.shown = heads.length === 2 ? beside(heads, sources) : alone(heads[0], sources[0]);
    this.status.textContent = "";
    this.root.append(element("p", { class: "question" }, heads[0].question), this.shown.box);
    for (const early of this.early ?? []) this.add(early);
    this.onShown?.();
  }

  add(message) {
    if (!this.runs.includes(message.run)) return;
    if (!this.shown) (this.early ??= []).push(message);
    else if (message.first === this.counts.get(message.run)) {
      this.counts.set(message.run, message.first + message.steps.length);
      this.shown.add(this.runs.indexOf(message.run), message.steps, message.last);
    }
  }
}

// One run, in the form of two.
function alone(run, source) {
  const only = pane(run, source);
  return { box: only.box, panes: [only], add: (_, more, isLast) => only.add(more, isLast), key: (event) => only.key(event) };
}
