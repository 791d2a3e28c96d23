"""The explorer in a real JupyterLab: mouse, keys, a busy kernel, search, questions, attacks."""

import re
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Locator, expect
from support.jupyter import SIZE, Book, Notebooks, difference, shot
from support.paths import TESTS

from atlaskit.caching.cache import Cache
from atlaskit.environment.render import View, with_look
from atlaskit.viz.widgets import GridExplorer
from atlasworld import World

pytestmark = [pytest.mark.browser, pytest.mark.long]

EXPLORER = "explorer = ak.widgets.GridExplorer(world.drawn, cache=cache)\nexplorer"
SAME, OTHER = 12, 25
"""Most that a screenshot, with times over it, differs from its image, and least from another."""


def explorer_in(book: Book, cell: int = 1) -> Locator:
    """Return the explorer once it is shown; the pointer then rests outside."""
    explorer = book.output(cell).locator(".explorer")
    explorer.wait_for()
    book.page.mouse.move(2, 2)
    return explorer


def wait_for(explorer: Locator, caption: str | re.Pattern[str]) -> None:
    """Wait until the caption of the explorer contains a text."""
    expect(explorer.locator(".caption")).to_contain_text(caption, timeout=60_000)


def check_image(explorer: Locator, expected: Image.Image, other: Image.Image) -> None:
    """Check that the page shows an image, and that another one would look different."""
    explorer.evaluate("(root) => root.classList.add('unmarked')")
    shown = shot(explorer.locator(".sheet img"))
    explorer.evaluate("(root) => root.classList.remove('unmarked')")
    assert difference(shown, expected) < SAME and difference(shown, other) > OTHER


def plain(view: View) -> Image.Image:
    """Return the image of a view as the page gets it, without times in it."""
    return with_look(view, labels="none").image


def location(book: Book) -> str:
    """Return the location that the kernel has."""
    return book.evaluate("print(explorer.place.path, explorer.place.look, explorer.place.cell)")


@pytest.fixture
def setup(world: World, shared_cache: Cache) -> str:
    """The first cell: the world, and the cache that all tests share."""
    return f"""
import atlaskit as ak
import atlasworld as aw
world = aw.world(5, 600, questions=16, size=(320, 180), directory={str(world.directory)!r})
cache = ak.Cache({str(shared_cache.directory)!r})
"""


def test_mouse_and_keys_move_the_explorer(notebooks: Notebooks, setup: str, world: World, shared_cache: Cache) -> None:
    book = notebooks(setup, EXPLORER)
    reference = GridExplorer(world.drawn, sampling="shots", cache=shared_cache)
    explorer = explorer_in(book)
    keys = book.page.keyboard
    wait_for(explorer, "shots")
    root, inner = plain(reference.view), plain(reference.open(12).view)
    check_image(explorer, root, inner)
    assert book.output(1).locator(".atlaskit-still").is_hidden(), "the widget hides the static picture"

    explorer.get_by_role("gridcell").nth(12).click()
    wait_for(explorer, "depth 1")
    check_image(explorer, inner, root)
    assert location(book) == "(12,) grid None" and "Δt 0.146 s" in explorer.locator(".facts").inner_text()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowLeft"):
        keys.press(key)
    status = explorer.locator(".status").inner_text()
    assert status.startswith("cell 9, 1:5")
    assert explorer.get_by_role("gridcell").nth(9).get_attribute("aria-label") == status
    keys.press("f")
    wait_for(explorer, "The frame of cell 9 at full resolution")
    assert explorer.locator(".status").inner_text() == status
    keys.press("a")
    wait_for(explorer, "just after cell 9")
    assert location(book) == "(12,) after 9"
    keys.press("Escape")
    wait_for(explorer, "depth 1")
    expect(explorer.get_by_role("gridcell").nth(9)).to_be_focused()
    keys.press("Backspace")
    wait_for(explorer, "depth 0")
    expect(explorer.get_by_role("gridcell").nth(12)).to_be_focused()
    explorer.get_by_role("slider").hover(position={"x": 100, "y": 10})
    expect(explorer.locator(".tip img")).to_be_visible()
    keys.press("Backspace")
    assert location(book) == "() grid None" and len(book.cells()) == 2, "JupyterLab handled none of the keys"


DRAWING = """
import matplotlib.pyplot as plt, pathlib, time
plt.plot([1, 2, 3])
while not pathlib.Path({seen!r}).exists(): time.sleep(0.1)
print("open figures:", plt.get_fignums())
"""
RUN = """(code) => {
  const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
  const future = kernel.requestExecute({ code });
  window.published = [];
  window.isDone = false;
  future.onIOPub = ({ content }) => { window.published.push(content); };
  future.done.then(() => { window.isDone = true; });
}"""


def test_it_works_while_another_cell_runs_and_touches_no_figure_of_it(
    notebooks: Notebooks, setup: str, tmp_path: Path
) -> None:
    """JupyterLab sends what widgets say to a subshell of the kernel, which is a thread.

    There, ipykernel would call the hooks of the end of a cell, which show and close the figures
    that the running cell still draws (jupyterlab#19719, ipykernel#1564).
    """
    book = notebooks(f"%matplotlib inline\n{setup}", EXPLORER)
    explorer = explorer_in(book)
    explorer.get_by_role("gridcell").nth(3).click()
    wait_for(explorer, "depth 1")
    book.evaluate("explorer.back()")  # the last message of the kernel to the page belongs to a cell
    wait_for(explorer, "depth 0")
    seen = tmp_path / "seen"
    book.page.evaluate(RUN, DRAWING.format(seen=str(seen)))
    status = "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status"
    book.page.wait_for_function(f"() => {status} === 'busy'")
    explorer.get_by_role("gridcell").nth(12).click()
    wait_for(explorer, "depth 1")
    explorer.get_by_role("button", name="full frame").click()
    wait_for(explorer, "at full resolution")
    assert book.page.evaluate("() => window.isDone") is False, "the other cell still runs"
    seen.touch()
    book.page.wait_for_function("() => window.isDone")
    published = book.page.evaluate("() => window.published")
    assert "open figures: [1]\n" in [content.get("text") for content in published]
    assert sum("image/png" in content.get("data", {}) for content in published) == 1


PANELS = f"""
import sys; sys.path.insert(0, {str(TESTS)!r})
import atlaskit as ak
from atlaskit.models.protocol import ModelError, Usage
from atlaskit.video.subtitles import Line, Subtitles
from support.model_doubles import ATTACK, Spiteful
from support.stand_ins import Flat
video = Flat()
video.subtitles = Subtitles(tuple(Line(float(s), s + 1.0, f"{{s}} {{ATTACK}}") for s in range(16)))
class Waiting(Spiteful):
    waits = True
    def complete(self, request, **control):
        if self.waits and control["cancel"].wait(60):
            raise ModelError("cancelled", Usage(calls=1))
        return super().complete(request, **control)
vlm = Waiting()
"""
ASKING = "explorer = ak.widgets.GridExplorer(video, vlm=vlm, k=4, cell=64, cache=ak.Cache(None))\nexplorer"


def test_words_are_gone_through_by_keys_and_are_only_text(notebooks: Notebooks) -> None:
    book = notebooks(PANELS, ASKING)
    explorer = book.output(1).locator(".explorer")
    keys = book.page.keyboard
    cell = explorer.get_by_role("gridcell").nth(2)
    count = explorer.locator(".search .count")
    cell.focus()
    keys.press("/")
    expect(explorer.get_by_role("searchbox")).to_be_focused()
    keys.type("onerror")
    expect(count).to_have_text("16 lines")
    expect(explorer.locator(".hits mark").first).to_have_text("onerror")  # "o" alone is in as many lines
    assert "<img src=x onerror=" in explorer.locator(".hits button").first.inner_text()
    expect(cell).to_have_attribute("aria-label", re.compile("1 line with the words"))
    keys.press("Escape")
    expect(cell).to_be_focused()
    assert explorer.get_by_role("searchbox").input_value() == "onerror"
    book.page.set_viewport_size({"width": 1280, "height": 500})
    hit = explorer.locator(".hits button").nth(3)
    hit.focus()  # by a key, the picture is shown and the focus stays
    keys.press("Enter")
    expect(count).to_have_text("4 of 16 lines")
    expect(explorer.locator(".caption")).to_contain_text("at full resolution, at 0:03.")
    expect(explorer.locator(".ruler")).to_be_in_viewport(ratio=0.9)
    expect(hit).to_be_focused()
    hit.click()  # by the pointer, the keys are then the picture's
    expect(explorer.locator(".stage")).to_be_focused()
    book.page.set_viewport_size(SIZE)  # type: ignore[arg-type]
    for key, expected in (("n", "5 of 16 lines"), ("Shift+N", "4 of 16 lines")):
        keys.press(key)
        expect(count).to_have_text(expected)
    assert book.page.locator("img[src=x]").count() == 0 and book.page.title() != "run"


def test_a_run_is_stopped_and_another_answered(notebooks: Notebooks) -> None:
    book = notebooks(PANELS, ASKING)
    explorer = book.output(1).locator(".explorer")
    ask, outcome = explorer.locator(".ask"), explorer.locator(".ask .outcome")
    explorer.get_by_role("gridcell").nth(2).click()
    expect(explorer.locator(".caption")).to_contain_text("depth 1")
    book.page.keyboard.press("q")
    expect(ask.get_by_label("Question")).to_be_focused()
    ask.get_by_role("button", name="Ask", exact=True).click()
    expect(ask.locator(".problem")).to_contain_text("The question is empty")
    ask.get_by_label("Question").fill("Who's there?")
    line = ask.get_by_label("Line", exact=True)
    expect(line).to_have_value('result = ak.ask(video, "Who\'s there?", within=(2.0, 3.0), vlm=vlm, show=True)')
    ask.get_by_label("only this region").uncheck()
    expect(line).to_have_value('result = ak.ask(video, "Who\'s there?", vlm=vlm, show=True)')
    ask.get_by_role("button", name="copy the line").click()
    expect(ask.locator("[role=status]").first).to_contain_text("Copied")

    ask.get_by_role("button", name="Ask", exact=True).click()
    expect(ask.get_by_role("button", name="one run at a time")).to_be_disabled()
    expect(outcome).to_contain_text("Running")
    assert book.evaluate("print(1 + 1)") == "2", "the notebook is free"
    ask.get_by_role("button", name="stop").click()
    expect(outcome).to_contain_text("You stopped the run")

    book.evaluate("vlm.waits = False")
    ask.get_by_role("button", name="Ask", exact=True).click()
    expect(outcome).to_contain_text("Answer:", timeout=120_000)
    ask.get_by_role("button", name="steps").click()
    steps = book.output(1).locator(".atlaskit-walk")
    expect(steps).to_contain_text("Who's there?")
    ask.get_by_role("button", name="steps").click()
    expect(steps).to_have_count(0)
    assert book.page.locator("img[src=x]").count() == 0 and book.page.title() != "run"
