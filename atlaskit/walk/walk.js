"use strict";
// Walks through the steps of a run. Whatever was said in it is put into the page as text, never as markup.
(() => {
  const at = (id) => document.getElementById(id);
  const { steps, pictures } = JSON.parse(at("run").textContent);
  if (!steps.length) return;
  const slider = at("slider"), who = at("who");
  let places = []; // of the steps that are walked through: those of whom was chosen
  let now = 0;

  function element(name, text) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function choose(name) {
    who.value = name;
    places = steps.map((_, place) => place).filter((place) => !name || steps[place].who === name);
    slider.max = places.length - 1;
    slider.disabled = places.length < 2;
  }

  function figure([picture, words]) {
    const made = element("figure");
    if (picture !== null) {
      const image = element("img");
      image.src = pictures[picture];
      image.alt = words;
      made.append(image);
    }
    made.append(element("figcaption", words));
    return made;
  }

  function rows(list, said) {
    list.replaceChildren(...said.flatMap(([name, words, place]) => {
      const value = element("dd", words);
      if (place !== null && place < steps.length) {
        const link = element("a", `step ${place}`);
        link.href = `#step=${place}`;
        value.append(" · found by ", link);
      }
      return [element("dt", name), value];
    }));
    list.parentElement.hidden = !said.length;
  }

  function line(id, words) {
    at(id).textContent = words;
    at(id).parentElement.hidden = !words;
  }

  function show(place) {
    now = place;
    if (!places.includes(place)) choose("");
    const step = steps[place], index = places.indexOf(place);
    const round = step.round ? `, round ${step.round}` : "";
    at("heading").textContent = `Step ${place} of ${steps.length - 1}${round}, ${step.who}: ${step.what}`;
    at("saw").replaceChildren(...(step.saw.length ? step.saw.map(figure) : [element("p", "No picture was shown.")]));
    line("asked", step.asked);
    rows(at("said"), step.said);
    rows(at("memory"), step.memory);
    line("cost", step.cost);
    slider.value = index;
    slider.setAttribute("aria-valuetext", at("heading").textContent);
    at("previous").disabled = index === 0;
    at("next").disabled = index === places.length - 1;
  }

  function go(index) {
    show(places[Math.max(0, Math.min(places.length - 1, index))]);
    try {
      history.replaceState(null, "", `#step=${now}`);
    } catch {
      // A page without an address of its own, as in a preview, cannot name its steps.
    }
  }

  function asked() {
    const found = /^#step=(\d+)$/.exec(location.hash);
    return found ? Math.min(steps.length - 1, Number(found[1])) : null;
  }

  const keys = {
    ArrowLeft: (index) => index - 1,
    ArrowRight: (index) => index + 1,
    Home: () => 0,
    End: () => places.length - 1,
  };
  document.addEventListener("keydown", (event) => {
    const isTaken = event.target.closest("input, select") || event.altKey || event.ctrlKey || event.metaKey;
    if (isTaken || event.shiftKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    go(keys[event.key](places.indexOf(now)));
  });
  at("previous").addEventListener("click", () => go(places.indexOf(now) - 1));
  at("next").addEventListener("click", () => go(places.indexOf(now) + 1));
  slider.addEventListener("input", () => go(Number(slider.value)));
  who.addEventListener("change", () => {
    choose(who.value);
    const after = places.findIndex((place) => place >= now);
    go(after < 0 ? places.length - 1 : after);
  });
  window.addEventListener("hashchange", () => {
    const place = asked();
    if (place === null) return;
    show(place);
    at("walker").scrollIntoView();
  });

  const everyone = element("option", "everyone");
  everyone.value = "";
  who.append(everyone, ...[...new Set(steps.map((step) => step.who))].sort().map((name) => element("option", name)));
  at("walker").hidden = false;
  choose("");
  show(asked() ?? 0);
})();
