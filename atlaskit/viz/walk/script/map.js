// The map of a run: its root grid with the evidence and the dead zones as they are at a step. Outlines are
// drawn over images as shares of them, so an image stays the one that an agent saw.
const MAX_NAMED = 3; // most labels in one cell of the map
const ROUNDING_S = 0.002; // times arrive rounded to a thousandth of a second

// An image, or a plain grid, with outlines: [left, top, width, height, text, why].
function outlined(image, marks) {
  return element("div", { class: "frame" }, image, ...marks.map(([left, top, width, height, text, why]) => {
    const shares = [["left", left], ["top", top], ["width", width], ["height", height]];
    const style = shares.map(([name, share]) => `${name}:${(100 * share).toFixed(3)}%`).join(";");
    return element("span", { class: `mark ${why}`, style, "aria-hidden": "true" }, text && element("b", {}, text));
  }));
}

// Joins intervals that touch or overlap.
function joined(spans) {
  const result = [];
  for (const [start, end] of [...spans].sort((one, other) => one[0] - other[0])) {
    const last = result[result.length - 1];
    if (last && start <= last[1] + ROUNDING_S) last[1] = Math.max(last[1], end);
    else result.push([start, end]);
  }
  return result;
}

// Returns spans without what lies in another.
function without(spans, [from, to]) {
  const parts = spans.flatMap(([start, end]) => [[start, Math.min(end, from)], [Math.max(start, to), end]]);
  return parts.filter(([start, end]) => start < end);
}

// The evidence and the dead zones of a run after each of its steps.
class MemoryAt {
  constructor(steps) {
    this.steps = steps;
    this.reset();
  }

  reset() {
    Object.assign(this, { next: 0, evidence: new Map(), dead: [], seen: [] });
  }

  at(step) {
    if (step < this.next - 1) this.reset();
    for (; this.next <= step; this.next += 1) this.apply(this.steps[this.next].change);
    return this;
  }

  apply({ add = [], erase = [], dead = [], alive = [], seen = [] }) {
    for (const [label, time] of add) this.evidence.set(label, time);
    for (const label of erase) this.evidence.delete(label);
    if (dead.length) this.dead = joined([...this.dead, ...dead]);
    if (seen.length) this.seen = joined([...this.seen, ...seen]);
    for (const span of alive) this.dead = without(this.dead, span);
  }
}

class RunMap {
  constructor(run, memory) {
    Object.assign(this, { run, memory });
    this.cells = run.k && run.within ? run.k * run.k : 0; // 0: the run has no map
    [this.from, this.to] = run.within ?? [0, 1];
    this.cellSeconds = (this.to - this.from) / (this.cells || 1);
  }

  // The map at a step: a description, and what is outlined.
  at(step, data) {
    const { evidence, dead } = this.memory.at(step), { labels, ruledOut } = this.totals(step);
    const marks = [...this.deadMarks(dead), ...this.marksOver(this.run.moments, "true"),
      ...this.marksOver([...evidence].map(([label, time]) => [time, time, `[${label}]`]), "found")];
    const sent = data.change.sent?.map(([from, to, worker]) => [from, to, `worker ${worker}`]) ?? data.spans;
    marks.push(...this.marksOver(sent.slice(0, this.cells), "acted"));
    const text = `The map: the ${this.run.scope} at this step. Evidence: ${labels}. Ruled out (black): ${ruledOut}.`;
    return { text, marks };
  }

  // What the memory holds at a step, in words.
  totals(step) {
    const { evidence, dead } = this.memory.at(step), { within } = this.run;
    const labels = [...evidence.keys()].map((label) => `[${label}]`).join(", ") || "none";
    const seconds = dead.reduce((sum, [start, end]) => sum + end - start, 0);
    const ruledOut = within ? `${Math.round((100 * seconds) / (this.to - this.from))} %` : `${seconds.toFixed(1)} s`;
    return { labels, ruledOut };
  }

  // When a cell starts and ends; in a collection of films, cells have unequal lengths. The map may begin later than the video.
  spanOf(cell) {
    const { edges } = this.run;
    return [cell, cell + 1].map((at) => (edges ? edges[at] : this.from + at * this.cellSeconds));
  }

  cellOf(time) {
    const { edges } = this.run, at = time + ROUNDING_S;
    const cell = edges ? edges.findLastIndex((edge) => edge <= at) : Math.floor((at - this.from) / this.cellSeconds);
    return Math.max(0, Math.min(this.cells - 1, cell));
  }

  box(cell, text, why) {
    const { k } = this.run, side = 1 / k;
    return [(cell % k) * side, Math.floor(cell / k) * side, side, side, text, why];
  }

  // Outlines of the cells that intervals lie in; cells of several have the texts of all.
  marksOver(spans, why) {
    const texts = new Map();
    for (const [start, end, text] of spans) {
      if (end < this.from || start > this.to) continue;
      const last = this.cellOf(Math.max(start, end - 2 * ROUNDING_S));
      for (let cell = this.cellOf(start); cell <= last; cell += 1) {
        texts.set(cell, [...(texts.get(cell) ?? []), text].filter(Boolean));
      }
    }
    const more = (all) => (all.length > MAX_NAMED ? ` +${all.length - MAX_NAMED}` : "");
    return [...texts].map(([cell, all]) => this.box(cell, all.slice(0, MAX_NAMED).join(" ") + more(all), why));
  }

  // Whole cells that are ruled out are black; of a part there is a bar at the lower edge.
  deadMarks(dead) {
    const marks = [];
    for (const [start, end] of dead) {
      for (let cell = this.cellOf(start); cell <= this.cellOf(Math.max(start, end - 2 * ROUNDING_S)); cell += 1) {
        const [first, last] = this.spanOf(cell), seconds = last - first;
        const from = Math.max(0, (start - first) / seconds), to = Math.min(1, (end - first) / seconds);
        const [left, top, width, height] = this.box(cell);
        const isWhole = (to - from) * seconds > seconds - 2 * ROUNDING_S;
        marks.push(isWhole ? [left, top, width, height, "", "dead"]
          : [left + from * width, top + 0.9 * height, (to - from) * width, 0.1 * height, "", "dead"]);
      }
    }
    return marks;
  }

  // Stands for the image where the root grid cannot be drawn.
  plain() {
    const lines = `--cells:${this.run.k}`;
    return element("div", { class: "plain", style: lines, role: "img", "aria-label": "the root grid, without frames" });
  }
}
