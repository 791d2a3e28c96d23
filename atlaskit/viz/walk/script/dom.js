"use strict";
// Makes elements. Whatever was said in a run is put into the page as text, never as markup.

function element(name, attributes = {}, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...inside.filter((each) => each !== null && each !== undefined));
  return made;
}

function button(words, attributes, pressed) {
  const made = element("button", { type: "button", ...attributes }, words);
  made.addEventListener("click", pressed);
  return made;
}

// A choice of values: [value, words], the first of which is the one that is chosen at first.
function chooser(words, values, act) {
  const select = element("select", {}, ...values.map(([value, told]) => element("option", { value }, told)));
  select.addEventListener("change", () => act(select.value));
  return { box: element("label", {}, `${words} `, select), select };
}

// Adds what a choice does not have yet.
function offer(select, value, words) {
  if (![...select.options].some((option) => option.value === value)) select.append(element("option", { value }, words));
}

const isTaken = (event) =>
  event.altKey || event.ctrlKey || event.metaKey || event.shiftKey ||
  event.target.closest("input, select, textarea, [role=tree], [role=grid]") !== null;
