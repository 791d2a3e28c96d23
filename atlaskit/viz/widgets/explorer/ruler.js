// The ruler of the explorer: the whole video as a slider, with marks, ticks and lanes below it. It can be made longer than
// its window, which then shows a part.
const DRAG_MS = 120; // between two requests while the pointer drags
const REST_MS = 60; // for which the pointer rests before the picture there is wanted
const TICKS_S = [0.1, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 18000, 36000];
const TICK_PX = 84; // between two ticks at least
const MAX_ZOOM = 64;

function cssPercent(share) {
  return `${(100 * share).toFixed(3)}%`;
}

// A mark on the ruler; `from` and `to` are shares of the video, and it may have a shade.
function rulerMark([from, to, shade = 1], name) {
  return element("span", { class: name, style: `left:${cssPercent(from)};width:${cssPercent(to - from)};opacity:${shade}` });
}

class Ruler {
  constructor(onSeek, onRest) {
    Object.assign(this, { onSeek, onRest, duration: 0, zoom: 1 });
    this.lanes = new Map(); // by name, in the order in which they came
    this.marks = element("div", { "aria-hidden": "true" });
    this.cut = element("div", { "aria-hidden": "true" });
    // The browser's own slider lies unseen over the marks: it is dragged, and has the keys.
    this.slider = element("input", { type: "range", min: 0, step: "any", "aria-label": "time in the video" });
    this.glance = element("img", { alt: "" });
    this.tipTime = element("time");
    this.tip = element("span", { class: "tip", "aria-hidden": "true", hidden: true }, this.tipTime);
    this.ticks = element("div", { class: "ticks", "aria-hidden": "true" });
    this.rows = element("div", { class: "lanes" });
    this.whole = element("div", { class: "whole" },
      element("div", { class: "line" }, this.marks, this.cut, this.slider), this.ticks, this.rows);
    this.window = element("div", { class: "window", tabindex: -1 }, this.whole);
    this.box = element("div", { class: "ruler" }, this.window, this.tip);
    this.listen();
  }

  listen() {
    this.slider.addEventListener("pointerdown", () => { this.isDragging = true; });
    this.slider.addEventListener("pointermove", (event) => this.point(event));
    this.slider.addEventListener("pointerleave", () => {
      clearTimeout(this.restTimer);
      this.tip.hidden = true;
    });
    this.slider.addEventListener("input", () => this.seek(false));
    for (const end of ["change", "pointerup", "pointercancel"]) {
      this.slider.addEventListener(end, () => {
        this.isDragging = false;
        this.seek(true);
      });
    }
    this.slider.addEventListener("keydown", ({ key }) => {
      if (key === "+" || key === "-") this.stretch(key === "+" ? 2 : 0.5, Number(this.slider.value) / this.duration);
    });
  }

  draw({ duration_s: duration, here, words, dead, found, seen }, onSeen) {
    this.duration = duration;
    const labels = found.map(([share, label]) =>
      element("span", { class: "found", style: `left:${cssPercent(share)}` }, label));
    this.slider.max = duration;
    if (!this.isDragging) this.slider.value = this.sought = here[0] * duration;
    this.slider.setAttribute("aria-valuetext", words);
    this.marks.replaceChildren(...dead.map((zone) => rulerMark(zone, "zone")), rulerMark(here, "here"), ...labels);
    if (seen) this.setLane("seen", seen.spans, seen.words, onSeen);
    this.drawTicks();
  }

  drawTicks() {
    const most = Math.max(2, (this.window.clientWidth * this.zoom) / TICK_PX);
    const step = TICKS_S.find((each) => this.duration / each <= most) ?? this.duration / 4;
    const count = Math.min(4000, Math.floor(this.duration / step + 1e-9));
    this.ticks.replaceChildren(...Array.from({ length: count + 1 }, (_, at) => element("span",
      { style: `left:${cssPercent((at * step) / this.duration)}` }, clockText(at * step).replace(/\.0$/, ""))));
  }

  // Makes the ruler longer or shorter around a share of the video.
  stretch(by, share) {
    const before = share * this.whole.clientWidth - this.window.scrollLeft;
    this.zoom = Math.max(1, Math.min(MAX_ZOOM, this.zoom * by));
    this.whole.style.width = cssPercent(this.zoom);
    this.window.scrollLeft = share * this.whole.clientWidth - before;
    this.drawTicks();
  }

  // Marks the in and the out point, in seconds, where they are set.
  setCut([start, end]) {
    const known = [start, end].filter((each) => each !== null).map((each) => each / this.duration);
    this.cut.replaceChildren(...(known.length ? [rulerMark([known[0], known.at(-1)], "cut")] : []));
  }

  // Draws a lane of spans, each [from, to] in shares of the video; a click goes to what is there.
  setLane(name, spans, words = `${name}: ${spans.length}`, onPick = this.onSeek) {
    const track = element("div", { class: "track" }, ...spans.map((span) => rulerMark(span, "mark")));
    const row = element("div", { class: "lane", role: "img", "aria-label": words, title: words },
      element("span", { class: "name", "aria-hidden": "true" }, name), track);
    track.addEventListener("click", (event) => onPick(this.timeAt(event)));
    row.dataset.lane = name;
    if (this.lanes.has(name)) this.lanes.get(name).replaceWith(row);
    else this.rows.append(row);
    this.lanes.set(name, row);
  }

  // The time below the pointer; the end itself has no frame.
  timeAt({ clientX }) {
    const { left, width } = this.slider.getBoundingClientRect();
    return Math.min(Math.max(0, Math.min(1, (clientX - left) / width)) * this.duration, this.duration - 0.001);
  }

  // Shows the time below the pointer, and once it rests, the picture there.
  point(event) {
    const { left, width } = this.box.getBoundingClientRect(), share = Math.max(0, Math.min(1, (event.clientX - left) / width));
    this.restedAt = this.timeAt(event);
    this.tip.hidden = false;
    this.tipTime.textContent = clockText(this.restedAt);
    this.tip.style.left = cssPercent(share);
    this.tip.style.transform = `translateX(-${cssPercent(share)})`; // so that it stays within the ruler
    this.glance.remove(); // it is of another time
    clearTimeout(this.restTimer);
    this.restTimer = setTimeout(() => this.onRest(this.restedAt), REST_MS);
  }

  showGlance(seconds, jpeg) {
    if (seconds !== this.restedAt) return;
    URL.revokeObjectURL(this.glance.src);
    this.glance.src = URL.createObjectURL(new Blob([jpeg], { type: "image/jpeg" }));
    this.tip.prepend(this.glance);
  }

  // Goes to the slider's time; while the pointer drags, only now and then.
  seek(isLast) {
    const seconds = Number(this.slider.value), now = performance.now();
    if (seconds === this.sought || (!isLast && now - (this.sentAt ?? 0) < DRAG_MS)) return;
    Object.assign(this, { sought: seconds, sentAt: now });
    this.onSeek(Math.min(seconds, this.duration - 0.001));
  }
}
