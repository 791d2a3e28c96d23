// The keys of the explorer, in a dialog.
const MOTIONS = [
  ["Arrows, Home, End", "move between cells"],
  ["Enter", "open the cell"],
  ["← and → in a frame", "go one frame back or on; with Shift, one second"],
  ["Arrows on the ruler", "go through the video, with Page Up and Page Down by a tenth"],
];

class Help {
  // `actions` are those of single keys, each with its words.
  constructor(actions) {
    const keys = actions.map(({ key, words }) => [key.length === 1 ? key.toUpperCase() : key, words]);
    const rows = [...MOTIONS, ...keys].flatMap(([key, words]) =>
      [element("dt", {}, element("kbd", {}, key)), element("dd", {}, words)]);
    this.box = element("dialog", { class: "keys", "aria-label": "keys of the explorer" },
      element("dl", {}, ...rows), button("close", { "aria-keyshortcuts": "Escape" }, () => this.box.close()));
  }

  get isOpen() {
    return this.box.open;
  }

  // The browser gives the focus back when the dialog closes.
  toggle() {
    if (this.box.open) this.box.close();
    else this.box.showModal();
  }
}
