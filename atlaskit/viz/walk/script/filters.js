// Compares names with numbers by their numbers: round 10 after 9. Labels count [Z], [AA] by their length.
function inOrder(one, other) {
  const lengths = one.startsWith("[") && other.startsWith("[") ? one.length - other.length : 0;
  return lengths || one.localeCompare(other, "en", { numeric: true });
}

// Offers an option unless the select has it, and keeps all but the first, which selects all, in order.
function offerInOrder(select, value, label) {
  const [, ...others] = select.options;
  if (others.some((option) => option.value === value)) return;
  const next = others.find((each) => inOrder(label, each.label) < 0);
  select.insertBefore(element("option", { value }, label), next ?? null);
}

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
    offerInOrder(this.agent.select, step.who, step.who);
    offerInOrder(this.action.select, step.does, step.verb);
    for (const tag of step.touches) offerInOrder(this.memory.select, tag, tag.startsWith("[") ? `about ${tag}` : tag);
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

  reportNone() {
    this.count.textContent = "No step matches the filters.";
  }
}
