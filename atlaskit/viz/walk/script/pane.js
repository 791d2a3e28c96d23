// Walks through the steps of one run. `source.picture(number)` gives a picture's address, or a promise of it;
// `source.look(now, next)` hears which pictures are shown, and which are likely to be next.

function pane(run, source, { title = "", onMove = () => {} } = {}) {
  const steps = []; // of each event, what is told of it
  let places = []; // of the steps that are walked through: those that were chosen
  let now = 0, isWhole = false, timer = null;
  let loading = new Set(); // the pictures of this step that are on their way

  const who = chooser("steps of", [["", "everyone"]], choose);
  const does = chooser("that", [["", "do anything"]], choose);
  const touches = chooser("evidence:", [["", "any or none"]], choose);
  const pace = chooser("pace", [["1600", "×1"], ["800", "×2"], ["400", "×4"], ["3200", "×½"]], () => {});
  const previous = button("← previous", { class: "previous" }, () => go(-1));
  const next = button("next →", { class: "next" }, () => go(1));
  const player = button("▶ play", { class: "play" }, () => play(timer === null));
  const larger = button("larger pictures", { "aria-pressed": "false" }, () => {
    larger.setAttribute("aria-pressed", String(step.classList.toggle("large")));
  });
  const slider = element("input", { type: "range", min: 0, value: 0, "aria-label": "step" });
  const count = element("span", { class: "quiet", role: "status" });
  const heading = element("h2", { "aria-live": "polite", class: "heading" });
  const saw = element("div", { class: "saw" });
  const part = (name, words, list) => {
    const section = element("section", { class: name }, element("h3", {}, words), element(list));
    return { section, list: section.lastChild };
  };
  const asked = part("asked", "Asked", "p"), said = part("said", "Said and done", "dl");
  const memory = part("memory", "Memory: M+ (evidence) and M− (ruled out)", "dl"), cost = part("cost", "Cost", "p");
  const words = element("div", { class: "words" }, asked.section, said.section, memory.section, cost.section);
  const step = element("div", { class: "step" }, saw, words);
  const visited = tree(run.regions, (node) => visit(node));
  const found = element("ul", {}, ...run.evidence.map(([told, place]) =>
    element("li", {}, place === null ? told : stepLink(place, told))));
  const box = element("section", { class: "pane", "aria-label": title || "Steps of the run" },
    ...(title ? [element("h2", { class: "title" }, title)] : []), element("p", { class: "answer", hidden: !run.answer }, run.answer),
    ...run.notes.map((note) => element("p", { class: "note" }, note)),
    element("div", { class: "controls", role: "group", "aria-label": "Steps" },
      previous, player, slider, next, pace.box, larger),
    element("div", { class: "controls", role: "group", "aria-label": "Filters" }, who.box, does.box, touches.box, count),
    heading, step,
    element("details", { class: "regions", open: run.regions.length > 1 },
      element("summary", {}, "Regions visited, by depth"), visited.box),
    element("details", { class: "evidence", open: true },
      element("summary", {}, "Evidence, and the steps that found it"),
      run.evidence.length ? found : element("p", {}, "No frame was kept as evidence.")));
  step.hidden = true;

  function stepLink(place, told) {
    return button(told, { class: "link", "data-step": place }, () => show(place, true));
  }

  const isMeant = (place) => {
    const { who: by, does: what, touches: of } = steps[place];
    return (!who.select.value || by === who.select.value) && (!does.select.value || what === does.select.value) &&
      (!touches.select.value || of.includes(touches.select.value));
  };

  // Takes the steps that are chosen now, and goes to the one that is next from here.
  function choose() {
    meant();
    const after = places.findIndex((place) => place >= now);
    if (places.length) show(places[after < 0 ? places.length - 1 : after]);
    else count.textContent = "No step is of these.";
  }

  function meant() {
    places = steps.map((_, place) => place).filter(isMeant);
    slider.max = Math.max(0, places.length - 1);
    slider.disabled = places.length < 2;
    visited.draw(isMeant);
    turned();
  }

  function turned() {
    const index = places.indexOf(now);
    slider.value = index;
    // Not `disabled`, which would take the focus from a button, and with it the keys.
    previous.setAttribute("aria-disabled", String(index <= 0));
    next.setAttribute("aria-disabled", String(index < 0 || index === places.length - 1));
    const all = `${steps.length.toLocaleString("en")} steps${isWhole ? "" : " so far"}`;
    count.textContent = places.length === steps.length ? all : `${places.length.toLocaleString("en")} of ${all}`;
  }

  function everything() {
    for (const { select } of [who, does, touches]) select.value = "";
    meant();
  }

  function figure([number, told, size]) {
    const caption = element("figcaption", {}, told);
    const made = element("figure", {}, caption);
    if (number === null) return made;
    const image = element("img", { alt: told, ...(size && { width: size[0], height: size[1] }) });
    made.prepend(image);
    const address = source.picture(number);
    if (typeof address === "string") image.src = address;
    else {
      const these = loading.add(image);
      made.setAttribute("aria-busy", "true");
      address.then((got) => { image.src = got; }, (why) => {
        image.remove();
        caption.textContent = `${told} It cannot be shown: ${why}`;
      }).finally(() => {
        these.delete(image);
        made.removeAttribute("aria-busy");
      });
    }
    return made;
  }

  function rows(part, told) {
    part.list.replaceChildren(...told.flatMap(([name, value, place]) => {
      const line = element("dd", {}, value);
      if (place !== null && place < run.count) line.append(" · found by ", stepLink(place, `step ${place}`));
      return [element("dt", {}, name), line];
    }));
    part.section.hidden = !told.length;
  }

  function line(part, told) {
    part.list.textContent = told;
    part.section.hidden = !told;
  }

  // Shows a step, whether it is among those that are chosen or not: then all are.
  function show(place, isFar = false) {
    if (!steps.length) return;
    now = Math.min(place, steps.length - 1);
    if (!places.includes(now)) everything();
    const told = steps[now], round = told.round ? `, round ${told.round}` : "";
    heading.setAttribute("aria-live", timer === null ? "polite" : "off");
    heading.textContent = `Step ${now} of ${run.count - 1}${round}, ${told.who}: ${told.what}`;
    slider.setAttribute("aria-valuetext", heading.textContent);
    const after = steps[places[places.indexOf(now) + 1]];
    const numbers = (each) => (each ? each.saw.map(([number]) => number).filter((number) => number !== null) : []);
    loading = new Set();
    source.look(numbers(told), numbers(after));
    saw.replaceChildren(...(told.saw.length ? told.saw.map(figure) : [element("p", {}, "No picture was shown.")]));
    line(asked, told.asked);
    rows(said, told.said);
    rows(memory, told.memory);
    line(cost, told.cost);
    visited.mark(told.path);
    turned();
    step.hidden = false;
    if (isFar) heading.scrollIntoView({ block: "nearest" });
    onMove(now);
  }

  const at = (index) => places.length && show(places[Math.max(0, Math.min(places.length - 1, index))]);
  const go = (by) => at(places.indexOf(now) + by);

  // Goes through the steps of a region, one after the other: those that are chosen, else any, else those below it.
  function visit(node) {
    const chosen = node.places.filter((place) => places.includes(place));
    const there = [chosen, node.places, visited.below(node)].find((each) => each.length);
    if (there) show(there.find((place) => place > now) ?? there[0], true);
  }

  // Plays on, one step after the other; a picture that is still on its way is waited for.
  function play(isOn) {
    clearTimeout(timer);
    timer = null;
    const isOver = () => isWhole && places.indexOf(now) === places.length - 1;
    const turn = () => {
      if (!box.isConnected || isOver()) return play(false);
      const isWaiting = loading.size > 0;
      if (!isWaiting) go(1);
      timer = setTimeout(turn, isWaiting ? 200 : Number(pace.select.value));
    };
    if (isOn && isOver()) at(0);
    if (isOn) timer = setTimeout(turn, Number(pace.select.value));
    player.textContent = isOn ? "❚❚ pause" : "▶ play";
  }

  const keys = {
    ArrowLeft: () => go(-1),
    ArrowRight: () => go(1),
    Home: () => at(0),
    End: () => at(places.length - 1),
    " ": () => play(timer === null),
  };

  slider.addEventListener("input", () => at(Number(slider.value)));
  return {
    box, steps, show, play,
    now: () => now,
    // Adds the next steps, as they come; the last ones are told to be that.
    add(more, isLast) {
      const isFirst = !steps.length;
      for (const each of more) {
        const place = steps.push(each) - 1;
        visited.add(each, place);
        offer(who.select, each.who, each.who);
        offer(does.select, each.does, each.does);
        for (const touched of each.touches) offer(touches.select, touched, touched);
      }
      isWhole = isLast;
      meant();
      if (isFirst) show(0);
    },
    // Takes a key, if it is one of those that walk.
    key(event) {
      const isPress = event.key === " " && event.target.closest("button, summary");
      if (isTaken(event) || isPress || !Object.hasOwn(keys, event.key)) return false;
      event.preventDefault();
      keys[event.key]();
      return true;
    },
  };
}
