// The keys of the explorer, in a panel; `actions` are those of single keys, each with its words.
const MOTIONS = [
  ["Arrows, Home, End", "move between cells"],
  ["Enter", "open the cell"],
  ["← and → in a frame", "go one frame back or on; with Shift, one second"],
  ["Arrows on the ruler", "go through the video, with Page Up and Page Down by a tenth"],
];

function keysPanel(actions) {
  const keys = actions.map(({ key, words }) => [key.length === 1 ? key.toUpperCase() : key, words]);
  return element("details", { class: "panel keys" }, element("summary", {}, "Keys (?)"), element("dl", {},
    ...[...MOTIONS, ...keys].flatMap(([key, words]) => [element("dt", {}, element("kbd", {}, key)), element("dd", {}, words)])));
}
