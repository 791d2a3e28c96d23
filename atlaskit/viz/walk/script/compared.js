// What two runs did in each region: a table below them, from which both go to a region.
const MAX_COMPARED = 200; // rows that are shown
const VISITS = [["", "All regions"], ["both", "Visited by both"],
  ["0", "Only by the first"], ["1", "Only by the second"]];

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
    const heads = ["Region", "First run", "Second run"].map((name) => element("th", { scope: "col" }, name));
    this.box = element("details", { class: "compared", open: true },
      element("summary", {}, "What each run did in each region"),
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
    const rows = this.rows().filter(([one, other]) =>
      !wanted || wanted === (one && other ? "both" : one ? "0" : "1"));
    this.body.replaceChildren(...rows.slice(0, MAX_COMPARED).map((pair) => this.row(pair)));
    const more = rows.length > MAX_COMPARED ? `; the first ${MAX_COMPARED} are shown` : "";
    this.count.textContent = `${rows.length.toLocaleString("en")} region${rows.length === 1 ? "" : "s"}${more}`;
  }

  row(pair) {
    const { region } = pair[0] ?? pair[1];
    const around = region.path.slice(0, -1).filter((cell) => cell >= 0).map((cell) => `, in cell ${cell}`).reverse();
    const name = region.told + around.join("");
    return element("tr", {}, element("th", { scope: "row" }, name), ...pair.map((node, side) => {
      if (!node) return element("td", { class: "quiet" }, "not visited");
      const count = node.steps.length, found = node.region.holds || "nothing found";
      const title = `show ${name} in the ${side ? "second" : "first"} run`;
      const show = button(`${count} step${count === 1 ? "" : "s"}`, { class: "link", "aria-label": title },
        () => this.onPick(side, node.steps[0]));
      return element("td", {}, show, ` · ${found}`);
    }));
  }
}

// Regions of runs with the same grids are the same by their path, of others by their interval.
function nameOfRegion(region, isSameGrid) {
  return isSameGrid || !region.span ? keyOf(region.path) : region.span.map((time) => time.toFixed(2)).join("–");
}
