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

// Hides the static picture, in an output of its own above a widget that works; returns a function that shows it again.
function hideStaticPicture(el) {
  const above = el.closest(".jp-OutputArea-child")?.previousElementSibling;
  if (!above?.querySelector(".atlaskit-still")) return () => {};
  above.style.display = "none";
  return () => { above.style.display = ""; };
}
