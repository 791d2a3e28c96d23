// A page of one run that embeds all of its images, and shows the answer above the steps.

(() => {
  const { run, steps, pictures, missing } = JSON.parse(document.getElementById("run").textContent);
  if (!steps.length) return;
  const walker = document.getElementById("walker");
  const source = { picture: (number) => pictures[number] || Promise.reject(missing[number]), look: () => {} };
  const shown = new Pane({ ...run, answer: "", truth: "", notes: [] }, source, { onMove: (step) => {
    try {
      history.replaceState(null, "", `#step=${step}`);
    } catch {
      // A page without an address of its own, such as a preview, cannot name its steps.
    }
  } });

  function stepInAddress() {
    const match = /^#step=(\d+)$/.exec(location.hash);
    return match ? Math.min(steps.length - 1, Number(match[1])) : null;
  }

  const first = stepInAddress();
  shown.add(steps, true);
  walker.append(shown.box);
  walker.hidden = false;
  if (first !== null) shown.show(first);
  document.addEventListener("keydown", (event) => {
    if (event.key !== " " || walker.contains(event.target)) shown.key(event); // elsewhere Space scrolls the page
  });
  window.addEventListener("hashchange", () => {
    const step = stepInAddress();
    if (step === null || step === shown.current) return;
    shown.show(step);
    walker.scrollIntoView();
  });
})();
