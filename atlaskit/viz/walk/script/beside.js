// Two runs of one question side by side, which move together or each by itself.

// What two steps are compared by: the part of a step, and its fields as pairs of [name, text]. Runs reach the same
// region in other rounds, with other workers and another memory.
const COMPARED = {
  "the images": ["images", (step) => step.saw.map(([, description]) => ["image", description])],
  "the action": ["action", (step) => [["action", step.what]]],
  "the details": ["said", (step) => step.said],
};

function differences(one, other) {
  return Object.keys(COMPARED).filter((name) => fieldsOf(one, other, COMPARED[name]).length);
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
    this.together = element("input", { type: "checkbox" });
    this.together.checked = true;
    this.together.addEventListener("change", () => this.follow(0));
    this.status = element("p", { class: "quiet", role: "status" });
    const next = button("next difference", { class: "differ" }, () => this.showNextDifference());
    this.panes = runs.map((run, side) =>
      new Pane(run, sources[side], { title: run.title, onMove: () => this.follow(side) }));
    const both = element("div", { class: "both" }, ...this.panes.map((each) => each.box));
    this.box = element("div", { class: "beside" },
      element("div", { class: "controls", role: "group", "aria-label": "Both runs" },
        element("label", {}, this.together, " move together"), next, this.status),
      both);
  }

  key(event) {
    return (this.panes.find(({ box }) => box.contains(event.target)) ?? this.panes[0]).key(event);
  }

  // The node of the other run's tree for the region of a step: the same time, else the least that contains it.
  nodeOfTwin(side, step) {
    const { path } = this.panes[side].steps[step];
    const [own, other] = [side, 1 - side].map((each) => this.panes[each].regions);
    const span = path && own.byKey.get(keyOf(path))?.region.span, length = ([from, to]) => to - from;
    const contains = ({ region, steps }) => span && region.span && steps.length &&
      region.span[0] <= span[0] + ROUNDING_S && region.span[1] >= span[1] - ROUNDING_S;
    const [node] = other.nodes.filter(contains)
      .sort((one, two) => length(one.region.span) - length(two.region.span));
    return node ? { node, isSame: length(node.region.span) - length(span) < 2 * ROUNDING_S } : null;
  }

  // The step of the other run that belongs to a step: about the same region, or of the same kind if it is about none,
  // with the same number among those of Master or workers. `isSame` tells whether it is that, or only the nearest.
  twin(side, step) {
    const { steps, regions } = this.panes[side], { steps: others } = this.panes[1 - side], { path, does } = steps[step];
    const node = this.nodeOfTwin(side, step);
    const ofKind = (all) => all.map((_, index) => index).filter((index) => !all[index].path && all[index].does === does);
    const alike = (all, of) => {
      const same = of.filter((each) => isMaster(all[each]) === isMaster(steps[step]));
      return same.length ? same : of;
    };
    const here = alike(steps, path ? regions.byKey.get(keyOf(path))?.steps ?? [step] : ofKind(steps)).indexOf(step);
    const there = alike(others, path ? node?.node.steps ?? [] : ofKind(others)), last = there.length - 1;
    const isSame = path ? Boolean(node?.isSame) : here <= last;
    return { step: there[isSame || !path ? Math.min(here, last) : 0], isSame };
  }

  // Moves the other run after one has moved; where it has nothing like the step, it stays.
  follow(side) {
    if (this.isFollowing || this.panes.some((each) => !each.steps.length)) return;
    this.isFollowing = true;
    const { step } = this.twin(side, this.panes[side].current);
    if (this.together.checked && step !== undefined) this.panes[1 - side].show(step);
    this.isFollowing = false;
    this.compare();
  }

  compare() {
    const now = this.panes.map((each) => each.current);
    const [one, other] = this.panes.map((each, side) => each.steps[now[side]]);
    if (this.together.checked && !this.twin(0, now[0]).isSame) {
      this.status.textContent = one.path ? "Run 2 did not visit this region: it shows the nearest one around it."
        : "Run 2 has no such step.";
      this.highlight([]);
      return;
    }
    const found = differences(one, other);
    this.status.textContent = found.length ? `These steps differ in ${found.join(", ")}.` : "These steps are the same.";
    this.highlight(found.flatMap((name) => fieldsOf(one, other, COMPARED[name])));
  }

  // Highlights the fields that differ in both runs.
  highlight(fields) {
    for (const each of this.panes) each.view.highlight(fields);
  }

  // Whether Run 2 does not have a step of Run 1, or has it otherwise.
  isDifferent(step) {
    const [one, other] = this.panes.map((each) => each.steps), twin = this.twin(0, step);
    return !twin.isSame || differences(one[step], other[twin.step]).length > 0;
  }

  // Shows the next step of Run 1 that Run 2 does not have, or has otherwise.
  showNextDifference() {
    for (let step = this.panes[0].current + 1; step < this.panes[0].steps.length; step += 1) {
      if (this.isDifferent(step)) {
        this.panes[0].show(step);
        return;
      }
    }
    this.status.textContent = "No further step of Run 1 differs from Run 2, " +
      "whose list of regions has those that only it visited.";
  }
}
