// The regions that a run explored, in a list that is indented by depth. A click picks a region.
class RegionList {
  constructor(regions, onPick) {
    this.nodes = regions.map((region) => this.makeNode(region, onPick));
    this.byKey = new Map(this.nodes.map((node) => [node.key, node]));
    this.box = element("ul", { "aria-label": "Regions by depth" }, ...this.nodes.map(({ item }) => item));
  }

  makeNode(region, onPick) {
    const visits = element("span", { class: "quiet" }), holds = element("span", { class: "holds" }, region.holds);
    const node = { key: keyOf(region.path), region, visits, steps: [], agents: new Set() };
    node.item = element("li", { style: `--depth:${region.path.length}` },
      button(region.told, { class: "link" }, () => onPick(node)), " ", visits, " ", holds);
    return node;
  }

  // Notes that a step is about its region.
  add(step, index) {
    const node = step.path && this.byKey.get(keyOf(step.path));
    if (!node) return;
    node.steps.push(index);
    node.agents.add(step.who);
  }

  // Shows how many selected steps each region has, and whose; those without any, inside or below, are hidden.
  draw(matches) {
    const alive = new Set([""]);
    for (const { region: { path }, steps, agents, visits } of this.nodes) {
      const count = steps.filter(matches).length, who = [...agents].sort(inOrder).join(", ");
      visits.textContent = count ? `· ${count} step${count === 1 ? "" : "s"} · ${who}` : "";
      if (count) path.forEach((_, depth) => alive.add(keyOf(path.slice(0, depth + 1))));
    }
    for (const { key, item } of this.nodes) item.hidden = !alive.has(key);
  }

  // Marks the region of a step and its ancestors; `path` is null for a step without a region.
  mark(path) {
    const key = path ? keyOf(path) : null;
    for (const { key: each, item } of this.nodes) {
      const isHere = each === key;
      item.firstChild.setAttribute("aria-current", String(isHere));
      item.classList.toggle("way", key !== null && isBelow(key, each));
      if (isHere && !this.box.contains(document.activeElement)) {
        this.box.scrollTop = item.offsetTop - this.box.offsetTop - this.box.clientHeight / 2;
      }
    }
  }

  // The steps of all regions inside one.
  below(node) {
    return this.nodes.filter((other) => isBelow(other.key, node.key)).flatMap((other) => other.steps);
  }
}

function keyOf(path) {
  return path.join("/");
}

function isBelow(key, other) {
  return key !== other && (other === "" || key.startsWith(`${other}/`));
}
