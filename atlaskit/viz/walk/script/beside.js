// Two runs of one question side by side, which move together or each by itself.
const MOVES = [["region", "by region"], ["twin", "by round and agent"], ["", "independently"]];

// What two steps are compared by: the part of a step, and its fields as pairs of [name, text].
const COMPARED = {
  "the images": ["images", (step) => step.saw.map(([, description]) => ["image", description])],
  "the action": ["action", (step) => [["agent", step.who], ["round", step.round], ["action", step.does]]],
  "the details": ["said", (step) => step.said],
  "the memory": ["memory", (step) => step.memory],
};

// The same for steps about one region, which runs reach in other rounds, with other workers and memory.
const COMPARED_IN_REGION = {
  "the images": COMPARED["the images"],
  "the action": ["action", (step) => [["action", step.what]]],
  "the details": COMPARED["the details"],
};

function differences(one, other, compared) {
  return Object.keys(compared).filter((name) => fieldsOf(one, other, compared[name]).length);
}

// The fields of one part in which two steps differ, as pairs of [part, name].
function fieldsOf(one, other, [part, fields]) {
  const textOf = (step, wanted) =>
    fields(step).filter(([name]) => name === wanted).map(([, text]) => text).join("; ") || "none";
  const names = [...new Set([one, other].flatMap((step) => fields(step).map(([name]) => name)))];
  return names.filter((name) => textOf(one, name) !== textOf(other, name)).map((name) => [part, name]);
}

const isMaster = (step) => !step.who.startsWith("Worker ");

class SideBySide {
  constructor(runs, sources) {
    this.isFollowing = false;
    this.active = 0; // the pane that has the focus
    this.move = chooser("Move together:", MOVES, () => this.follow(0));
    this.status = element("p", { class: "quiet", role: "status" });
    const next = button("next difference", { class: "differ" }, () => this.showNextDifference());
    this.panes = runs.map((run, side) =>
      pane(run, sources[side], { title: run.title, onMove: () => this.follow(side) }));
    this.maps = this.panes.map(() => ({ names: [], steps: new Map(), counts: new Map() }));
    const both = element("div", { class: "both" }, ...this.panes.map((each) => each.box));
    both.addEventListener("focusin", (event) => {
      this.active = Math.max(0, this.panes.findIndex((each) => each.box.contains(event.target)));
    });
    this.box = element("div", { class: "beside" },
      element("div", { class: "controls", role: "group", "aria-label": "Both runs" }, this.move.box, next, this.status),
      both);
  }

  add(side, more, isLast) {
    this.nameSteps(side, more);
    this.panes[side].add(more, isLast);
  }

  key(event) {
    return this.panes[this.active].key(event);
  }

  // Names each step by its round, its agent, and its number among those of the agent in the round.
  nameSteps(side, steps) {
    const map = this.maps[side];
    for (const step of steps) {
      const agent = `${step.round}/${step.who}`, number = map.counts.get(agent) ?? 0;
      map.counts.set(agent, number + 1);
      map.steps.set(`${agent}/${number}`, map.names.length);
      map.names.push([agent, number]);
    }
  }

  // The node of the other run's tree for the region of a step: the same region, else the nearest that contains it.
  nodeOfTwin(side, step) {
    const { path } = this.panes[side].steps[step];
    const [own, other] = [side, 1 - side].map((each) => this.panes[each].regions);
    if (!path) return null;
    const visited = (node) => node && node.steps.length > 0;
    if (this.panes[0].run.k === this.panes[1].run.k) {
      for (let depth = path.length; depth >= 0; depth -= 1) {
        const node = other.byKey.get(keyOf(path.slice(0, depth)));
        if (visited(node)) return { node, isSame: depth === path.length };
      }
      return null;
    }
    const span = own.byKey.get(keyOf(path))?.region.span, length = ([from, to]) => to - from;
    const contains = ({ region }) => span && region.span && region.span[0] <= span[0] + ROUNDING_S &&
      region.span[1] >= span[1] - ROUNDING_S;
    const [node] = other.nodes.filter((each) => visited(each) && contains(each))
      .sort((one, two) => length(one.region.span) - length(two.region.span));
    return node ? { node, isSame: length(node.region.span) - length(span) < 2 * ROUNDING_S } : null;
  }

  // The step of the other run about the same region, with the same number among those there of Master or workers.
  twinInRegion(side, step) {
    const twin = this.nodeOfTwin(side, step), { steps, regions } = this.panes[side];
    if (!twin) return null;
    const alike = (all, of) => {
      const same = of.filter((each) => isMaster(all[each]) === isMaster(steps[step]));
      return same.length ? same : of;
    };
    const there = alike(this.panes[1 - side].steps, twin.node.steps);
    const here = alike(steps, regions.byKey.get(keyOf(steps[step].path))?.steps ?? [step]);
    return { step: there[twin.isSame ? Math.min(here.indexOf(step), there.length - 1) : 0], isSame: twin.isSame };
  }

  // The step of the other run that belongs to a step.
  twin(side, step) {
    const inRegion = this.move.select.value === "region" ? this.twinInRegion(side, step) : null;
    return inRegion ? inRegion.step : this.twinByName(side, step);
  }

  // The step of the other run with the same name, or the nearest one before it.
  twinByName(side, step) {
    const other = this.maps[1 - side], { names } = this.maps[side];
    const [agent, number] = names[step];
    for (let near = number; near >= 0; near -= 1) {
      const found = other.steps.get(`${agent}/${near}`);
      if (found !== undefined) return found;
    }
    for (let before = step - 1; before >= 0; before -= 1) {
      const found = other.steps.get(names[before].join("/"));
      if (found !== undefined) return found;
    }
    return 0;
  }

  // Moves the other run after one has moved.
  follow(side) {
    if (this.isFollowing || this.panes.some((each) => !each.steps.length)) return;
    this.isFollowing = true;
    if (this.move.select.value) this.panes[1 - side].show(this.twin(side, this.panes[side].now()));
    this.isFollowing = false;
    this.compare();
  }

  get isByRegion() {
    return this.move.select.value === "region";
  }

  compare() {
    const now = this.panes.map((each) => each.now());
    const [one, other] = this.panes.map((each, side) => each.steps[now[side]]);
    if (this.isByRegion && one.path && !this.twinInRegion(0, now[0])?.isSame) {
      this.status.textContent = "Run 2 did not visit this region: it shows the nearest one around it.";
      this.highlight([]);
      return;
    }
    const compared = this.compared(one), found = differences(one, other, compared);
    this.status.textContent = found.length ? `These steps differ in ${found.join(", ")}.` : "These steps are the same.";
    this.highlight(found.flatMap((name) => fieldsOf(one, other, compared[name])));
  }

  // Highlights the fields that differ in both runs.
  highlight(fields) {
    for (const each of this.panes) each.view.highlight(fields);
  }

  compared(step) {
    return this.isByRegion && step.path ? COMPARED_IN_REGION : COMPARED;
  }

  // Whether Run 2 does not have a step of Run 1, or has it otherwise.
  isDifferent(step) {
    const [one, other] = this.panes.map((each) => each.steps);
    const exists = this.isByRegion && one[step].path ? this.twinInRegion(0, step)?.isSame
      : this.maps[1].steps.has(this.maps[0].names[step].join("/"));
    return !exists || differences(one[step], other[this.twin(0, step)], this.compared(one[step])).length > 0;
  }

  // Shows the next step of Run 1 that Run 2 does not have, or has otherwise.
  showNextDifference() {
    for (let step = this.panes[0].now() + 1; step < this.panes[0].steps.length; step += 1) {
      if (this.isDifferent(step)) {
        this.panes[0].show(step);
        return;
      }
    }
    this.status.textContent = "No further step of Run 1 differs from Run 2, " +
      "whose list of regions has those that only it visited.";
  }
}

function beside(runs, sources) {
  return new SideBySide(runs, sources);
}
