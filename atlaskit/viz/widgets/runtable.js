// The page of the run table: rows to sort and filter, and below them the run of the opened row.
const PAGE_ROWS = 50; // shown at once, and added by "show more rows"
const PAUSE_MS = 150; // after the last change of a filter, before the means are requested
const NEWS_MS = 2000; // from one look at a file that is followed to the next
const NO_KERNEL = "The kernel has stopped: run this cell again.";
const WIDTHS = { question: "wide", choices: "wide", truth: "words", answer: "words", failure: "words" };

// Compares numbers by size and text by the alphabet, numbers before text; missing values are last in
// both directions. A number and a text are never compared by their characters: 0.25 < 0.3, yet as
// text it is after it, and the order would have circles.
function compare(one, other, direction) {
  const isMissing = (value) => value === null || value === "", isText = (value) => typeof value === "string";
  if (isMissing(one) || isMissing(other)) return isMissing(one) - isMissing(other);
  if (isText(one) !== isText(other)) return direction * (isText(one) - isText(other));
  return direction * (isText(one) ? inOrder(one, other) : one - other);
}

function valueText(value) {
  if (value === null) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "number" ? value.toLocaleString("en", { maximumFractionDigits: 3 }) : value;
}

class Table {
  constructor(el, model) {
    this.model = model;
    this.rows = []; // values, by column
    this.order = { column: null, direction: 1 };
    this.maxRows = PAGE_ROWS;
    this.opened = []; // the rows whose runs are shown
    this.atHead = this.atRow = null; // the column and the row that Tab leads to; the first ones if they are not shown
    this.showStatic = () => {};
    this.asked = 0; // number of the last request for means
    this.below = element("div", { class: "opened" });
    this.root = element("section", { class: "atlaskit-walk runtable", "aria-label": "rows of an evaluation",
      "data-lm-suppress-shortcuts": "true", hidden: true });
    this.root.addEventListener("keydown", (event) => event.stopPropagation()); // else JupyterLab handles the keys
    this.el = el;
    el.append(this.root, this.below);
    this.endListening = listen(model, (message, buffers) => this.receive(message, buffers), () => {
      this.isLost = true;
      this.report(NO_KERNEL);
    });
    model.send({ want: "rows" });
  }

  close() {
    this.endListening();
    clearTimeout(this.pause);
    clearInterval(this.news);
    this.walker?.close();
    this.showStatic();
  }

  receive(message, buffers) {
    if (message.is === "table") this.take(message);
    if (message.is === "means" && (message.ask === this.asked || !message.ask)) this.report(message.words);
    if (message.is === "csv") saveFile(buffers[0], "text/csv", "rows.csv");
    if (message.is !== "rows" || message.first !== this.rows.length) return;
    this.rows.push(...message.rows);
    for (const { select, column } of this.filters) {
      for (const row of message.rows) offer(select, String(row[column]), valueText(row[column]));
    }
    if (this.rows.length < this.about.count && this.isNews) return; // else the table would shrink and grow
    this.draw();
    this.requestMeans();
  }

  // Takes a table: the first one, or the same one with further rows, whose filters and order stay.
  take(about) {
    const parts = ({ columns, shown, filters }) => JSON.stringify([columns, shown, filters]);
    this.isNews = this.about !== undefined;
    if (about.isOther && this.opened.length) this.open([]);
    this.rows = [];
    if (this.isNews && parts(about) === parts(this.about)) {
      this.about = about;
      this.caption.textContent = about.note;
    } else this.build(about);
  }

  build(about) {
    const isFirst = !this.about, words = this.words?.value ?? "";
    this.root.replaceChildren();
    this.about = about;
    this.order = { column: null, direction: 1 };
    this.makeFilters();
    this.words.value = words;
    this.isAll = element("input", { type: "checkbox" });
    this.isAll.addEventListener("change", () => this.chooseColumns());
    this.head = element("tr");
    this.body = element("tbody");
    this.more = button("show more rows", { class: "more" }, () => {
      this.maxRows += PAGE_ROWS;
      this.draw();
    });
    this.head.addEventListener("keydown", (event) => this.moveAlong(event, this.headButtons(), "ArrowLeft", "ArrowRight"));
    this.head.addEventListener("focusin", (event) => this.onHeadFocus(event));
    this.body.addEventListener("keydown", (event) => this.moveAlong(event, this.rowButtons(), "ArrowUp", "ArrowDown"));
    this.body.addEventListener("focusin", (event) => this.onRowFocus(event));
    this.caption = element("caption", {}, about.note);
    this.scroller = element("div", { class: "rows" }, element("table", {}, this.caption,
      element("thead", {}, this.head), this.body));
    this.root.append(
      element("div", { class: "controls", role: "group", "aria-label": "Filters" },
        element("label", {}, "Search: ", this.words), ...this.filters.map(({ box }) => box), this.count),
      element("div", { class: "controls" }, button("download CSV", {}, () => this.requestCsv()),
        element("label", {}, this.isAll, ` all ${about.columns.length} columns`)),
      this.means, this.scroller, this.more);
    this.root.hidden = false;
    this.chooseColumns();
    if (!isFirst) return;
    this.showStatic = hideStaticPicture(this.el);
    if (about.follows) this.news = setInterval(() => { if (!this.isLost) this.model.send({ want: "news" }); }, NEWS_MS);
  }

  makeFilters() {
    const columnOf = (name) => this.about.columns.indexOf(name);
    const texts = ["question", "choices", "truth", "answer", "id", "prediction", "failure"];
    this.searched = texts.map(columnOf).filter((column) => column >= 0);
    this.filters = this.about.filters.map((name) => {
      const { box, select } = chooser(`${name}:`, [["", "all"]], () => this.redraw());
      return { box, select, column: columnOf(name) };
    });
    this.words = element("input", { type: "search", placeholder: "question, answer, id" });
    this.words.addEventListener("input", () => this.redraw());
    this.count = element("span", { class: "quiet", role: "status" });
    this.means = element("p", { class: "means", "aria-live": "polite" });
  }

  // Shows the columns that matter most, or all of them.
  chooseColumns() {
    const { columns, shown } = this.about;
    this.visible = (this.isAll.checked ? columns : shown).map((name) => columns.indexOf(name));
    if (!this.visible.includes(this.order.column)) this.order = { column: null, direction: 1 };
    this.heads = new Map(this.visible.map((column) => [column,
      element("th", { scope: "col", class: this.classOf(column) },
        button(columns[column], { "data-column": column }, () => this.sort(column)))]));
    this.head.replaceChildren(element("th", { scope: "col", class: "pin0" }, "run"), ...this.heads.values());
    this.draw();
  }

  // The place of a pinned column, and how wide a column of words is.
  classOf(column) {
    const name = this.about.columns[column], place = this.about.pinned.indexOf(name);
    return place >= 0 ? `pin${place + 1}` : Object.hasOwn(WIDTHS, name) ? WIDTHS[name] : null;
  }

  report(words) {
    if (this.means) this.means.textContent = words;
  }

  // Asks the kernel for the means of the selected rows, once all rows are here and filters rest.
  requestMeans() {
    if (this.rows.length < this.about.count) return;
    clearTimeout(this.pause);
    const rows = this.selectRows(), outcome = this.about.columns.indexOf("outcome");
    if (this.filters.some(({ select, column }) => column === outcome && select.value)) {
      this.asked += 1; // a reply under way is for other rows
      const count = `${rows.length.toLocaleString("en")} row${rows.length === 1 ? "" : "s"}`;
      return this.report(this.isLost ? NO_KERNEL : `${count}, chosen by outcome`); // an accuracy would be 0 or 100 %
    }
    if (this.isLost || !this.isNews) this.report(this.isLost ? NO_KERNEL : "accuracy: waiting for the kernel…");
    this.pause = setTimeout(() => {
      this.asked += 1;
      this.model.send({ want: "means", ask: this.asked, rows });
    }, PAUSE_MS);
    return null;
  }

  // Asks the kernel, which has the whole texts, for what is shown: filters, order and columns.
  requestCsv() {
    if (this.isLost) return this.report(NO_KERNEL);
    const columns = this.visible.map((column) => this.about.columns[column]);
    this.model.send({ want: "csv", rows: this.selectRows(), columns });
  }

  // Sorts by a column: first ascending, then descending, then in the original order.
  sort(clicked) {
    const { column, direction } = this.order;
    if (column !== clicked) this.order = { column: clicked, direction: 1 };
    else this.order = direction > 0 ? { column, direction: -1 } : { column: null, direction: 1 };
    this.redraw();
  }

  redraw() {
    this.maxRows = PAGE_ROWS;
    this.atRow = null; // Tab leads to the first row of another order
    this.draw();
    this.requestMeans();
  }

  // The indices of the rows that match the filters, in the chosen order.
  selectRows() {
    const words = this.words.value.trim().toLowerCase().split(/\s+/);
    const matches = (row) => {
      const text = this.searched.map((column) => String(row[column] ?? "").toLowerCase()).join(" ");
      return words.every((word) => text.includes(word)) &&
        this.filters.every(({ select, column }) => !select.value || String(row[column]) === select.value);
    };
    const indices = this.rows.map((_, index) => index).filter((index) => matches(this.rows[index]));
    const { column, direction } = this.order;
    if (column === null) return indices;
    return indices.sort((a, b) => compare(this.rows[a][column], this.rows[b][column], direction));
  }

  draw() {
    const focused = this.body.contains(document.activeElement) ? document.activeElement.dataset : null;
    const indices = this.selectRows(), { column, direction } = this.order;
    this.body.replaceChildren(...indices.slice(0, this.maxRows).map((index) => this.row(index)));
    this.more.hidden = indices.length <= this.maxRows;
    const all = `${this.about.count.toLocaleString("en")} rows`, isAll = indices.length === this.about.count;
    this.count.textContent = isAll ? all : `${indices.length.toLocaleString("en")} of ${all}`;
    this.heads.forEach((head, each) => {
      head.setAttribute("aria-sort", each !== column ? "none" : direction > 0 ? "ascending" : "descending");
    });
    this.markStops();
    if (focused) this.body.querySelector(`[data-row="${focused.row}"][data-as="${focused.as}"]`)?.focus();
  }

  row(index) {
    const isOpen = this.opened.includes(index);
    const make = (label, name, title, onClick) =>
      button(label, { "data-row": index, "data-as": name, "aria-label": title }, onClick);
    const label = isOpen ? "close" : "open";
    const open = make(label, "open", `${label} the run of row ${index}`, () => this.open(isOpen ? [] : [index]));
    const comparison = `compare the run of row ${this.opened[0]} with that of row ${index}`;
    const compare = this.isComparable(index)
      ? make("compare", "compare", comparison, () => this.open([this.opened[0], index])) : null;
    return element("tr", { "aria-current": isOpen ? "true" : null },
      element("th", { scope: "row", class: "pin0" }, element("span", { class: "quiet" }, `${index} `), open, compare),
      ...this.visible.map((column) => this.value(this.rows[index][column], this.classOf(column))));
  }

  // --- the focus: the heads are one stop of Tab, and so are the rows; arrows move in them

  headButtons() {
    return [...this.head.querySelectorAll("button")];
  }

  rowButtons() {
    return [...this.body.querySelectorAll("[data-as=open]")];
  }

  markStops() {
    const mark = (buttons, name, at) => {
      const isHere = (each) => Number(each.dataset[name]) === at;
      const stop = buttons.some(isHere) ? at : Number(buttons[0]?.dataset[name]);
      for (const each of buttons) each.tabIndex = Number(each.dataset[name]) === stop ? 0 : -1;
    };
    mark(this.headButtons(), "column", this.atHead);
    mark([...this.body.querySelectorAll("button")], "row", this.atRow);
  }

  // Moves the focus along a line of buttons.
  moveAlong(event, buttons, less, more) {
    const steps = { [less]: -1, [more]: 1, Home: -buttons.length, End: buttons.length };
    const at = buttons.findIndex((each) => each.parentElement.contains(event.target));
    if (at < 0 || !Object.hasOwn(steps, event.key) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    buttons[Math.max(0, Math.min(at + steps[event.key], buttons.length - 1))].focus();
  }

  onHeadFocus({ target }) {
    this.atHead = Number(target.dataset.column);
    this.markStops();
  }

  // A row that keys lead to is shown from its start: question, truth and answer.
  onRowFocus({ target }) {
    this.atRow = Number(target.dataset.row);
    this.markStops();
    if (target.matches(":focus-visible")) this.scroller.scrollLeft = 0;
  }

  value(value, place) {
    const attributes = {
      class: [place, typeof value === "number" ? "number" : null].filter(Boolean).join(" ") || null,
      title: typeof value === "string" ? value : null,
    };
    return element("td", attributes, element("bdi", {}, valueText(value)));
  }

  // Whether a row has the same question as the opened one.
  isComparable(index) {
    if (!this.opened.length || this.opened.includes(index)) return false;
    const names = ["id", "question", "video"];
    const columns = names.map((name) => this.about.columns.indexOf(name)).filter((column) => column >= 0);
    return columns.every((column) => this.rows[index][column] === this.rows[this.opened[0]][column]);
  }

  open(indices) {
    this.walker?.close();
    this.walker = null;
    const [last] = this.opened;
    this.opened = indices;
    this.draw();
    if (!indices.length) return this.focusRow(last);
    const name = indices.length > 1 ? `Runs ${indices.join(" and ")}` : `Run ${indices[0]}`;
    const title = indices.length > 1 ? `${name} of the table, below as run 1 and run 2` : name;
    this.walker = new Walker(this.below, this.model, indices);
    this.walker.root.prepend(element("div", { class: "title-bar" }, element("h2", {}, title),
      button("close", { "aria-label": `close ${name.toLowerCase()}` }, () => this.open([]))));
    this.walker.root.setAttribute("aria-label", `run of row ${indices.join(", and of row ")}`);
    this.walker.root.focus({ preventScroll: true });
    // It was empty when it was opened, with nothing to scroll to. A reader who went back to the table stays there.
    this.walker.onShown = () => {
      if (!this.root.contains(document.activeElement)) this.below.scrollIntoView({ block: "start" });
    };
    return this.below.scrollIntoView({ block: "start" });
  }

  // Back to the row of a run that was closed; to the search if the filters leave it out.
  focusRow(row) {
    const found = this.rowButtons().find((each) => Number(each.dataset.row) === row);
    (found ?? this.words).focus();
  }
}

export default {
  render({ model, el }) {
    const table = new Table(el, model);
    return () => table.close();
  },
};
