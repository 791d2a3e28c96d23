const MOST_BYTES = 700_000; // of a file that is opened: the kernel takes no longer message
// What the notes are exported for, and what the names of the files end in.
const EXPORTS = { CSV: ".csv", JSON: ".json", WebVTT: ".vtt", EDL: ".edl", OpenTimelineIO: ".otio", LosslessCut: ".llc",
  ELAN: ".eaf", BORIS: ".boris", "Label Studio": ".label-studio.json" };

// Seconds as a clock shows them, to a thousandth.
function exactText(seconds) {
  const thousandths = Math.round(seconds * 1000);
  return clockText(thousandths / 1000).replace(/\d$/, String(thousandths % 1000).padStart(3, "0"));
}

// What a person notes about parts of the video: fields for the next note, a list, and its export.
class NotesPanel {
  constructor(explorer) {
    this.explorer = explorer;
    this.fields = Object.fromEntries(["from", "to", "tag", "text"].map((name) =>
      [name, element("input", { type: "text", autocomplete: "off", spellcheck: String(name === "text") })]));
    const { from, to, tag, text } = this.fields;
    const form = element("form", { class: "fields" }, element("label", {}, "from ", from), element("label", {}, "to ", to),
      element("label", {}, "tag ", tag), element("label", { class: "grow" }, "note ", text),
      element("button", { class: "go" }, "save note"));
    this.problem = element("p", { class: "problem", role: "alert" });
    this.count = element("p", { class: "note", role: "status" });
    this.list = element("ul", { "aria-label": "notes" });
    const exporter = chooser("export for", Object.entries(EXPORTS).map(([label, ending]) => [ending, label]), () => {});
    this.exports = element("div", { class: "fields" }, exporter.box,
      button("export", {}, () => this.send({ want: "export", form: exporter.select.value })));
    this.file = element("input", { type: "file", accept: Object.values(EXPORTS).concat(".tsv").join() });
    this.file.addEventListener("change", () => this.openFile(this.file.files[0]));
    const opening = element("div", { class: "fields" }, element("label", {}, "open notes from a file ", this.file));
    this.box = element("details", { class: "panel notes", name: PANELS }, element("summary", {}, "Notes (W)"),
      form, this.problem, this.count, this.exports, this.list, opening);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.isAdding = true;
      this.send({ want: "add", ...Object.fromEntries(Object.entries(this.fields).map(([name, { value }]) => [name, value])) });
      this.explorer.setCut(null);
      text.focus();
    });
    this.box.addEventListener("toggle", () => { if (this.box.open && !this.isFilled) this.open(); });
    this.rows = new Map(); // by the note as JSON
    this.receive({ panel: "notes", is: "all", notes: [], lane: [], count: 0 });
    this.send({ want: "here" });
  }

  send(message) {
    this.explorer.send({ panel: "notes", ...message });
  }

  // A note about exactly what is meant: see the explorer's span.
  open() {
    if (!this.explorer.shown) return;
    this.fill(this.explorer.span);
    this.box.open = true;
    this.fields.text.focus();
  }

  fill(span) {
    this.isFilled = true;
    [this.fields.from.value, this.fields.to.value] = span.map(exactText);
  }

  // Adds what a file holds to the notes: an export, or what was coded in another program.
  async openFile(file) {
    if (!file) return;
    if (file.size > MOST_BYTES) {
      this.problem.textContent = "The file is too large for a page: in Python, explorer.open_notes(path) opens it.";
      return;
    }
    const bytes = new Uint8Array(await file.arrayBuffer());
    this.send({ want: "open", name: file.name, data: btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")) });
    this.file.value = "";
  }

  onShown() {
    if (this.box.open && !this.fields.tag.value && !this.fields.text.value) this.fill(this.explorer.span);
  }

  receive(message) {
    if (message.panel !== "notes") return false;
    if (message.is === "problem") {
      this.problem.textContent = message.words;
      return true;
    }
    const { count, lane } = message;
    if (this.isAdding) this.fields.tag.value = this.fields.text.value = "";
    this.isAdding = false;
    this.count.textContent = count ? `${count.toLocaleString("en")} note${count === 1 ? "" : "s"}` : "No notes yet.";
    this.exports.hidden = !count;
    this.change(message);
    this.hasLane ||= lane.length > 0; // a lane that was never needed is not shown
    if (this.hasLane) this.explorer.ruler.setLane("notes", lane, this.count.textContent);
    return true;
  }

  // Keeps the rows in order of time: all of them, or what has changed.
  change({ is, notes = [], added = [], removed = [] }) {
    if (is === "all") {
      this.rows = new Map(notes.map((note) => [JSON.stringify(note), this.row(note)]));
      this.list.replaceChildren(...this.rows.values());
    }
    for (const note of removed) {
      this.rows.get(JSON.stringify(note))?.remove();
      this.rows.delete(JSON.stringify(note));
    }
    for (const note of added) {
      const row = this.row(note);
      this.rows.set(JSON.stringify(note), row);
      this.list.insertBefore(row, [...this.list.children].find((each) => Number(each.dataset.from) > note[0]) ?? null);
    }
  }

  row(note) {
    const [start, end, tag, text] = note;
    const times = [start, end].map(end - start < 1 ? exactText : clockText).join("–");
    const act = (label, words, onClick) => button(label, { "aria-label": `${words} ${times} ${tag}`, title: words }, onClick);
    const clip = (form, words) => this.explorer.order({ want: "clip", form, span_s: [start, end] }, words);
    return element("li", { "data-from": start }, button(times, {}, (event) => this.explorer.showTime(start, event)), " ",
      element("b", {}, tag), " ", element("bdi", {}, text), " ", act("▶", "play", () => clip("webm", "Making a clip…")),
      " ", act("clip", "save clip", () => clip("mp4", "Making a film…")), " ",
      act("×", "remove", () => this.send({ want: "remove", note })));
  }

  close() {}
}
