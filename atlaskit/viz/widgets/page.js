// What the pages of all widgets share, beside what makes elements. Each widget's own script follows in the same module.

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
