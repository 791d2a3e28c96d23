// Two runs of one question side by side, which move together or each by itself.
const MOVES = [["twin", "by round and agent"], ["step", "step by step"], ["", "independently"]];

// What two steps are compared by.
const COMPARED = {
  "the images": (step) => step.saw.map(([, description]) => description),
  "the action": (step) => [step.who, step.round, step.does],
  "the details": (step) => step.said.map(([name, text]) => [name, text]),
  "the memory": (step) => step.memory.map(([name, text]) => [name, text]),
};

function differences(one, other) {
  const differs = (of) => JSON.stringify(of(one)) !== JSON.stringify(of(other));
  return Object.keys(COMPARED).filter((name) => differs(COMPARED[name]));
}

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

  // The step of the other run with the same name, or the nearest one before it.
  twin(side, step) {
    const other = this.maps[1 - side], { names } = this.maps[side];
    if (this.move.select.value === "step") return Math.min(step, other.names.length - 1);
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

  compare() {
    const [one, other] = this.panes.map((each) => each.steps[each.now()]);
    const found = differences(one, other);
    this.status.textContent = found.length ? `These steps differ in ${found.join(", ")}.` : "These steps are the same.";
  }

  // Shows the next step of the first run that the second does not have, or has otherwise.
  showNextDifference() {
    const [one, other] = this.panes.map((each) => each.steps);
    const isDifferent = (step) => !this.maps[1].steps.has(this.maps[0].names[step].join("/")) ||
      differences(one[step], other[this.twin(0, step)]).length > 0;
    for (let step = this.panes[0].now() + 1; step < one.length; step += 1) {
      if (isDifferent(step)) {
        this.panes[0].show(step);
        return;
      }
    }
    this.status.textContent = "No further step of the first run differs from the second run.";
  }
}

function beside(runs, sources) {
  return new SideBySide(runs, sources);
}
