// Two axes of time above the steps. The run: one lane for the Master and one for each worker, side by side, and
// the running tokens. The video: where the answer lies, evidence, dead zones, and what the shown step looks at.
const WIDTH = 1000, LANE = 16; // units of the drawings, which are stretched to the width of the pane
const MAX_LANES = 16; // workers with a lane of their own
const MAX_TOLD = 12; // intervals of one lane that its description names
const MAX_POINTS = 500; // points of the line of tokens
const OTHERS = "other workers", FINDS = "finds evidence";

function shape(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function bar(from, to, top, height) {
  return `M${from.toFixed(1)} ${top}H${Math.max(to, from + 1.5).toFixed(1)}V${top + height}H${from.toFixed(1)}Z`;
}

// A drawing with the names of its lanes beside it, and what its ends mean below.
function strip(names, drawing, height, ends) {
  const labels = names.map((name) => element("span", {}, name));
  drawing.setAttribute("viewBox", `0 0 ${WIDTH} ${height}`);
  drawing.setAttribute("preserveAspectRatio", "none");
  drawing.setAttribute("aria-hidden", "true");
  drawing.style.height = `${height}px`;
  const below = element("div", { class: "ends quiet" }, ...ends.map((end) => element("span", {}, end)));
  return [element("div", { class: "lanes" }, ...labels), element("div", { class: "drawn" }, drawing, below)];
}

class RunStrip {
  // `describe(step)` names a step; `onPick(step)` shows it.
  constructor(run, steps, describe, onPick) {
    Object.assign(this, { run, steps, describe, onPick, now: 0, lanes: [], drawn: 0 });
    this.end = run.clock.end || 1;
    this.cursor = shape("path", { class: "now" });
    this.box = element("div", { class: "strip run", role: "slider", tabindex: 0, "aria-label": "time of the run",
      "aria-valuemin": 0, "aria-valuemax": Math.max(0, run.count - 1) });
    this.box.addEventListener("click", (event) => this.pick(event));
    this.box.addEventListener("keydown", (event) => this.key(event));
  }

  laneOf(who) {
    if (!who.startsWith("Worker ")) return "Master";
    return this.ownLanes.has(who) ? who : OTHERS;
  }

  placeOf(step) {
    return step.time.map((time) => (WIDTH * time) / this.end);
  }

  // Draws all steps that have arrived: one path for each lane, whatever their number.
  draw() {
    const agents = [...new Set(this.steps.map(({ who }) => who))];
    const workers = agents.filter((who) => who.startsWith("Worker ")).sort(inOrder);
    this.drawn = this.steps.length;
    this.ownLanes = new Set(workers.slice(0, MAX_LANES));
    this.lanes = ["Master", ...this.ownLanes, ...(workers.length > MAX_LANES ? [OTHERS] : [])];
    const paths = this.lanes.map(() => ({ all: [], finds: [] }));
    const drawn = new Set(); // bars that would look the same are drawn once
    for (const step of this.steps) {
      const lane = this.lanes.indexOf(this.laneOf(step.who)), kind = step.touches.includes(FINDS) ? "finds" : "all";
      const [from, to] = this.placeOf(step);
      const name = [lane, kind, Math.round(2 * from), Math.round(2 * to)].join("/");
      if (!drawn.has(name)) paths[lane][kind].push(bar(from, to - 1, lane * LANE + 3, LANE - 6));
      drawn.add(name);
    }
    const height = (this.lanes.length + 1.5) * LANE;
    const bars = paths.flatMap(({ all, finds }) => [shape("path", { class: "work", d: all.join("") }),
      shape("path", { class: "finds", d: finds.join("") })]);
    const drawing = shape("svg", {}, ...bars, this.tokenLine(height), this.cursor);
    const { isInSeconds } = this.run.clock, total = this.total.toLocaleString("en");
    // Without times the ends are steps that exist: parallel steps share a place, so places are not their numbers.
    const ends = isInSeconds ? ["0 s", "seconds of model calls, without the time between them", `${this.end.toFixed(1)} s`]
      : ["step 0", "steps in order, parallel ones side by side (no times known)", `step ${this.run.count - 1}`];
    this.box.replaceChildren(...strip([...this.lanes, `${total} tokens`], drawing, height, ends));
    this.mark(this.now);
  }

  // The running number of tokens as a line in the last lane.
  tokenLine(height) {
    const costs = this.steps.map(({ time, tokens }) => [time[1], tokens]).sort((one, other) => one[0] - other[0]);
    this.total = costs.reduce((sum, [, tokens]) => sum + tokens, 0);
    const every = Math.ceil(costs.length / MAX_POINTS), bottom = height - 2, top = (this.lanes.length + 0.1) * LANE;
    const points = [`0,${bottom}`];
    let sum = 0;
    costs.forEach(([time, tokens], index) => {
      sum += tokens;
      if (index % every === 0 || index === costs.length - 1) {
        const y = bottom - ((bottom - top) * sum) / (this.total || 1);
        points.push(`${((WIDTH * time) / this.end).toFixed(1)},${y.toFixed(1)}`);
      }
    });
    return shape("polyline", { class: "tokens", points: points.join(" ") });
  }

  // Marks the step that is shown: a line through all lanes, and a box in its own.
  mark(step) {
    this.now = step;
    const data = this.steps[step];
    if (!data || !this.lanes.length) return;
    const lane = Math.max(0, this.lanes.indexOf(this.laneOf(data.who)));
    const [from, to] = this.placeOf(data);
    const height = (this.lanes.length + 1.5) * LANE, line = `M${from.toFixed(1)} 0V${height}`;
    this.cursor.setAttribute("d", line + bar(from, Math.max(to, from + 4), lane * LANE + 1, LANE - 2));
    this.box.setAttribute("aria-valuenow", step);
    this.box.setAttribute("aria-valuetext", this.describe(step));
  }

  // The step of a lane that is nearest to a time; among equally near ones the one nearest to the shown step.
  nearest(lane, time) {
    let best = null, least = [Infinity, 0];
    this.steps.forEach((step, index) => {
      if (this.laneOf(step.who) !== this.lanes[lane]) return;
      const away = [Math.max(0, step.time[0] - time, time - step.time[1]), Math.abs(index - this.now)];
      if (away[0] < least[0] || (away[0] === least[0] && away[1] < least[1])) [best, least] = [index, away];
    });
    return best;
  }

  pick(event) {
    const drawing = this.box.querySelector("svg").getBoundingClientRect();
    const lane = Math.floor((event.clientY - drawing.top) / LANE);
    const time = (this.end * (event.clientX - drawing.left)) / drawing.width;
    const step = this.nearest(Math.max(0, Math.min(this.lanes.length - 1, lane)), Math.max(0, time));
    if (step !== null) this.onPick(step);
  }

  // Left and right move between the steps of one agent, up and down between agents at the same time.
  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || !this.steps.length) return;
    const { who, time } = this.steps[this.now], lane = this.lanes.indexOf(this.laneOf(who));
    const isOwn = (step) => this.laneOf(this.steps[step].who) === this.lanes[lane];
    const own = this.steps.map((_, step) => step).filter(isOwn);
    const beside = (by) => {
      const to = lane + by;
      return to < 0 || to >= this.lanes.length ? null : this.nearest(to, time[0]);
    };
    const moves = {
      ArrowLeft: () => own[own.indexOf(this.now) - 1],
      ArrowRight: () => own[own.indexOf(this.now) + 1],
      ArrowUp: () => beside(-1),
      ArrowDown: () => beside(1),
      Home: () => 0,
      End: () => this.steps.length - 1,
    };
    if (!Object.hasOwn(moves, event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    const step = moves[event.key]();
    if (step !== undefined && step !== null) this.onPick(step);
  }
}

class VideoStrip {
  constructor(run, memory) {
    Object.assign(this, { run, memory });
    this.box = element("div", { class: "strip video", role: "img", hidden: !run.within });
  }

  show(step, data) {
    const { run } = this, { evidence, dead } = this.memory.at(step);
    if (!run.within) return;
    const [start, end] = run.within;
    const points = [...evidence.values()].map((time) => [time, time]);
    const lanes = [["evidence", "finds", points], ["ruled out", "dead", dead], ["this step", "work", data.spans]];
    if (run.moments.length) lanes.unshift(["answer lies here", "truth", run.moments]);
    const barOf = (lane) => ([from, to]) => {
      const [left, right] = [from, to].map((time) => WIDTH * Math.max(0, Math.min(1, (time - start) / (end - start))));
      return bar(left, Math.max(right, left + 3), lane * LANE + 3, LANE - 6);
    };
    const paths = lanes.map(([, why, spans], lane) =>
      shape("path", { class: why, d: spans.map(barOf(lane)).join("") }));
    this.box.replaceChildren(...strip(lanes.map(([name]) => name), shape("svg", {}, ...paths), lanes.length * LANE,
      [clockText(start), "time of the video", clockText(end)]));
    const told = (spans) => spans.slice(0, MAX_TOLD).map(([from, to]) => `${clockText(from)} to ${clockText(to)}`);
    const all = lanes.map(([name, , spans]) => `${name}: ${told(spans).join(", ") || "none"}`);
    this.box.setAttribute("aria-label", `Time of the video. ${all.join("; ")}`);
  }
}
