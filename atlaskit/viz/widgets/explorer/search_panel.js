// The search for words in the subtitles: a field, the lines that were found, and their marks on the
// ruler and on cells.
const SEARCH_MS = 200; // after the last key, until the words are searched
const TIME = /^\s*(\d+([:.,]\d+)*\s*([hms]|$)\s*)+$/i; // what is taken for a time, and not for words

class SearchPanel {
  constructor(explorer) {
    this.explorer = explorer;
    this.hits = [];
    this.spans = []; // of all lines that were found, in seconds
    this.at = -1; // the hit that was gone to
    this.words = element("input", { type: "search", placeholder: "words, \"in a row\", or a time such as 1:05",
      "aria-keyshortcuts": "T /" });
    this.count = element("span", { class: "count", role: "status" });
    this.note = element("p", { class: "note" });
    this.list = element("ol", { class: "hits", "aria-label": "lines that were found" });
    this.last = button("previous", { "aria-keyshortcuts": "Shift+N" }, () => this.step(-1));
    this.next = button("next", { "aria-keyshortcuts": "N" }, () => this.step(1));
    this.box = element("details", { class: "panel search", name: PANELS }, element("summary", {}, "Find words or a time (/)"),
      element("div", { class: "fields" }, element("label", { class: "long" }, "Words, or a time", this.words), this.last, this.next, this.count),
      this.note, this.list);
    this.words.addEventListener("input", () => {
      this.words.removeAttribute("aria-invalid");
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.search(), SEARCH_MS);
    });
    this.words.addEventListener("keydown", ({ key, shiftKey }) => {
      if (key !== "Enter") return;
      if (TIME.test(this.words.value)) this.explorer.goToTyped(this.words.value);
      else this.step(shiftKey ? -1 : 1);
    });
    this.box.addEventListener("toggle", () => {
      if (!this.box.open) return;
      if (document.activeElement !== this.words) this.open();
      this.search();
    });
    this.update();
  }

  open() {
    this.box.open = true;
    this.words.focus();
    this.words.select();
  }

  // The time that was typed is not in the video.
  refuse() {
    this.words.setAttribute("aria-invalid", "true");
    this.open();
  }

  search() {
    clearTimeout(this.timer);
    this.explorer.send({ panel: "search", want: "find", words: this.words.value });
  }

  receive(message) {
    if (message.panel !== "search") return false;
    this.found = message;
    this.hits = message.hits;
    this.spans = message.spans;
    this.at = -1;
    this.note.textContent = message.note;
    this.list.replaceChildren(...this.hits.map((hit, index) => element("li", {}, this.hitButton(hit, index))));
    this.hasLane ||= message.lane.length > 0; // a lane that was never needed is not shown
    if (this.hasLane) this.explorer.ruler.setLane("words", message.lane, `lines with the words: ${message.count}`);
    this.markCells();
    this.update();
    return true;
  }

  // A line that was found: its time, and its text with the words marked.
  hitButton({ time, parts }, index) {
    const text = parts.map(([part, isMarked]) => (isMarked ? element("mark", {}, part) : part));
    const made = button("", { "data-hit": index }, (event) => this.goTo(index, event));
    made.append(element("span", { class: "time" }, time), " ", element("bdi", {}, ...text));
    return made;
  }

  step(by) {
    const { length } = this.hits;
    if (length) this.goTo(this.at < 0 && by < 0 ? length - 1 : (this.at + by + length) % length);
  }

  goTo(index, event) {
    this.at = index;
    this.explorer.showTime(this.hits[index].time_s, event);
    this.update();
  }

  update() {
    const { found, hits, at } = this;
    this.last.disabled = this.next.disabled = !hits.length;
    for (const each of this.list.querySelectorAll("button")) {
      if (Number(each.dataset.hit) === at) each.setAttribute("aria-current", "true");
      else each.removeAttribute("aria-current");
    }
    this.list.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
    this.count.textContent = !found || found.note || !found.words.trim() ? "" : this.countText();
  }

  countText() {
    const { count, near } = this.found, length = this.hits.length - near;
    const lines = count ? `${count.toLocaleString("en")} line${count === 1 ? "" : "s"}` : "no line has all these words";
    const listed = length < count ? `; the first ${length} are listed` : "";
    const more = near ? `, and ${near} near in meaning` : "";
    return this.at < 0 || !count ? lines + listed + more : `${this.at + 1} of ${lines}${listed}${more}`;
  }

  onShown() {
    this.markCells();
  }

  // Marks the cells in which a line was found with the number of lines.
  markCells() {
    const { shown } = this.explorer;
    if (!shown?.k) return;
    shown.cells.forEach(({ span_s: [start, end] }, index) => {
      this.markCell(index, this.spans.filter(([from, to]) => from < end && start < to).length);
    });
  }

  markCell(index, count) {
    const cell = this.explorer.cell(index), words = ` · ${count} line${count === 1 ? "" : "s"} with the words`;
    if (!cell) return;
    cell.querySelector(".hit")?.remove();
    cell.setAttribute("aria-label", cell.getAttribute("aria-label").replace(/ · \d+ lines? with the words$/, "") +
      (count ? words : ""));
    if (count) cell.append(element("span", { class: "hit", "aria-hidden": "true" }, `“${count}`));
  }

  close() {
    clearTimeout(this.timer);
  }
}
