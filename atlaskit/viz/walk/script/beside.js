// Two runs of one question side by side: each by itself, or both in lockstep.

function beside(runs, sources) {
  const ways = [["twin", "by round and agent"], ["step", "step by step"], ["", "each by itself"]];
  const way = chooser("together:", ways, () => follow(0));
  const told = element("p", { class: "quiet", role: "status" });
  const further = button("next difference", { class: "differ" }, () => differ());
  const panes = runs.map((run, side) =>
    pane(run, sources[side], { title: run.title, onMove: () => follow(side) }));
  const maps = panes.map(() => ({ names: [], places: new Map(), counts: new Map() }));
  const both = element("div", { class: "both" }, ...panes.map((each) => each.box));
  const box = element("div", { class: "beside" },
    element("div", { class: "controls", role: "group", "aria-label": "Both runs" }, way.box, further, told), both);
  let isFollowing = false, active = 0;
  both.addEventListener("focusin", (event) => {
    active = Math.max(0, panes.findIndex((each) => each.box.contains(event.target)));
  });

  // A step is named by its round, its agent, and how many of that agent came before it in the round.
  function name(side, steps) {
    const { names, places, counts } = maps[side];
    for (const step of steps) {
      const agent = `${step.round}/${step.who}`, number = counts.get(agent) ?? 0;
      counts.set(agent, number + 1);
      places.set(`${agent}/${number}`, names.length);
      names.push([agent, number]);
    }
  }

  // The place in the other run of what is the same step there; the nearest before it, where there is none.
  function twin(side, place) {
    const other = maps[1 - side];
    if (way.select.value === "step") return Math.min(place, other.names.length - 1);
    const [agent, number] = maps[side].names[place];
    for (let near = number; near >= 0; near -= 1) {
      const there = other.places.get(`${agent}/${near}`);
      if (there !== undefined) return there;
    }
    for (let before = place - 1; before >= 0; before -= 1) {
      const there = other.places.get(maps[side].names[before].join("/"));
      if (there !== undefined) return there;
    }
    return 0;
  }

  function follow(side) {
    if (isFollowing || panes.some((each) => !each.steps.length)) return;
    isFollowing = true;
    if (way.select.value) panes[1 - side].show(twin(side, panes[side].now()));
    isFollowing = false;
    tell();
  }

  const parts = {
    "what was seen": (step) => step.saw.map(([, words]) => words),
    "what was done": (step) => [step.who, step.round, step.does],
    "what was said": (step) => step.said.map(([name, words]) => [name, words]),
    memory: (step) => step.memory.map(([name, words]) => [name, words]),
  };
  const apart = (one, other) =>
    Object.keys(parts).filter((part) => JSON.stringify(parts[part](one)) !== JSON.stringify(parts[part](other)));

  function tell() {
    const [one, other] = panes.map((each) => each.steps[each.now()]);
    const which = apart(one, other);
    told.textContent = which.length ? `Here they differ in ${which.join(", ")}.` : "Here both are the same.";
  }

  // Goes to the next step of the first run that is another one in the second.
  function differ() {
    const [one, other] = panes.map((each) => each.steps);
    const isOther = (place) => !maps[1].places.has(maps[0].names[place].join("/")) || apart(one[place], other[twin(0, place)]).length;
    for (let place = panes[0].now() + 1; place < one.length; place += 1) {
      if (isOther(place)) return panes[0].show(place);
    }
    told.textContent = "From here on the first run does nothing that the second does not do.";
  }

  return {
    box, panes,
    add(side, more, isLast) {
      name(side, more);
      panes[side].add(more, isLast);
    },
    key: (event) => panes[active].key(event),
  };
}
