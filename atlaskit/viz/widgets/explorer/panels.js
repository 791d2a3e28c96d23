// The panels of the explorer: objects `{ box, receive(message, buffers), onShown(message) }`.
function makePanels(explorer) {
  return [];
}
