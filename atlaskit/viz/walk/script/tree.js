// The regions that a run looked into, as a tree: each level is a depth of the grid stack. A click, or Enter, picks one.

function tree(regions, pick) {
  const name = (path) => path.join("/");
  const box = element("div", { role: "tree", "aria-label": "Regions by depth" });
  const isUnder = (key, other) => key !== other && (other === "" || key.startsWith(`${other}/`));
  const nodes = regions.map((region) => {
    const key = name(region.path);
    const twist = element("span", { class: "twist", "aria-hidden": "true" });
    const visits = element("span", { class: "quiet" });
    const holds = region.holds && element("span", { class: "holds" }, region.holds);
    const item = element("div", { role: "treeitem", tabindex: -1, "aria-level": region.path.length + 1,
      "aria-selected": "false", style: `--depth:${region.path.length}` }, twist, region.told, " ", visits, " ", holds);
    const node = { key, region, item, twist, visits, open: true, places: [], who: new Set() };
    item.addEventListener("click", (event) => {
      focus(node);
      if (event.target === twist) toggle(node, !node.open);
      else pick(node);
    });
    return node;
  });
  const byKey = new Map(nodes.map((node) => [node.key, node]));
  for (const node of nodes) {
    node.parents = node.region.path.map((_, depth) => byKey.get(name(node.region.path.slice(0, depth)))).filter(Boolean);
    for (const parent of node.parents) parent.hasChildren = true;
  }
  let focused = nodes[0], isMeant = () => true;
  if (focused) focused.item.tabIndex = 0;
  box.append(...nodes.map((node) => node.item));

  const visible = () => nodes.filter((node) => !node.item.hidden);

  function focus(node, isMoved = true) {
    focused.item.tabIndex = -1;
    focused = node;
    node.item.tabIndex = 0;
    if (isMoved) node.item.focus();
  }

  function toggle(node, open) {
    if (!node.hasChildren) return;
    node.open = open;
    draw();
  }

  // Tells of each region how often it was seen, and by whom; one where nothing of that is to be seen is left out.
  function draw(meant = isMeant) {
    isMeant = meant;
    const alive = new Set(nodes.slice(0, 1));
    for (const node of nodes) {
      node.seen = node.places.filter(isMeant).length;
      if (node.seen) [node, ...node.parents].forEach((each) => alive.add(each));
    }
    for (const node of nodes) {
      node.item.hidden = !alive.has(node) || node.parents.some((parent) => !parent.open);
      const times = `· ${node.seen} step${node.seen === 1 ? "" : "s"} · ${[...node.who].sort().join(", ")}`;
      node.visits.textContent = node.seen ? times : "";
      node.twist.textContent = node.hasChildren ? (node.open ? "▾" : "▸") : "·";
      if (node.hasChildren) node.item.setAttribute("aria-expanded", String(node.open));
    }
    if (focused && focused.item.hidden) focus(visible()[0], false);
  }

  function add(step, place) {
    const node = step.path && byKey.get(name(step.path));
    if (!node) return;
    node.places.push(place);
    node.who.add(step.round ? `${step.who} of round ${step.round}` : step.who);
  }

  // Marks where a step is, and the way there.
  function mark(path) {
    const key = path ? name(path) : null;
    for (const node of nodes) {
      const isHere = node.key === key;
      node.item.setAttribute("aria-selected", String(isHere));
      node.item.classList.toggle("way", key !== null && isUnder(key, node.key));
      if (isHere && !box.contains(document.activeElement)) {
        focus(node, false);
        box.scrollTop = node.item.offsetTop - box.offsetTop - box.clientHeight / 2;
      }
    }
  }

  const keys = {
    ArrowDown: (shown, at) => focus(shown[Math.min(shown.length - 1, at + 1)]),
    ArrowUp: (shown, at) => focus(shown[Math.max(0, at - 1)]),
    Home: (shown) => focus(shown[0]),
    End: (shown) => focus(shown[shown.length - 1]),
    ArrowLeft: () => (focused.hasChildren && focused.open ? toggle(focused, false)
      : focused.parents.length && focus(focused.parents[focused.parents.length - 1])),
    ArrowRight: (shown, at) => (focused.hasChildren && !focused.open ? toggle(focused, true)
      : focused.hasChildren && focus(shown[Math.min(shown.length - 1, at + 1)])),
    Enter: () => pick(focused),
    " ": () => pick(focused),
  };
  box.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    const shown = visible();
    keys[event.key](shown, shown.indexOf(focused));
  });
  const below = (node) => nodes.filter((other) => isUnder(other.key, node.key)).flatMap((other) => other.places);
  return { box, add, draw, mark, below };
}
