// The ruler of the explorer: the whole video as a slider, with marks, and lanes below it.
const DRAG_MS = 120; // between two requests while the pointer drags
const REST_MS = 60; // for which the pointer rests before the picture there is wanted

function cssPercent(share) {
  return `${(100 * share).toFixed(3)}%`;
}

// A mark on the ruler; `from` and `to` are shares of the video.
function rulerMark([from, to], name) {
  return element("span", { class: name, style: `left:${cssPercent(from)};width:${cssPercent(to - from)}` });
}

class Ruler {
  constructor(onSeek, onRest) {
    Object.assign(this, { onSeek, onRest });
    this.duration = 0;
    this.lanes = new Map(); // by name, in the order in which they came
    this.marks = element("div", { "aria-hidden": "true" });
    // The browser's own slider lies unseen over the marks: it is dragged, and has the keys.
    this.slider = element("input", { type: "range", min: 0, step: "any", "aria-label": "time in the video" });
    this.glance = element("img", { alt: "" });
    this.tipTime = element("time");
    this.tip = element("span", { class: "tip", "aria-hidden": "true", hidden: true }, this.tipTime);
    this.start = element("span", { class: "end" });
    this.end = element("span", { class: "end" });
    this.rows = element("div", { class: "lanes" });
    this.box = element("div", { class: "ruler" }, element("div", { class: "scale" }, this.start,
      element("div", { class: "line" }, this.marks, this.slider, this.tip), this.end), this.rows);
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
  }

  draw({ duration_s: duration, ends, here, words, dead, found }) {
    this.duration = duration;
    [this.start.textContent, this.end.textContent] = ends;
    const labels = found.map(([share, label]) =>
      element("span", { class: "found", style: `left:${cssPercent(share)}` }, label));
    this.slider.max = duration;
    if (!this.isDragging) this.slider.value = this.sought = here[0] * duration;
    this.slider.setAttribute("aria-valuetext", words);
    this.marks.replaceChildren(...dead.map((zone) => rulerMark(zone, "zone")), rulerMark(here, "here"), ...labels);
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

  // Shows the time below the pointer, and once it rests, the picture there.
  point(event) {
    const { left, width } = this.slider.getBoundingClientRect();
    const share = Math.max(0, Math.min(1, (event.clientX - left) / width)), seconds = share * this.duration;
    this.tip.hidden = false;
    this.tipTime.textContent = clockText(seconds);
    this.tip.style.left = cssPercent(share);
    this.tip.style.transform = `translateX(-${cssPercent(share)})`; // so that it stays within the ruler
    clearTimeout(this.restTimer);
    this.restTimer = setTimeout(() => this.onRest(Math.min(seconds, this.duration - 0.001)), REST_MS);
  }

  showGlance(jpeg) {
    URL.revokeObjectURL(this.glance.src);
    this.glance.src = URL.createObjectURL(new Blob([jpeg], { type: "image/jpeg" }));
    this.tip.prepend(this.glance);
  }

  // Goes to the slider's time; while the pointer drags, only now and then.
  seek(isLast) {
    const seconds = Number(this.slider.value), now = performance.now();
    if (seconds === this.sought || (!isLast && now - (this.sentAt ?? 0) < DRAG_MS)) return;
    Object.assign(this, { sought: seconds, sentAt: now });
    this.onSeek(Math.min(seconds, this.duration - 0.001)); // the end itself has no frame
  }
}
