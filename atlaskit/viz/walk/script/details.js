// What an outline means, by why it is drawn.
const LEGEND = { acted: "acted on", cited: "cited by the answer", true: "the answer lies here", erased: "erased" };

// Shows one step: its images, and beside them the request, details of the reply, memory and cost.
class StepView {
  // `map` is the run's map; `link(step, label)` makes a button that leads to a step, if it is below the count.
  constructor(source, run, map, link) {
    Object.assign(this, { source, run, map, count: run.count, link });
    this.loading = new Set(); // images of this step that have not arrived
    this.images = element("div", { class: "saw" });
    this.parts = {
      asked: this.part("asked", "Request", "p"),
      said: this.part("said", "Details", "dl"),
      memory: this.part("memory", "Memory", "dl"),
      cost: this.part("cost", "Cost", "p"),
    };
    const text = element("div", { class: "words" }, ...Object.values(this.parts).map(({ section }) => section));
    this.box = element("div", { class: "step", hidden: true }, this.images, text);
  }

  part(name, title, list) {
    const section = element("section", { class: name }, element("h3", {}, title), element(list));
    return { section, list: section.lastChild };
  }

  get isLoading() {
    return this.loading.size > 0;
  }

  // The images of a step: what an agent saw; else, and at the end of the run, the map.
  imagesOf(index, step) {
    if (!step) return [];
    const saw = step.saw.map(([number, text, size, marks], place) => ({ number, text, size, marks,
      sent: `As sent to the model${step.older && !place ? `, ${step.older}` : ""}. ` })); // the grid comes first
    const isLast = index === this.run.count - 1, { sheet, map } = this.run;
    const hasSheet = isLast && Number.isInteger(sheet) && !saw.length;
    if (hasSheet) saw.push({ number: sheet, text: "The evidence at the end of the run.", size: null, marks: [] });
    if (this.map.cells && (!saw.length || hasSheet)) {
      const { text, marks } = this.map.at(index, step);
      saw.push({ number: Number.isInteger(map) ? map : null, text, size: null, marks, isMap: true });
    }
    return saw;
  }

  // Shows a step by its index; `next` is the index of the one that is likely to follow, or undefined.
  show(index, next, steps) {
    const step = steps[index], images = this.imagesOf(index, step), following = this.imagesOf(next, steps[next]);
    const numbers = (all) => all.map(({ number }) => number).filter((number) => number !== null);
    this.loading = new Set();
    this.source.look(numbers(images), numbers(following));
    const figures = images.map((image) => this.figure(image));
    this.images.replaceChildren(...(figures.length ? figures : [element("p", {}, "This step shows no image.")]));
    this.fillLine(this.parts.asked, step.asked);
    this.fillRows(this.parts.said, step.said);
    const { labels, ruledOut } = this.map.totals(index);
    this.fillRows(this.parts.memory, [...step.memory, ["evidence so far", labels, null], ["ruled out so far", ruledOut, null]]);
    this.fillLine(this.parts.cost, step.cost);
    this.box.hidden = false;
  }

  figure({ number, text, size, marks, isMap, sent = "" }) {
    const reasons = new Set(marks.map((mark) => mark[5]));
    const legend = Object.keys(LEGEND).filter((why) => reasons.has(why))
      .map((why) => element("span", { class: `legend ${why}` }, LEGEND[why]));
    const caption = element("figcaption", {}, `${text} ${sent}`, ...legend);
    if (number === null) return element("figure", {}, isMap ? outlined(this.map.plain(), marks) : null, caption);
    const image = element("img", { alt: text, ...(size && { width: size[0], height: size[1] }) });
    const figure = element("figure", {}, outlined(image, marks), caption);
    const address = this.source.picture(number);
    if (typeof address === "string") image.src = address;
    else this.load(address, image, figure, caption, isMap);
    return figure;
  }

  // Shows an image once its address arrives, or the reason why there is none.
  load(address, image, figure, caption, isMap) {
    const { loading } = this;
    loading.add(image);
    figure.setAttribute("aria-busy", "true");
    address.then((arrived) => { image.src = arrived; }, (reason) => {
      figure.classList.add("missing");
      image.replaceWith(...(isMap ? [this.map.plain()] : []));
      caption.append(` It cannot be shown: ${reason}`);
    }).finally(() => {
      loading.delete(image);
      figure.removeAttribute("aria-busy");
    });
  }

  fillRows(part, rows) {
    part.list.replaceChildren(...rows.flatMap(([name, text, step]) => {
      const line = element("dd", {}, text);
      if (step !== null && step < this.count) line.append(" · found in ", this.link(step, `step ${step}`));
      return [element("dt", { "data-field": name }, name), line];
    }));
    part.section.hidden = !rows.length;
  }

  // Highlights the fields of this step that another step has otherwise; `fields` are pairs of [part, name].
  highlight(fields) {
    for (const each of this.box.querySelectorAll(".differs")) each.classList.remove("differs");
    for (const [part, name] of fields) {
      const section = this.parts[part]?.section;
      const terms = section ? [...section.querySelectorAll("dt")].filter((term) => term.dataset.field === name)
        : part === "images" ? [...this.images.querySelectorAll("figcaption")] : [];
      for (const term of terms) {
        term.classList.add("differs");
        if (term.nextSibling) term.nextSibling.classList.add("differs");
      }
    }
  }

  fillLine(part, text) {
    part.list.textContent = text;
    part.section.hidden = !text;
  }
}
