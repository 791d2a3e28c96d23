// The regions that a run explored, as a tree whose levels are depths. A click or Enter picks a region.
class RegionTree {
  constructor(regions, onPick) {
    this.onPick = onPick;
    this.matches = () => true; // which steps the filters select
    this.box = element("div", { role: "tree", "aria-label": "Regions by depth" });
    this.nodes = regions.map((region) => this.makeNode(region));
    this.byKey = new Map(this.nodes.map((node) => [node.key, node]));
    for (const node of this.nodes) {
      const ancestors = node.region.path.map((_, depth) => this.byKey.get(keyOf(node.region.path.slice(0, depth))));
      node.parents = ancestors.filter(Boolean);
      for (const parent of node.parents) parent.hasChildren = true;
    }
    this.focused = this.nodes[0];
    if (this.focused) this.focused.item.tabIndex = 0;
    this.box.append(...this.nodes.map((node) => node.item));
    this.keys = this.makeKeys();
    this.box.addEventListener("keydown", (event) => this.key(event));
  }

  makeNode(region) {
    const twist = element("span", { class: "twist", "aria-hidden": "true" });
    const visits = element("span", { class: "quiet" });
    const holds = region.holds && element("span", { class: "holds" }, region.holds);
    const item = element("div", { role: "treeitem", tabindex: -1, "aria-level": region.path.length + 1,
      "aria-selected": "false", style: `--depth:${region.path.length}` }, twist, region.told, " ", visits, " ", holds);
    const node = { key: keyOf(region.path), region, item, twist, visits, isOpen: true, steps: [], agents: new Set() };
    item.addEventListener("click", (event) => {
      this.focus(node);
      if (event.target === twist) this.toggle(node, !node.isOpen);
      else this.onPick(node);
    });
    return node;
  }

  // Notes that a step is about its region.
  add(step, index) {
    const node = step.path && this.byKey.get(keyOf(step.path));
    if (!node) return;
    node.steps.push(index);
    node.agents.add(step.round ? `${step.who} in round ${step.round}` : step.who);
  }

  // Shows how many selected steps each region has, and whose; regions without any are hidden.
  draw(matches = this.matches) {
    this.matches = matches;
    const alive = new Set(this.nodes.slice(0, 1));
    for (const node of this.nodes) {
      node.count = node.steps.filter(matches).length;
      if (node.count) [node, ...node.parents].forEach((each) => alive.add(each));
    }
    for (const node of this.nodes) {
      node.item.hidden = !alive.has(node) || node.parents.some((parent) => !parent.isOpen);
      const agents = [...node.agents].sort(inOrder).join(", ");
      const visits = `· ${node.count} step${node.count === 1 ? "" : "s"} · ${agents}`;
      node.visits.textContent = node.count ? visits : "";
      node.twist.textContent = node.hasChildren ? (node.isOpen ? "▾" : "▸") : "·";
      if (node.hasChildren) node.item.setAttribute("aria-expanded", String(node.isOpen));
    }
    if (this.focused && this.focused.item.hidden) this.focus(this.visible()[0], false);
  }

  // Marks the region of a step and its ancestors; `path` is null for a step without a region.
  mark(path) {
    const key = path ? keyOf(path) : null;
    for (const node of this.nodes) {
      const isHere = node.key === key;
      node.item.setAttribute("aria-selected", String(isHere));
      node.item.classList.toggle("way", key !== null && isBelow(key, node.key));
      if (isHere && !this.box.contains(document.activeElement)) {
        this.focus(node, false);
        this.box.scrollTop = node.item.offsetTop - this.box.offsetTop - this.box.clientHeight / 2;
      }
    }
  }

  // The steps of all regions inside one.
  below(node) {
    return this.nodes.filter((other) => isBelow(other.key, node.key)).flatMap((other) => other.steps);
  }

  visible() {
    return this.nodes.filter((node) => !node.item.hidden);
  }

  // Makes a node the one that Tab reaches; `takesFocus` also moves the focus there.
  focus(node, takesFocus = true) {
    this.focused.item.tabIndex = -1;
    this.focused = node;
    node.item.tabIndex = 0;
    if (takesFocus) node.item.focus();
  }

  toggle(node, isOpen) {
    if (!node.hasChildren) return;
    node.isOpen = isOpen;
    this.draw();
  }

  makeKeys() {
    const moveTo = (shown, index) => this.focus(shown[Math.max(0, Math.min(shown.length - 1, index))]);
    return {
      ArrowDown: (shown, at) => moveTo(shown, at + 1),
      ArrowUp: (shown, at) => moveTo(shown, at - 1),
      Home: (shown) => moveTo(shown, 0),
      End: (shown) => moveTo(shown, shown.length - 1),
      ArrowLeft: () => {
        if (this.focused.hasChildren && this.focused.isOpen) this.toggle(this.focused, false);
        else if (this.focused.parents.length) this.focus(this.focused.parents[this.focused.parents.length - 1]);
      },
      ArrowRight: (shown, at) => {
        if (this.focused.hasChildren && !this.focused.isOpen) this.toggle(this.focused, true);
        else if (this.focused.hasChildren) moveTo(shown, at + 1);
      },
      Enter: () => this.onPick(this.focused),
      " ": () => this.onPick(this.focused),
    };
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || !Object.hasOwn(this.keys, event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    const shown = this.visible();
    this.keys[event.key](shown, shown.indexOf(this.focused));
  }
}

function keyOf(path) {
  return path.join("/");
}

function isBelow(key, other) {
  return key !== other && (other === "" || key.startsWith(`${other}/`));
}
