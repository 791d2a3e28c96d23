// What all widgets share, beside the functions that make elements (`dom.js`). The script of each
// widget follows in the same module.

// Listens to the kernel until the function that it returns is called.
function listen(model, onMessage, onLost = () => {}) {
  const handlers = { "msg:custom": onMessage, comm_live_update: onLost };
  for (const [name, handler] of Object.entries(handlers)) model.on(name, handler);
  return () => {
    for (const [name, handler] of Object.entries(handlers)) model.off(name, handler);
  };
}

// Saves bytes as a file of the user's.
function saveFile(bytes, type, name) {
  const address = URL.createObjectURL(new Blob([bytes], { type }));
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000); // the browser reads it after the click
}

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
