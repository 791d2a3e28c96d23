// A page of one run, which carries all of its pictures, and says above what came of it.

(() => {
  const { run, steps, pictures } = JSON.parse(document.getElementById("run").textContent);
  if (!steps.length) return;
  const walker = document.getElementById("walker");
  const source = { picture: (number) => pictures[number], look: () => {} };
  const shown = pane({ ...run, answer: "", notes: [] }, source, { onMove: (place) => {
    try {
      history.replaceState(null, "", `#step=${place}`);
    } catch {
      // A page without an address of its own, as in a preview, cannot name its steps.
    }
  } });

  function wanted() {
    const found = /^#step=(\d+)$/.exec(location.hash);
    return found ? Math.min(steps.length - 1, Number(found[1])) : null;
  }

  const first = wanted();
  shown.add(steps, true);
  walker.append(shown.box);
  walker.hidden = false;
  if (first !== null) shown.show(first);
  document.addEventListener("keydown", (event) => {
    if (event.key !== " " || walker.contains(event.target)) shown.key(event); // elsewhere a blank scrolls the page
  });
  window.addEventListener("hashchange", () => {
    const place = wanted();
    if (place === null || place === shown.now()) return;
    shown.show(place);
    walker.scrollIntoView();
  });
})();
