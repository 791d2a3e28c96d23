"""The explorer in a real JupyterLab: mouse, keys, images, restarts, and hostile text."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Locator, expect
from support.jupyter import Book, Notebooks, difference, shot

from atlaskit.benchmarks.atlasworld import World
from atlaskit.caching.cache import Cache
from atlaskit.viz.widgets import GridExplorer

pytestmark = pytest.mark.browser

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
    keys.press("ArrowRight")
    wait_for(explorer, "The frame of cell 10 at full resolution")
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


def test_a_click_on_a_native_cell_opens_it(notebooks: Notebooks, setup: str) -> None:
    """A point of the image belongs to the cell that is drawn there."""
    native = 'explorer = ak.widgets.GridExplorer(world.drawn, cell=64, fit="native", cache=cache)\nexplorer'
    book = notebooks(setup, native)
    explorer = explorer_in(book)
    wait_for(explorer, "depth 0")
    image = explorer.locator("img")
    box = image.bounding_box()
    assert box is not None and box["height"] / box["width"] == pytest.approx(36 / 64, abs=0.01)
    for index in (0, 13, 63):
        row, column = divmod(index, 8)
        image.click(position={"x": (column + 0.9) * box["width"] / 8, "y": (row + 0.9) * box["height"] / 8}, force=True)
        wait_for(explorer, "depth 1")
        assert location(book) == f"({index},) grid None"
        book.page.keyboard.press("Backspace")
        wait_for(explorer, "depth 0")


def test_hover_prefetches_a_grid_and_shows_subtitles(notebooks: Notebooks, setup: str, world: World) -> None:
    book = notebooks(f"{setup}cache = ak.Cache(None)", EXPLORER)
    explorer = explorer_in(book)
    cell = next(
        c for c in GridExplorer(world.drawn, cache=Cache(None)).view.cells if c.index > 20 and first_subtitle(world, c)
    )
    explorer.get_by_role("gridcell").nth(cell.index).hover()
    expect(explorer.locator(".status")).to_contain_text(first_subtitle(world, cell)[:30])
    is_drawn = f"print(cache.get(explorer.view.expand({cell.index}).key) is not None)"
    deadline = time.monotonic() + 60
    while book.evaluate(is_drawn) != "True":
        assert time.monotonic() < deadline
        book.page.wait_for_timeout(100)
    assert location(book) == "() grid None"


def first_subtitle(world: World, cell: Any) -> str:
    lines = world.drawn.subtitles.between(cell.start_s, cell.end_s)
    return lines[0].text if lines else ""


def test_marks_in_a_dark_theme(notebooks: Notebooks, setup: str) -> None:
    book = notebooks(
        setup + "from atlaskit.environment.memory import DeadZones\nfrom dataclasses import replace\n"
        "question = next(q for q in world.questions if q.category == 'SSS')\n"
        "result = ak.ask(world.drawn, question, vlm=ak.Oracle(world), cache=cache, cell=48)\n"
        "result = replace(result, dead_zones=DeadZones(((20.0, 44.0), (150.0, 300.0))))",
        "explorer = ak.widgets.GridExplorer(world.drawn, result=result, cache=cache)\nexplorer",
    )
    book.theme("JupyterLab Dark")
    explorer = explorer_in(book)
    expect(explorer).not_to_have_css("background-color", "rgb(255, 255, 255)")
    labels = book.evaluate("print(*result.evidence.labels)").split()
    assert sorted(re.findall("[A-Z]+", "".join(explorer.locator(".cell .found").all_inner_texts()))) == sorted(labels)
    assert explorer.locator(".cell.dead").count() == 17 and explorer.locator(".cell.partly").count() == 2
    assert "dead zone" in str(explorer.get_by_role("gridcell").nth(3).get_attribute("aria-label"))
    assert explorer.locator(".line .zone").count() == 2 and explorer.locator(".line .found").count() == len(labels)
    explorer.get_by_role("button", name="marks").click()
    assert explorer.locator(".cell .out").first.is_hidden()
    book.theme("JupyterLab Light")
    expect(explorer).to_have_css("background-color", "rgb(255, 255, 255)")


def test_the_static_picture_replaces_a_widget_without_a_kernel(
    notebooks: Notebooks, setup: str, reference: GridExplorer
) -> None:
    book = notebooks(setup, EXPLORER)
    explorer, root = explorer_in(book), reference.picture.image
    other = reference.open(12).picture.image
    explorer.get_by_role("gridcell").nth(12).click()
    wait_for(explorer, "depth 1")
    book.save()
    book.open()
    explorer = explorer_in(book)
    check_image(explorer, other, root)  # the kernel still runs, so the widget continues
    book.restart()
    check_image(explorer, other, root)
    explorer.get_by_role("gridcell").nth(3).click()
    expect(explorer.locator(".trouble")).to_contain_text("The kernel has stopped")
    book.save()
    book.reload()
    still = book.output(1).locator(".atlaskit-still img").first
    still.wait_for()
    assert difference(shot(still), root) < SAME < OTHER < difference(shot(still), other)
    book.page.wait_for_function("() => document.body.textContent.includes('model not found')")
    assert "model not found" not in book.output(1).inner_text(), "JupyterLab's own message is hidden"


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
    wait_for(explorer, "depth 1")
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
