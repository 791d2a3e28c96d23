// What the pages of all widgets share. Each widget's own script follows in the same module.
"use strict";

// Make an element. Words become text, never markup; attributes are set as they are.
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

// The static picture that stands above a widget, in an output of its own; null where there is none.
function stillAbove(el) {
  const above = el.closest(".jp-OutputArea-child")?.previousElementSibling;
  return above?.querySelector(".atlaskit-still") ? above : null;
}

// Hide the static picture while the widget is alive; returns what shows it again.
function standIn(el) {
  const still = stillAbove(el);
  if (still) still.style.display = "none";
  return () => {
    if (still) still.style.display = "";
  };
}
