// The table's page: rows to sort and filter, and below them the run of the row that is opened.
const PAGE_ROWS = 50; // shown at once; more come when they are asked for

// Smaller before larger, words by the alphabet; what is not there comes last, whichever way it goes.
function compare(one, other, way) {
  const isGone = (value) => value === null || value === "";
  if (isGone(one) || isGone(other)) return isGone(one) - isGone(other);
  const order = typeof one === "string" || typeof other === "string"
    ? String(one).localeCompare(String(other), "en", { numeric: true }) : one - other;
  return way * order;
}

function cellTold(value) {
  if (value === null) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "number" ? value.toLocaleString("en", { maximumFractionDigits: 3 }) : value;
}

class Table {
  constructor(el, model) {
    this.model = model;
    this.rows = []; // values, by column
    this.sorted = { column: null, way: 1 };
    this.most = PAGE_ROWS;
    this.opened = []; // the rows whose runs are shown
    this.wake = () => {};
    this.below = element("div", { class: "opened" });
    this.root = element("section", { class: "atlaskit-walk runtable", "aria-label": "rows of an evaluation",
      "data-lm-suppress-shortcuts": "true", hidden: true });
    this.root.addEventListener("keydown", (event) => event.stopPropagation()); // they are none of JupyterLab's
    this.el = el;
    el.append(this.root, this.below);
    this.heard = (message) => this.hear(message);
    model.on("msg:custom", this.heard);
    model.send({ want: "rows" });
  }

  close() {
    this.model.off("msg:custom", this.heard);
    this.walker?.close();
    this.wake();
  }

  hear(message) {
    if (message.is === "table" && !this.told) this.build(message);
    if (message.is !== "rows" || message.first !== this.rows.length) return;
    this.rows.push(...message.rows);
    for (const { select, place } of this.filters) {
      for (const row of message.rows) offer(select, String(row[place]), cellTold(row[place]));
    }
    this.draw();
  }

  build(told) {
    this.told = told;
    const at = (name) => told.columns.indexOf(name);
    this.searched = ["question", "id", "prediction", "failure"].map(at).filter((place) => place >= 0);
    this.filters = told.filters.map((name) => {
      const { box, select } = chooser(name, [["", "any"]], () => this.redraw());
      return { box, select, place: at(name) };
    });
    this.words = element("input", { type: "search", placeholder: "words of the question" });
    this.words.addEventListener("input", () => this.redraw());
    this.count = element("span", { class: "quiet", role: "status" });
    this.heads = told.columns.map((name, place) => element("th", { scope: "col", "aria-sort": "none" },
      button(name, {}, () => this.sort(place))));
    this.body = element("tbody");
    this.more = button("more rows", { class: "more" }, () => {
      this.most += PAGE_ROWS;
      this.draw();
    });
    this.root.append(
      element("div", { class: "controls", role: "group", "aria-label": "Filters" },
        element("label", {}, "find ", this.words), ...this.filters.map(({ box }) => box), this.count),
      element("div", { class: "rows" }, element("table", {}, element("caption", {}, told.note),
        element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "run"), ...this.heads)), this.body)),
      this.more);
    this.root.hidden = false;
    this.wake = standIn(this.el);
  }

  sort(place) {
    const { column, way } = this.sorted;
    if (column !== place) this.sorted = { column: place, way: 1 };
    else this.sorted = way > 0 ? { column, way: -1 } : { column: null, way: 1 };
    this.redraw();
  }

  redraw() {
    this.most = PAGE_ROWS;
    this.draw();
  }

  // The numbers of the rows that are chosen, in their order.
  chosen() {
    const wanted = this.words.value.trim().toLowerCase().split(/\s+/);
    const isMeant = (row) => {
      const said = this.searched.map((place) => String(row[place] ?? "").toLowerCase()).join(" ");
      return wanted.every((word) => said.includes(word)) &&
        this.filters.every(({ select, place }) => !select.value || String(row[place]) === select.value);
    };
    const numbers = this.rows.map((_, number) => number).filter((number) => isMeant(this.rows[number]));
    const { column, way } = this.sorted;
    if (column === null) return numbers;
    return numbers.sort((a, b) => compare(this.rows[a][column], this.rows[b][column], way));
  }

  draw() {
    const held = this.body.contains(document.activeElement) ? document.activeElement.dataset : null;
    const numbers = this.chosen(), { column, way } = this.sorted;
    this.body.replaceChildren(...numbers.slice(0, this.most).map((number) => this.row(number)));
    this.more.hidden = numbers.length <= this.most;
    const all = `${this.told.count.toLocaleString("en")} rows`;
    this.count.textContent = numbers.length === this.told.count ? all : `${numbers.length.toLocaleString("en")} of ${all}`;
    this.heads.forEach((head, place) => {
      head.setAttribute("aria-sort", place !== column ? "none" : way > 0 ? "ascending" : "descending");
    });
    if (held) this.body.querySelector(`[data-row="${held.row}"][data-as="${held.as}"]`)?.focus();
  }

  row(number) {
    const isOpen = this.opened.includes(number);
    const open = button(isOpen ? "close" : "open", { "data-row": number, "data-as": "open", "aria-label":
      `${isOpen ? "close" : "open"} the run of row ${number}` }, () => this.open(isOpen ? [] : [number]));
    const beside = this.isTwin(number) && button("beside", { "data-row": number, "data-as": "beside", "aria-label":
      `open the run of row ${number} beside that of row ${this.opened[0]}` }, () => this.open([this.opened[0], number]));
    const values = this.rows[number].map((value) =>
      element("td", { class: typeof value === "number" ? "number" : null, title: typeof value === "string" ? value : null },
        element("bdi", {}, cellTold(value))));
    return element("tr", { "aria-current": isOpen ? "true" : null }, element("th", { scope: "row" }, open, beside || null),
      ...values);
  }

  // Whether a row is of the same question as the one that is open.
  isTwin(number) {
    if (!this.opened.length || this.opened.includes(number)) return false;
    const same = ["id", "question", "video"].map((name) => this.told.columns.indexOf(name)).filter((place) => place >= 0);
    return same.every((place) => this.rows[number][place] === this.rows[this.opened[0]][place]);
  }

  open(numbers) {
    this.walker?.close();
    this.walker = null;
    this.opened = numbers;
    this.draw();
    if (!numbers.length) return;
    this.walker = new Walker(this.below, this.model, numbers);
    this.walker.root.setAttribute("aria-label", `run of row ${numbers.join(", and of row ")}`);
    this.walker.root.focus();
  }
}

export default {
  render({ model, el }) {
    const table = new Table(el, model);
    return () => table.close();
  },
};
