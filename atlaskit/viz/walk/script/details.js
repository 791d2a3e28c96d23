// Shows one step: its images, and beside them the request, details of the reply, memory and cost.
class StepView {
  // `link(step, label)` makes a button that leads to a step; only steps below `count` can be shown.
  constructor(source, count, link) {
    Object.assign(this, { source, count, link });
    this.loading = new Set(); // images of this step that have not arrived
    this.images = element("div", { class: "saw" });
    this.parts = {
      asked: this.part("asked", "Request", "p"),
      said: this.part("said", "Details", "dl"),
      memory: this.part("memory", "Memory: scratchpad (M+) and dead zones (M−)", "dl"),
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

  // Shows a step; `next` is the one that is likely to follow, or undefined.
  show(step, next) {
    const numbers = (each) => (each ? each.saw.map(([number]) => number).filter((number) => number !== null) : []);
    this.loading = new Set();
    this.source.look(numbers(step), numbers(next));
    const figures = step.saw.map((image) => this.figure(image));
    this.images.replaceChildren(...(figures.length ? figures : [element("p", {}, "This step shows no image.")]));
    this.fillLine(this.parts.asked, step.asked);
    this.fillRows(this.parts.said, step.said);
    this.fillRows(this.parts.memory, step.memory);
    this.fillLine(this.parts.cost, step.cost);
    this.box.hidden = false;
  }

  figure([number, description, size]) {
    const caption = element("figcaption", {}, description);
    const figure = element("figure", {}, caption);
    if (number === null) return figure;
    const image = element("img", { alt: description, ...(size && { width: size[0], height: size[1] }) });
    figure.prepend(image);
    const address = this.source.picture(number);
    if (typeof address === "string") image.src = address;
    else this.load(address, image, figure, caption);
    return figure;
  }

  // Shows an image once its address arrives, or the reason why there is none.
  load(address, image, figure, caption) {
    const { loading } = this;
    loading.add(image);
    figure.setAttribute("aria-busy", "true");
    address.then((arrived) => { image.src = arrived; }, (reason) => {
      image.remove();
      caption.textContent += ` It cannot be shown: ${reason}`;
    }).finally(() => {
      loading.delete(image);
      figure.removeAttribute("aria-busy");
    });
  }

  fillRows(part, rows) {
    part.list.replaceChildren(...rows.flatMap(([name, text, step]) => {
      const line = element("dd", {}, text);
      if (step !== null && step < this.count) line.append(" · found in ", this.link(step, `step ${step}`));
      return [element("dt", {}, name), line];
    }));
    part.section.hidden = !rows.length;
  }

  fillLine(part, text) {
    part.list.textContent = text;
    part.section.hidden = !text;
  }
}
