"use strict";
// Makes elements. Whatever was said in a run is put into the page as text, never as markup.

function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// A button that does something.
function button(words, act, attributes = {}) {
  const made = make("button", { type: "button", ...attributes }, words);
  made.addEventListener("click", act);
  return made;
}

// A choice of values: [value, words], the first of which is the one that is chosen at first.
function chooser(words, values, act) {
  const select = make("select", {}, ...values.map(([value, told]) => make("option", { value }, told)));
  select.addEventListener("change", () => act(select.value));
  return { box: make("label", {}, `${words} `, select), select };
}

// Adds what a choice does not have yet.
function offer(select, value, words) {
  if (![...select.options].some((option) => option.value === value)) select.append(make("option", { value }, words));
}

const isTaken = (event) =>
  event.altKey || event.ctrlKey || event.metaKey || event.shiftKey ||
  event.target.closest("input, select, textarea, [role=tree], [role=grid]") !== null;
