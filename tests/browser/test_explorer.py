"""The explorer in a real JupyterLab: mouse, keys, images, a busy kernel."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Locator, expect
from support.jupyter import Book, Notebooks, difference, shot

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
    book, reference = notebooks(setup, EXPLORER), GridExplorer(world.drawn, sampling="shots", cache=shared_cache)
    explorer, keys = explorer_in(book), book.page.keyboard
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
    keys.press("Home")
    keys.press("Enter")
    wait_for(explorer, "depth 1")
    explorer.get_by_role("button", name="whole video").click()
    wait_for(explorer, "depth 0")
    explorer.get_by_role("slider").hover(position={"x": 100, "y": 10})
    expect(explorer.locator(".tip img")).to_be_visible()
    keys.press("Backspace")
    assert location(book) == "() grid None" and len(book.cells()) == 2, "JupyterLab handled none of the keys"


def test_it_works_while_another_cell_runs(notebooks: Notebooks, setup: str, tmp_path: Path) -> None:
    """JupyterLab sends what widgets say to a subshell of the kernel, which is a thread."""
    book = notebooks(setup, EXPLORER)
    explorer = explorer_in(book)
    explorer.get_by_role("gridcell").nth(3).click()
    wait_for(explorer, "depth 1")
    book.evaluate("explorer.back()")  # the last message of the kernel to the page belongs to a cell
    wait_for(explorer, "depth 0")
    seen = tmp_path / "seen"
    book.page.evaluate(
        """(code) => {
          const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
          window.isDone = false;
          kernel.requestExecute({ code }).done.then(() => { window.isDone = true; });
        }""",
        f"import pathlib, time\nwhile not pathlib.Path({str(seen)!r}).exists(): time.sleep(0.1)",
    )
    book.page.wait_for_function(
        "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'busy'"
    )
    explorer.get_by_role("gridcell").nth(12).click()
    expect(explorer.locator(".caption")).to_contain_text("depth 1")
    explorer.get_by_role("button", name="full frame").click()
    expect(explorer.locator(".caption")).to_contain_text("at full resolution")
    assert book.page.evaluate("() => window.isDone") is False, "the other cell still runs"
    seen.touch()
    book.page.wait_for_function("() => window.isDone")
