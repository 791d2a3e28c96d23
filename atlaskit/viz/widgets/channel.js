// The page's side of runs: receives steps from the kernel, and requests images when they are shown.
// Only the images that were shown last are held.
const MAX_HELD = 60;
const STOPPED = "The kernel has stopped. The steps stay; their images need a running kernel: run this cell again.";

class Channel {
  // `panel` is the name of the messages' panel, where a page has several.
  constructor(model, { onHead, onSteps, onTrouble, onStopped }, panel) {
    Object.assign(this, { model, panel });
    this.handlers = { head: onHead, steps: onSteps, trouble: onTrouble };
    this.held = new Map(); // images by name, the one shown last at the end
    this.looks = new Map(); // for each run, the images that are shown now, and those likely to be next
    this.isRequesting = false;
    this.endListening = listen(model, (message, buffers) => this.receive(message, buffers), () => onStopped(STOPPED));
  }

  close() {
    this.endListening();
    for (const name of this.held.keys()) this.drop(name);
  }

  open(run) {
    this.model.send({ want: "run", run, panel: this.panel });
  }

  // The source that a pane takes the images of a run from.
  source(run) {
    return {
      picture: (number) => this.picture(nameOf(run, number)),
      look: (now, next) => {
        this.looks.set(run, { now, next });
        if (this.isRequesting) return;
        this.isRequesting = true;
        queueMicrotask(() => this.request());
      },
    };
  }

  // Requests the images that are not held, those that are shown now first, and drops old ones.
  request() {
    this.isRequesting = false;
    const pairs = (when) => [...this.looks].flatMap(([run, look]) => look[when].map((number) => [run, number]));
    const wanted = [...pairs("now"), ...pairs("next")];
    const missing = wanted.filter(([run, number]) => !this.held.get(nameOf(run, number))?.address);
    if (missing.length) this.model.send({ want: "pictures", wanted: missing, panel: this.panel });
    const needed = new Set(wanted.map(([run, number]) => nameOf(run, number)));
    for (const name of this.held.keys()) {
      if (this.held.size <= MAX_HELD) break;
      if (!needed.has(name)) this.drop(name);
    }
  }

  // The address of an image, or a promise of it.
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
      held.promise.catch(() => {}); // the pane that shows the image reports the failure
      this.held.set(name, held);
    }
    return held;
  }

  drop(name) {
    const { address } = this.held.get(name);
    if (address) URL.revokeObjectURL(address);
    this.held.delete(name);
  }

  receive(message, buffers) {
    if (message.panel !== this.panel) return;
    const name = nameOf(message.run, message.picture);
    if (message.is === "picture") {
      const held = this.entry(name);
      if (held.address) return;
      held.address = URL.createObjectURL(new Blob([buffers[0]], { type: "image/jpeg" }));
      held.resolve(held.address);
    } else if (message.is === "missing") {
      this.entry(name).reject(message.words);
      this.held.delete(name); // so that it is requested again when it is shown again
    } else {
      this.handlers[message.is]?.(message);
    }
  }
}

function nameOf(run, number) {
  return `${run}/${number}`;
}

// The panes of one run, or of two side by side, inside an element.
class Walker {
  constructor(el, model, runs, panel) {
    this.runs = runs;
    this.heads = new Map();
    this.counts = new Map(runs.map((run) => [run, 0])); // steps received of each run
    this.early = []; // steps received before all summaries
    this.status = element("p", { class: "status quiet", role: "status" }, "Loading the run…");
    this.root = element("section", { class: "atlaskit-walk", tabindex: 0, "aria-label": "trace viewer",
      "data-lm-suppress-shortcuts": "true" }, this.status);
    this.root.addEventListener("keydown", (event) => {
      this.shown?.key(event);
      event.stopPropagation(); // else JupyterLab handles arrow keys, even those of a slider
    });
    el.append(this.root);
    this.channel = new Channel(model, {
      onHead: (message) => this.addHead(message),
      onSteps: (message) => this.addSteps(message),
      onTrouble: (message) => this.report(message),
      onStopped: (words) => this.report({ words }),
    }, panel);
    for (const run of runs) this.channel.open(run);
  }

  close() {
    for (const each of this.panes ?? []) each.play(false);
    this.channel.close();
    this.root.remove();
  }

  report({ run, words }) {
    if (run === undefined || this.runs.includes(run)) this.status.textContent = words;
  }

  // Shows the panes once the summaries of all runs have arrived.
  addHead({ run, head }) {
    if (!this.runs.includes(run) || this.heads.has(run)) return;
    this.heads.set(run, head);
    if (this.heads.size < this.runs.length) return;
    const heads = this.runs.map((each, side) => {
      const summary = this.heads.get(each);
      return this.runs.length > 1 ? { ...summary, title: `Run ${side + 1}: ${summary.name}` } : summary;
    });
    const sources = this.runs.map((each) => this.channel.source(each));
    this.shown = heads.length === 2 ? new SideBySide(heads, sources) : new Pane(heads[0], sources[0]);
    this.panes = this.shown.panes ?? [this.shown];
    this.status.textContent = "";
    this.root.append(element("p", { class: "question" }, heads[0].question), this.shown.box);
    for (const message of this.early) this.addSteps(message);
    this.onShown?.();
  }

  addSteps(message) {
    if (!this.runs.includes(message.run)) return;
    if (!this.shown) this.early.push(message);
    else if (message.first === this.counts.get(message.run)) {
      this.counts.set(message.run, message.first + message.steps.length);
      this.panes[this.runs.indexOf(message.run)].add(message.steps, message.last);
    }
  }
}
