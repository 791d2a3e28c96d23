// What two runs did in each region: a table below them, from which both go to a region.
const MAX_COMPARED = 200; // rows that are shown
const VISITS = [["", "All regions"], ["both", "In both"],
  ["0", "Only in Run 1"], ["1", "Only in Run 2"]];

// Compares paths by the numbers of their cells, a region before those inside it.
function pathOrder(one, other) {
  for (let depth = 0; depth < Math.min(one.length, other.length); depth += 1) {
    if (one[depth] !== other[depth]) return one[depth] - other[depth];
  }
  return one.length - other.length;
}

class RegionTable {
  constructor(panes, onPick) {
    Object.assign(this, { panes, onPick });
    this.visits = chooser("Regions:", VISITS, () => this.draw());
    this.count = element("span", { class: "quiet", role: "status" });
    this.body = element("tbody");
    const heads = ["Region", "Run 1", "Run 2"].map((name) => element("th", { scope: "col" }, name));
    this.title = element("summary", {}, "What each run did in each region");
    this.told = element("p", { class: "told", hidden: true });
    this.box = element("details", { class: "compared", open: true }, this.title,
      element("div", { class: "controls" }, this.visits.box, this.count),
      element("div", { class: "rows", tabindex: 0, role: "group", "aria-label": "regions of both runs" },
        element("table", {}, element("thead", {}, element("tr", {}, ...heads)), this.body)));
  }

  // The regions of both runs that a step is about, each with its node in either tree.
  rows() {
    const nodes = new Map();
    this.panes.forEach(({ regions }, side) => {
      for (const node of regions.nodes.filter(({ steps }) => steps.length)) {
        const name = nameOfRegion(node.region, this.isSameGrid());
        if (!nodes.has(name)) nodes.set(name, [null, null]);
        nodes.get(name)[side] = node;
      }
    });
    const regionOf = (pair) => (pair[0] ?? pair[1]).region;
    return [...nodes.values()].sort((one, other) => pathOrder(regionOf(one).path, regionOf(other).path));
  }

  isSameGrid() {
    return this.panes[0].run.k === this.panes[1].run.k;
  }

  draw() {
    const wanted = this.visits.select.value;
    const rows = this.rows().filter((pair) => !wanted || wanted === visitsOf(pair));
    this.body.replaceChildren(...rows.slice(0, MAX_COMPARED).map((pair) => this.row(pair)));
    const more = rows.length > MAX_COMPARED ? `; the first ${MAX_COMPARED} are shown` : "";
    this.count.textContent = `${rows.length.toLocaleString("en")} region${rows.length === 1 ? "" : "s"}${more}`;
  }

  // Says above the runs what the table holds, and what each run found and cost.
  sum() {
    const counts = { both: 0, 0: 0, 1: 0 };
    for (const pair of this.rows()) counts[visitsOf(pair)] += 1;
    const link = (visits, text) => {
      const told = `${counts[visits]} region${counts[visits] === 1 ? "" : "s"} ${text}`;
      return counts[visits] ? button(told, { class: "link" }, () => this.open(visits)) : told;
    };
    const evidence = this.panes.map(({ run }) => run.evidence.length);
    const tokens = this.panes.map(({ steps }) => steps.reduce((sum, step) => sum + step.tokens, 0));
    const both = (numbers) => numbers.map((number) => number.toLocaleString("en")).join(" and ");
    this.told.replaceChildren(link("0", "only in Run 1"), ", ", link("1", "only in Run 2"), ", ", link("both", "in both"),
      `. Evidence: ${both(evidence)} frames. Tokens: ${both(tokens)}.`);
    this.told.hidden = false;
  }

  // Shows the table with the regions of one kind of visit.
  open(visits) {
    this.visits.select.value = visits;
    this.draw();
    this.box.open = true;
    this.title.focus();
    this.box.scrollIntoView({ block: "nearest" });
  }

  row(pair) {
    const { region } = pair[0] ?? pair[1];
    const around = region.path.slice(0, -1).filter((cell) => cell >= 0).map((cell) => `, in cell ${cell}`).reverse();
    const name = region.told + around.join("");
    return element("tr", {}, element("th", { scope: "row" }, name), ...pair.map((node, side) => {
      if (!node) return element("td", { class: "quiet" }, "not visited");
      const count = node.steps.length, found = node.region.holds || "nothing found";
      const title = `show ${name} in Run ${side + 1}`;
      const show = button(`${count} step${count === 1 ? "" : "s"}`, { class: "link", "aria-label": title },
        () => this.onPick(side, node.steps[0]));
      return element("td", {}, show, ` · ${found}`);
    }));
  }
}

// Who visited a region, as the chooser names it.
function visitsOf([one, other]) {
  return one && other ? "both" : one ? "0" : "1";
}

// Regions of runs with the same grids are the same by their path, of others by their interval.
function nameOfRegion(region, isSameGrid) {
  return isSameGrid || !region.span ? keyOf(region.path) : region.span.map((time) => time.toFixed(2)).join("–");
}
