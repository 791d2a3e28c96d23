// The panels of the explorer: objects `{ box, receive(message, buffers), onShown(message), close() }`.
function makePanels(explorer) {
  const search = new SearchPanel(explorer), ask = new AskPanel(explorer), panels = [search, ask];
  const actions = {
    "/": () => search.open(), q: () => ask.open(), Q: () => ask.open(),
    n: () => search.step(1), N: () => search.step(-1),
  };
  const onKey = (event) => {
    const isTyped = event.target.closest("input:not([type=checkbox]), textarea, select") !== null;
    if (explorer.help.isOpen || isTyped || event.altKey || event.ctrlKey || event.metaKey || !Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    actions[event.key]();
  };
  explorer.root.addEventListener("keydown", onKey);
  for (const { box } of panels) {
    box.addEventListener("keydown", (event) => {
      onKey(event);
      event.stopPropagation(); // the keys of the explorer are not for what is typed here
      if (event.key !== "Escape") return;
      event.preventDefault(); // else the field is emptied
      explorer.focusStage();
    });
  }
  return panels;
}
