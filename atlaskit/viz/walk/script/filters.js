// Selects the steps that are shown: by agent, by action, and by what they change in memory.
class Filters {
  constructor(onChange) {
    this.agent = chooser("Agent:", [["", "All agents"]], onChange);
    this.action = chooser("Action:", [["", "All actions"]], onChange);
    this.memory = chooser("Memory:", [["", "All steps"]], onChange);
    this.choosers = [this.agent, this.action, this.memory];
    this.count = element("span", { class: "quiet", role: "status" });
    this.box = element("div", { class: "controls", role: "group", "aria-label": "Filters" },
      ...this.choosers.map(({ box }) => box), this.count);
  }

  // Adds what a new step can be filtered by.
  learn(step) {
    offer(this.agent.select, step.who, step.who);
    offer(this.action.select, step.does, step.verb);
    for (const tag of step.touches) offer(this.memory.select, tag, tag.startsWith("[") ? `about ${tag}` : tag);
  }

  clear() {
    for (const { select } of this.choosers) select.value = "";
  }

  matches(step) {
    const [agent, action, tag] = this.choosers.map(({ select }) => select.value);
    return (!agent || step.who === agent) && (!action || step.does === action) && (!tag || step.touches.includes(tag));
  }

  // Writes how many of all steps are shown.
  report(shown, total, isComplete) {
    const all = `${total.toLocaleString("en")} steps${isComplete ? "" : " so far"}`;
    this.count.textContent = shown === total ? all : `${shown.toLocaleString("en")} of ${all}`;
  }
}
