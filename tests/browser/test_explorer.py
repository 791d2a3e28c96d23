"""The explorer in a real JupyterLab: mouse, keys, images, restarts, and hostile text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Locator, expect
from support.jupyter import Book, Notebooks, difference, shot

from atlaskit.benchmarks.atlasworld import World
from atlaskit.caching.cache import Cache
from atlaskit.viz.widgets import GridExplorer

pytestmark = [pytest.mark.browser, pytest.mark.long]

EXPLORER = "explorer = ak.widgets.GridExplorer(world.drawn, cache=cache)\nexplorer"
SAME, OTHER = 8, 25
"""Largest difference of a screenshot from its image, and smallest from another one (of 255)."""


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
    shown = shot(explorer.locator("img"))
    assert difference(shown, expected) < SAME and difference(shown, other) > OTHER


def location(book: Book) -> str:
    """Return the location that the kernel has."""
    return book.evaluate("print(explorer.place.path, explorer.place.look, explorer.place.cell)")


@pytest.fixture
def setup(world: World, shared_cache: Cache) -> str:
    """The first cell: the world, and the cache that all tests share."""
    return f"""
import atlaskit as ak
world = ak.benchmarks.atlasworld(5, 600, questions=16, size=(320, 180), directory={str(world.directory)!r})
cache = ak.Cache({str(shared_cache.directory)!r})
"""


@pytest.fixture
def reference(world: World, shared_cache: Cache) -> GridExplorer:
    """The same explorer, in the process of the test."""
    return GridExplorer(world.drawn, cache=shared_cache)


def test_mouse_and_keys_move_the_explorer(notebooks: Notebooks, setup: str, reference: GridExplorer) -> None:
    book = notebooks(setup, EXPLORER)
    explorer, keys = explorer_in(book), book.page.keyboard
    root, inner = reference.picture.image, reference.open(12).picture.image
    check_image(explorer, root, inner)
    assert book.output(1).locator(".atlaskit-still").is_hidden(), "the widget hides the static picture"

    explorer.get_by_role("gridcell").nth(12).click()
    wait_for(explorer, "depth 1")
    check_image(explorer, inner, root)
    assert location(book) == "(12,) grid None" and "Δt 0.146 s" in explorer.locator(".facts").inner_text()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowLeft"):
        keys.press(key)
    status = explorer.locator(".status").inner_text()
    assert status.startswith("cell 9, 1:5") and status == explorer.get_by_role("gridcell").nth(9).get_attribute(
        "aria-label"
    )
    keys.press("f")
    wait_for(explorer, "The frame of cell 9 at full resolution")
    assert explorer.locator(".status").inner_text() == status
    frame = reference.frame(9).picture.image
    check_image(explorer, frame, Image.new("RGB", frame.size, "white"))
    keys.press("Escape")
    wait_for(explorer, "depth 1")
    keys.press("ArrowRight")
    keys.press("b")
    wait_for(explorer, "just before cell 10")
    check_image(explorer, reference.before(10).picture.image, root)
    keys.press("a")
    wait_for(explorer, "just after cell 10")
    assert location(book) == "(12,) after 10"
    keys.press("Escape")
    wait_for(explorer, "depth 1")
    expect(explorer.get_by_role("gridcell").nth(10)).to_be_focused()
    keys.press("Backspace")
    wait_for(explorer, "depth 0")
    expect(explorer.get_by_role("gridcell").nth(12)).to_be_focused()
    keys.press("Home")
    keys.press("Enter")
    wait_for(explorer, "depth 1")
    explorer.get_by_role("button", name="whole video").click()
    wait_for(explorer, "depth 0")
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


HOSTILE = """
import sys, tempfile, pathlib, atlaskit as ak
from atlaskit.video.subtitles import Line, Subtitles
folder = pathlib.Path(tempfile.mkdtemp())
attack = "<img src=x onerror=\\"document.title='run'\\"></script><script>document.title='run'</script>"
attack += "\\u202etxt.exe\\x1b[31m"
world = ak.benchmarks.atlasworld(seed=3, duration_s=120, questions=1, size=(114, 64), directory=folder)
video = world.drawn
video.name = attack + ".mp4"
video.subtitles = Subtitles(tuple(Line(float(s), s + 1.0, attack) for s in range(120)))
"""
ATTACK = "<img src=x onerror=\"document.title='run'\">"


def test_hostile_text_runs_no_script(notebooks: Notebooks) -> None:
    book = notebooks(
        HOSTILE,
        "explorer = ak.widgets.GridExplorer(video, cell=32, cache=ak.Cache(None))\nexplorer",
        "from IPython.display import HTML\nHTML(explorer._repr_html_())",
    )
    explorer = explorer_in(book)
    assert "<img src=x onerror=" in explorer.locator(".status").inner_text()
    assert "<img src=x onerror=" in explorer.locator(".caption").inner_text()
    explorer.get_by_role("gridcell").nth(5).click()
    wait_for(explorer, "5×5 cells")
    book.page.keyboard.press("f")
    wait_for(explorer, "at full resolution")
    book.evaluate("explorer._send_error(ValueError(attack))")
    expect(explorer.locator(".trouble")).to_contain_text("<img src=x onerror=")
    assert book.page.locator("img[src=x]").count() == 0 and book.page.title() != "run"
    for part in (explorer, book.output(2)):
        assert not re.search("[\u202e\x1b]", part.inner_text()) and "script" not in [
            tag.lower() for tag in part.evaluate("(el) => [...el.querySelectorAll('*')].map((each) => each.tagName)")
        ]
    page = book.exported()
    assert page.locator("img[alt^='A contact sheet']").first.evaluate(
        "(image) => image.decode().then(() => image.naturalWidth)"
    )
    assert "<img src=x onerror=" in page.locator("body").inner_text()
    assert page.locator("img[src=x]").count() == 0 and page.title() != "run"
    book.page.evaluate("(words) => { document.createElement('div').innerHTML = words; }", ATTACK)
    book.page.wait_for_function("() => document.title === 'run'")
    book.tab.errors.clear()  # as markup the attack runs, so the title would have changed
