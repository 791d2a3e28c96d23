// Two axes above the steps. The run: one lane for the Master and one for each worker, side by side. The video: where the answer lies, evidence, dead zones, and what the shown step looks at.
const WIDTH = 1000, LANE = 16; // units of the drawings, which are stretched to the width of the pane
const MAX_LANES = 16; // workers with a lane of their own
const MAX_TOLD = 12; // intervals of one lane that its description names
const FINDS = "finds evidence";

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
    this.cursor = shape("path", { class: "now" });
    // The keys that move between steps are those of the whole pane.
    this.box = element("div", { class: "strip run", role: "slider", tabindex: 0, "aria-label": "time of the run",
      "aria-valuemin": 0, "aria-valuemax": Math.max(0, run.count - 1) });
    this.box.addEventListener("click", (event) => this.pick(event));
  }

  laneOf({ who }) {
    if (!who.startsWith("Worker ")) return 0;
    const lane = this.lanes.indexOf(who);
    return lane < 0 ? this.lanes.length - 1 : lane;
  }

  placeOf({ place }) {
    return [place, place + 1].map((at) => (WIDTH * at) / this.run.end);
  }

  // Draws all steps that have arrived: one path for each lane, whatever their number.
  draw() {
    const agents = [...new Set(this.steps.map(({ who }) => who))];
    const workers = agents.filter((who) => who.startsWith("Worker ")).sort(inOrder);
    this.drawn = this.steps.length;
    this.lanes = ["Master", ...workers.slice(0, MAX_LANES), ...(workers.length > MAX_LANES ? ["other workers"] : [])];
    const bars = { work: new Set(), finds: new Set() }; // bars that would look the same are drawn once
    for (const step of this.steps) {
      const [from, to] = this.placeOf(step).map((x) => Math.round(2 * x) / 2);
      bars[step.touches.includes(FINDS) ? "finds" : "work"].add(bar(from, to - 1, this.laneOf(step) * LANE + 3, LANE - 6));
    }
    const paths = Object.entries(bars).map(([why, drawn]) => shape("path", { class: why, d: [...drawn].join("") }));
    const drawing = shape("svg", {}, ...paths, this.cursor), tokens = this.steps.reduce((sum, step) => sum + step.tokens, 0);
    // The ends are steps that exist: parallel steps share a place, so places are not their numbers.
    const ends = ["step 0", `steps in order, parallel ones side by side; ${tokens.toLocaleString("en")} tokens`,
      `step ${this.run.count - 1}`];
    this.box.replaceChildren(...strip(this.lanes, drawing, this.lanes.length * LANE, ends));
    this.mark(this.now);
  }

  // Marks the step that is shown: a line through all lanes, and a box in its own.
  mark(step) {
    this.now = step;
    const data = this.steps[step];
    if (!data || !this.lanes.length) return;
    const [from, to] = this.placeOf(data), line = `M${from.toFixed(1)} 0V${this.lanes.length * LANE}`;
    this.cursor.setAttribute("d", line + bar(from, Math.max(to, from + 4), this.laneOf(data) * LANE + 1, LANE - 2));
    this.box.setAttribute("aria-valuenow", step);
    this.box.setAttribute("aria-valuetext", this.describe(step));
  }

  // Shows the step of the clicked lane that is nearest to the click; of equally near ones the one nearest to the shown.
  pick(event) {
    const drawing = this.box.querySelector("svg").getBoundingClientRect();
    const row = Math.floor((event.clientY - drawing.top) / LANE), lane = Math.max(0, Math.min(this.lanes.length - 1, row));
    const at = (this.run.end * (event.clientX - drawing.left)) / drawing.width;
    const away = (step) => Math.abs(this.steps[step].place + 0.5 - at) + Math.abs(step - this.now) / 1e6;
    const own = this.steps.map((_, step) => step).filter((step) => this.laneOf(this.steps[step]) === lane);
    if (own.length) this.onPick(own.reduce((best, step) => (away(step) < away(best) ? step : best)));
  }
}

class VideoStrip {
  constructor(run, memory) {
    Object.assign(this, { run, memory });
    this.box = element("div", { class: "strip video", role: "img", hidden: !run.within });
  }

  show(step, data) {
    const { run } = this, { evidence, dead, seen } = this.memory.at(step);
    if (!run.within) return;
    const [start, end] = run.within;
    const points = [...evidence.values()].map((time) => [time, time]);
    const lanes = [["evidence", "finds", points], ["ruled out", "dead", dead], ["this step", "work", data.spans]];
    if (run.looks) lanes.splice(1, 0, ["looked at", "work", seen]);
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
