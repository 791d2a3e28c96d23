"use strict";
// Makes elements. Text of a run is inserted as text, never as markup.

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "style") made.style.cssText = value; // an attribute is inline style, which a page may forbid
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function button(label, attributes, onClick) {
  const made = element("button", { type: "button", ...attributes }, label);
  made.addEventListener("click", onClick);
  return made;
}

// A labelled select; `options` are pairs of [value, label], and the first is selected.
function chooser(label, options, onChange) {
  const select = element("select", {}, ...options.map(([value, text]) => element("option", { value }, text)));
  select.addEventListener("change", () => onChange(select.value));
  return { box: element("label", {}, `${label} `, select), select };
}

// Compares names with numbers by their numbers: round 10 after 9. Labels count [Z], [AA] by their length.
function inOrder(one, other) {
  const lengths = one.startsWith("[") && other.startsWith("[") ? one.length - other.length : 0;
  return lengths || one.localeCompare(other, "en", { numeric: true });
}

// Adds an option unless the select has it, and keeps all but the first, which selects all, in order.
function offer(select, value, label) {
  const [, ...others] = select.options;
  if (others.some((option) => option.value === value)) return;
  const next = others.find((each) => inOrder(label, each.label) < 0);
  select.insertBefore(element("option", { value }, label), next ?? null);
}

// Seconds as a clock shows them, cut to a tenth: 1:26.3 or 1:02:03.5.
function clockText(seconds) {
  const tenths = Math.floor(seconds * 10 + 1e-6);
  const [hours, minutes] = [Math.floor(tenths / 36000), Math.floor(tenths / 600) % 60];
  const rest = `${String(Math.floor(tenths / 10) % 60).padStart(2, "0")}.${tenths % 10}`;
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}

// Whether a key event belongs to another control, or is a shortcut of the browser.
const isTaken = (event) =>
  event.altKey || event.ctrlKey || event.metaKey || event.shiftKey ||
  event.target.closest("input, select, textarea, [role=grid]") !== null;
