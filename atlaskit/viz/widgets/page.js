// What all widgets share, beside the functions that make elements (`dom.js`). The script of each
// widget follows in the same module.

// The static picture above a widget, in an output of its own; null if there is none.
function staticPictureAbove(el) {
  const above = el.closest(".jp-OutputArea-child")?.previousElementSibling;
  return above?.querySelector(".atlaskit-still") ? above : null;
}

// Hides the static picture while the widget works; returns a function that shows it again.
function hideStaticPicture(el) {
  const picture = staticPictureAbove(el);
  if (picture) picture.style.display = "none";
  return () => {
    if (picture) picture.style.display = "";
  };
}
