"""The scripts of pages: elements, keys, and the cache of images."""

from typing import Any

import pytest
from playwright.sync_api import Page
from support.scripts import PageScripts
from support.stand_ins import ALL_HOSTILE

DOM = "walk/script/dom.js"


def test_children_and_attributes_stay_text(page_scripts: PageScripts) -> None:
    page = page_scripts(DOM)
    made = """(text) => {
      const made = element("p", { title: text, id: 0, hidden: true, lang: null, dir: false }, text, null, undefined);
      return [made.childNodes.length, made.textContent, made.title, made.getAttributeNames(), made.id, made.hidden];
    }"""
    assert page.evaluate(made, ALL_HOSTILE) == [1, ALL_HOSTILE, ALL_HOSTILE, ["title", "id", "hidden"], "0", True]


KEY = """([name, modifier]) => {
  const made = element(name), event = new KeyboardEvent("keydown", { key: "f", [modifier]: true });
  let taken = null;
  made.addEventListener("keydown", (received) => { taken = isTaken(received); });
  made.dispatchEvent(event);
  return taken;
}"""


def test_a_key_belongs_to_the_control_that_has_the_focus_or_to_the_browser(page_scripts: PageScripts) -> None:
    page = page_scripts(DOM)
    takers = ("input", "select", "textarea")
    for name in (*takers, "div", "button"):
        for modifier in ("no modifier", "altKey", "ctrlKey", "metaKey", "shiftKey"):
            takes = name in takers or modifier != "no modifier"
            assert page.evaluate(KEY, [name, modifier]) is takes, (name, modifier)


def test_cells_of_a_folder_of_films_lie_where_their_films_do(page_scripts: PageScripts) -> None:
    page = page_scripts(DOM, "walk/script/map.js", "widgets/explorer/cells.js")
    drawn = """() => {
      const map = new RunMap({ k: 2, within: [0, 10], edges: [0, 1, 2, 4, 10] });
      const cells = [{ span_s: [0, 1] }, { span_s: [1, 4] }];
      return [[0.5, 1, 3, 9.9, 12].map((at) => map.cellOf(at)), map.deadMarks([[2, 7]]), cellSpan({ cells }, 1)];
    }"""
    whole = [0, 0.5, 0.5, 0.5, "", "dead"]
    part = [0.5, 0.95, 0.25, 0.05, "", "dead"]
    assert page.evaluate(drawn) == [[0, 1, 2, 3, 3], [whole, part], [1, 4]]


CHANNEL = ("walk/script/dom.js", "widgets/page.js", "widgets/channel.js")
OPEN = """() => {
  globalThis.told = [];
  const note = (name) => (message) => told.push([name, message]);
  globalThis.channel = new Channel(model, {
    onHead: note("head"), onSteps: note("steps"), onTrouble: note("trouble"), onStopped: note("stopped") });
  globalThis.source = channel.source(0);
  globalThis.revoked = [];
  URL.revokeObjectURL = (address) => revoked.push(address);
  globalThis.arrive = (picture, run = 0) =>
    model.receive({ is: "picture", run, picture }, [new Uint8Array([255, 216])]);
}"""


@pytest.fixture
def page(page_scripts: PageScripts) -> Page:
    page = page_scripts(*CHANNEL)
    page.evaluate(OPEN)
    return page


def requested(page: Page) -> list[list[list[int]]]:
    """Return the images of each request so far, and forget them."""
    sent: list[Any] = page.evaluate("() => new Promise((done) => setTimeout(() => done(model.sent.splice(0))))")
    return [message["wanted"] for message in sent]


def test_looks_of_one_moment_are_one_request_with_the_shown_images_first(page: Page) -> None:
    page.evaluate("() => { source.look([5], [6]); source.look([1, 2], [3]); channel.source(1).look([7], []); }")
    assert requested(page) == [[[0, 1], [0, 2], [1, 7], [0, 3]]], "only the last look of each run counts"


def test_a_missing_image_tells_its_reason_and_is_requested_again(page: Page) -> None:
    page.evaluate("() => { globalThis.promised = source.picture(4).catch((why) => `no: ${why}`); }")
    page.evaluate("() => model.receive({ is: 'missing', run: 0, picture: 4, words: 'The file is gone.' })")
    assert page.evaluate("() => promised") == "no: The file is gone."
    page.evaluate("() => source.look([4], [])")
    assert requested(page) == [[[0, 4]]]


def test_only_the_images_shown_last_are_held_and_none_that_is_needed_is_dropped(page: Page) -> None:
    count = page.evaluate("() => MAX_HELD") + 40
    page.evaluate(
        """(count) => {
          for (let number = 0; number < count; number += 1) { arrive(number); source.picture(number); }
          source.picture(0); // shown last
          source.look([1], [2]); // the oldest of all, but needed
        }""",
        count,
    )
    assert requested(page) == []
    held = page.evaluate("() => [...channel.held.keys()]")
    assert len(held) == page.evaluate("() => MAX_HELD") and {"0/0", "0/1", "0/2"} <= set(held)
    assert held[-2] == f"0/{count - 1}" and page.evaluate("() => revoked.length") == count - len(held)
    page.evaluate("() => channel.close()")
    assert page.evaluate("() => [channel.held.size, revoked.length]") == [0, count]
