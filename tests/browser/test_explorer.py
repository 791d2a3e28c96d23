"""The explorer in a real JupyterLab: clicked, keyed through, looked at, restarted, and shown what would run."""

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
ALIKE, OTHER = 8, 25
"""How far the screenshot of a picture is from that picture at most, and from another one at least (of 255)."""


def explorer_in(book: Book, cell: int = 1) -> Locator:
    """The explorer, once it is there; the pointer rests where it touches nothing."""
    explorer = book.output(cell).locator(".explorer")
    explorer.wait_for()
    book.page.mouse.move(2, 2)
    return explorer


def arrived(explorer: Locator, words: str | re.Pattern[str]) -> None:
    """Wait until the explorer tells that it is there."""
    expect(explorer.locator(".caption")).to_contain_text(words, timeout=60_000)


def looks_like(explorer: Locator, meant: Image.Image, other: Image.Image) -> None:
    """Check that the page shows a picture of the kit's, and that another one would have been noticed."""
    shown = shot(explorer.locator("img"))
    assert difference(shown, meant) < ALIKE and difference(shown, other) > OTHER


def at(book: Book) -> str:
    """Where the kernel says one is."""
    return book.evaluate("print(explorer.place.path, explorer.place.look, explorer.place.cell)")


@pytest.fixture
def begin(world: World, shared_cache: Cache) -> str:
    """The first cell: the world, and the cache in which its pictures are drawn once for all tests."""
    return f"""
import atlaskit as ak
world = ak.benchmarks.atlasworld(5, 600, questions=16, size=(320, 180), directory={str(world.directory)!r})
cache = ak.Cache({str(shared_cache.directory)!r})
"""


@pytest.fixture
def own(world: World, shared_cache: Cache) -> GridExplorer:
    """The same explorer, in this process."""
    return GridExplorer(world.drawn, cache=shared_cache)


def test_it_is_clicked_and_keyed_through(notebooks: Notebooks, begin: str, own: GridExplorer) -> None:
    book = notebooks(begin, EXPLORER)
    explorer, keys = explorer_in(book), book.page.keyboard
    root, inner = own.picture.image, own.open(12).picture.image
    looks_like(explorer, root, inner)
    assert book.output(1).locator(".atlaskit-still").is_hidden(), "the widget stands for the static picture"

    explorer.get_by_role("gridcell").nth(12).click()
    arrived(explorer, "depth 1")
    looks_like(explorer, inner, root)
    assert at(book) == "(12,) grid None" and "Δt 0.146 s" in explorer.locator(".facts").inner_text()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowLeft"):
        keys.press(key)
    said = explorer.locator(".status").inner_text()
    assert said.startswith("cell 9, 1:5") and said == explorer.get_by_role("gridcell").nth(9).get_attribute(
        "aria-label"
    )
    keys.press("f")
    arrived(explorer, "The frame of cell 9 in full")
    assert explorer.locator(".status").inner_text() == said
    frame = own.frame(9).picture.image
    looks_like(explorer, frame, Image.new("RGB", frame.size, "white"))
    keys.press("ArrowRight")
    arrived(explorer, "The frame of cell 10 in full")
    keys.press("b")
    arrived(explorer, "just before cell 10")
    looks_like(explorer, own.before(10).picture.image, root)
    keys.press("a")
    arrived(explorer, "just after cell 10")
    assert at(book) == "(12,) after 10"
    keys.press("Escape")
    arrived(explorer, "depth 1")
    expect(explorer.get_by_role("gridcell").nth(10)).to_be_focused()
    keys.press("Backspace")
    arrived(explorer, "depth 0")
    expect(explorer.get_by_role("gridcell").nth(12)).to_be_focused()
    keys.press("Home")
    keys.press("Enter")
    arrived(explorer, "depth 1")
    explorer.get_by_role("button", name="whole video").click()
    arrived(explorer, "depth 0")
    keys.press("Backspace")
    assert at(book) == "() grid None" and len(book.cells()) == 2, "and JupyterLab took no key for its own"


def test_hover_draws_ahead_and_tells_what_is_said(notebooks: Notebooks, begin: str, world: World) -> None:
    book = notebooks(f"{begin}cache = ak.Cache(None)", EXPLORER)
    explorer = explorer_in(book)
    cell = next(
        c for c in GridExplorer(world.drawn, cache=Cache(None)).view.cells if c.index > 20 and said_in(world, c)
    )
    explorer.get_by_role("gridcell").nth(cell.index).hover()
    expect(explorer.locator(".status")).to_contain_text(said_in(world, cell)[:30])
    is_drawn = f"print(cache.get(explorer.view.expand({cell.index}).key) is not None)"
    patience = time.monotonic() + 60
    while book.evaluate(is_drawn) != "True":
        assert time.monotonic() < patience
        book.page.wait_for_timeout(100)
    assert at(book) == "() grid None"


def said_in(world: World, cell: Any) -> str:
    lines = world.drawn.subtitles.between(cell.start_s, cell.end_s)
    return lines[0].text if lines else ""


def test_marks_in_a_dark_theme(notebooks: Notebooks, begin: str) -> None:
    book = notebooks(
        begin + "from atlaskit.environment.memory import DeadZones\nfrom dataclasses import replace\n"
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
    assert "ruled out" in str(explorer.get_by_role("gridcell").nth(3).get_attribute("aria-label"))
    assert explorer.locator(".line .zone").count() == 2 and explorer.locator(".line .found").count() == len(labels)
    explorer.get_by_role("button", name="marks").click()
    assert explorer.locator(".cell .out").first.is_hidden()
    book.theme("JupyterLab Light")
    expect(explorer).to_have_css("background-color", "rgb(255, 255, 255)")


def test_the_picture_stays_when_the_kernel_does_not(notebooks: Notebooks, begin: str, own: GridExplorer) -> None:
    book = notebooks(begin, EXPLORER)
    explorer, root = explorer_in(book), own.picture.image
    other = own.open(12).picture.image
    explorer.get_by_role("gridcell").nth(12).click()
    arrived(explorer, "depth 1")
    book.save()
    book.open()
    explorer = explorer_in(book)
    looks_like(explorer, other, root)  # the kernel is there: so is the widget, where one was
    book.restart()
    looks_like(explorer, other, root)
    explorer.get_by_role("gridcell").nth(3).click()
    expect(explorer.locator(".trouble")).to_contain_text("The kernel has gone")
    book.save()
    book.reload()
    still = book.output(1).locator(".atlaskit-still img").first
    still.wait_for()
    assert difference(shot(still), root) < ALIKE < OTHER < difference(shot(still), other)
    book.page.wait_for_function("() => document.body.textContent.includes('model not found')")
    assert "model not found" not in book.output(1).inner_text(), "what is of no use is not shown"


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


def test_hostile_words_run_nothing(notebooks: Notebooks) -> None:
    book = notebooks(
        HOSTILE,
        "explorer = ak.widgets.GridExplorer(video, cell=32, cache=ak.Cache(None))\nexplorer",
        "from IPython.display import HTML\nHTML(explorer._repr_html_())",
    )
    explorer = explorer_in(book)
    assert "<img src=x onerror=" in explorer.locator(".status").inner_text()
    assert "<img src=x onerror=" in explorer.locator(".caption").inner_text()
    explorer.get_by_role("gridcell").nth(5).click()
    arrived(explorer, "depth 1")
    book.page.keyboard.press("f")
    arrived(explorer, "in full")
    book.evaluate("explorer._fail(ValueError(attack))")
    expect(explorer.locator(".trouble")).to_contain_text("<img src=x onerror=")
    assert book.page.locator("img[src=x]").count() == 0 and book.page.title() != "run"
    for place in (explorer, book.output(2)):
        assert not re.search("[\u202e\x1b]", place.inner_text()) and "script" not in [
            tag.lower() for tag in place.evaluate("(el) => [...el.querySelectorAll('*')].map((each) => each.tagName)")
        ]
    page = book.exported()
    assert page.locator("img[alt^='A contact sheet']").first.evaluate(
        "(image) => image.decode().then(() => image.naturalWidth)"
    )
    assert "<img src=x onerror=" in page.locator("body").inner_text()
    assert page.locator("img[src=x]").count() == 0 and page.title() != "run"
    book.page.evaluate("(words) => { document.createElement('div').innerHTML = words; }", ATTACK)
    book.page.wait_for_function("() => document.title === 'run'")
    book.tab.errors.clear()  # it ran, as markup: so the title would have told
