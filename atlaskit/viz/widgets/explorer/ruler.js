// The ruler of the explorer: the whole video as a slider, with marks, and lanes below it.
const DRAG_MS = 120; // between two requests while the pointer drags

function cssPercent(share) {
  return `${(100 * share).toFixed(3)}%`;
}

// A mark on the ruler; `from` and `to` are shares of the video.
function rulerMark([from, to], name) {
  const made = element("span", { class: name });
  made.style.left = cssPercent(from);
  made.style.width = cssPercent(to - from);
  return made;
}

class Ruler {
  constructor(onSeek) {
    this.onSeek = onSeek;
    this.duration = 0;
    this.lanes = new Map(); // by name, in the order in which they came
    this.line = element("div", { class: "line", role: "slider", tabindex: 0, "aria-label": "time in the video",
      "aria-valuemin": 0 });
    this.start = element("span", { class: "end" });
    this.end = element("span", { class: "end" });
    this.tip = element("span", { class: "tip", "aria-hidden": "true", hidden: true });
    this.rows = element("div", { class: "lanes" });
    this.box = element("div", { class: "ruler" }, element("div", { class: "scale" }, this.start, this.line, this.end),
      this.rows);
    this.listen();
  }

  listen() {
    this.line.addEventListener("pointerdown", (event) => this.onPointer(event));
    this.line.addEventListener("pointermove", (event) => this.onPointer(event));
    this.line.addEventListener("pointerup", (event) => this.onPointer(event));
    this.line.addEventListener("pointercancel", () => this.release());
    this.line.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    this.line.addEventListener("keydown", (event) => this.onKey(event));
  }

  draw({ duration_s: duration, ends, here, words, dead, found }) {
    this.duration = duration;
    [this.start.textContent, this.end.textContent] = ends;
    const labels = found.map(([share, label]) => {
      const made = element("span", { class: "found" }, label);
      made.style.left = cssPercent(share);
      return made;
    });
    this.here = here[0];
    this.line.setAttribute("aria-valuemax", Math.round(duration));
    this.line.setAttribute("aria-valuenow", Math.round(here[0] * duration));
    this.line.setAttribute("aria-valuetext", words);
    this.line.replaceChildren(...dead.map((zone) => rulerMark(zone, "zone")), rulerMark(here, "here"), ...labels,
      this.tip);
  }

  // Draws a lane of spans, each [from, to] in shares of the video.
  setLane(name, spans, words = `${name}: ${spans.length}`) {
    const row = element("div", { class: "lane", role: "img", "aria-label": words, title: words },
      element("span", { class: "name", "aria-hidden": "true" }, name), element("div", { class: "track" }, ...spans.map((span) => rulerMark(span, "mark"))));
    row.dataset.lane = name;
    if (this.lanes.has(name)) this.lanes.get(name).replaceWith(row);
    else this.rows.append(row);
    this.lanes.set(name, row);
  }

  onPointer(event) {
    const { left, width } = this.line.getBoundingClientRect();
    const seconds = this.clamp((event.clientX - left) / width * this.duration);
    this.tip.hidden = false;
    this.tip.textContent = clockText(seconds);
    this.tip.style.left = cssPercent(seconds / this.duration);
    if (event.type === "pointerdown" && event.button === 0) {
      this.isDragging = true;
      this.sentAt = 0;
      this.line.setPointerCapture(event.pointerId);
    }
    if (!this.isDragging) return;
    const isLast = event.type === "pointerup", now = performance.now();
    if (isLast) this.release();
    if (!isLast && now - this.sentAt < DRAG_MS) return;
    if (seconds === this.sought) return;
    this.sentAt = now;
    this.seek(seconds);
  }

  release() {
    this.isDragging = false;
    setTimeout(() => { this.sought = null; }); // so that a click at the same place seeks again
  }

  onKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const now = this.here * this.duration, small = event.shiftKey ? 1 : this.duration / 100;
    const to = { ArrowLeft: now - small, ArrowDown: now - small, ArrowRight: now + small, ArrowUp: now + small,
      PageDown: now - this.duration / 10, PageUp: now + this.duration / 10, Home: 0, End: this.duration };
    if (!Object.hasOwn(to, event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    const seconds = this.clamp(to[event.key]);
    this.here = seconds / this.duration; // so that the next key, before the reply, goes on from here
    this.seek(seconds);
  }

  clamp(seconds) {
    return Math.max(0, Math.min(seconds, this.duration - 0.001)); // the end itself has no frame
  }

  seek(seconds) {
    this.sought = seconds;
    this.onSeek(seconds);
  }
}
