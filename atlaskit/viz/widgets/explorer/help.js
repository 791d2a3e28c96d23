// The keys of the explorer, in a dialog.
const KEYS = [
  ["Arrows, Home, End", "move between cells"],
  ["Enter", "open the cell"],
  ["Backspace or Escape", "go back"],
  ["F", "show the cell's frame at full resolution"],
  ["← and → in a frame", "go one frame back or on; with Shift, one second"],
  ["B, A", "show the time just before, just after the cell"],
  ["T", "go to a time that you type: 65, 1:05, 1:02:03.5 or 1m5s"],
  ["P", "play a clip of the cell; Escape closes it"],
  ["C", "copy the time"],
  ["S", "save the picture as PNG; with Shift, the cell's frame"],
  ["M", "show or hide the marks of the run"],
  ["?", "show this list"],
  ["Arrows on the ruler", "go through the video; with Shift by a second, with Page Up and Page Down by a tenth"],
];

class Help {
  constructor() {
    const rows = KEYS.flatMap(([key, words]) => [element("dt", {}, element("kbd", {}, key)), element("dd", {}, words)]);
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
