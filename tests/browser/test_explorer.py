"""The explorer in a real JupyterLab: mouse, keys, images, restarts, and hostile text."""

from __future__ import annotations

import re

import numpy as np
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


def test_frames_and_typed_times(notebooks: Notebooks, setup: str, reference: GridExplorer) -> None:
    book = notebooks(setup, EXPLORER)
    explorer, keys = explorer_in(book), book.page.keyboard
    explorer.get_by_role("gridcell").nth(7).focus()
    keys.press("f")
    wait_for(explorer, "frame 844 of 7,200")
    keys.press("ArrowRight")
    wait_for(explorer, "frame 845 of 7,200")
    keys.press("Shift+ArrowRight")
    wait_for(explorer, "frame 857 of 7,200")
    keys.press("ArrowLeft")
    wait_for(explorer, "frame 856 of 7,200")
    shown_s = float(book.evaluate("print(explorer.place.time_s)"))
    check_image(explorer, reference.show_time(shown_s).picture.image, reference.show_time(300).picture.image)
    book.page.evaluate("() => { navigator.clipboard.writeText = async (text) => { window.copied = text; }; }")
    keys.press("c")
    expect(explorer.locator(".notice")).to_have_text("Copied 1:11.291.")
    assert book.page.evaluate("() => { delete navigator.clipboard.writeText; return window.copied; }") == "1:11.291"

    keys.press("t")
    field = explorer.get_by_label("go to time")
    expect(field).to_be_focused()
    keys.type("1:75\n")
    expect(explorer.locator(".trouble")).to_contain_text(
        "'1:75' is not a time: write 65, 65.5, 1:05, 1:02:03.5 or 1m5s."
    )
    expect(field).to_have_attribute("aria-invalid", "true")
    assert len(book.cells()) == 2, "JupyterLab handled none of the keys"
    keys.type("2:30.04\n")  # the wrong one is selected
    wait_for(explorer, "at 2:30.040, frame 1,801 of 7,200")
    assert field.get_attribute("aria-invalid") is None and explorer.locator(".trouble").inner_text() == ""
    expect(explorer.locator(".stage")).to_be_focused()
    field.click()
    selected = "(field) => field.value.slice(field.selectionStart, field.selectionEnd)"
    assert field.evaluate(selected) == "2:30.04", "what is typed next replaces it"
    field.click(position={"x": 8, "y": 8})
    assert field.evaluate(selected) == "", "a second click places the cursor"
    keys.press("Escape")
    assert book.evaluate("print(len(explorer.place.path))") == "2"
    keys.press("Backspace")
    wait_for(explorer, "2×2 cells of 0.0833 s")  # a grid of single frames
    assert location(book).startswith("(16, 0) grid") and explorer.get_by_role("gridcell").count() == 4
    for _ in range(2):
        keys.press("Backspace")
    wait_for(explorer, "0:00.0–10:00.0")
    expect(explorer.get_by_role("gridcell").nth(16)).to_be_focused()

    keys.press("?")
    dialog = explorer.get_by_role("dialog", name="keys of the explorer")
    expect(dialog).to_contain_text("go to a time that you type")
    keys.press("f")
    keys.press("Escape")
    expect(dialog).to_be_hidden()
    expect(explorer.get_by_role("gridcell").nth(16)).to_be_focused()
    assert location(book) == "() grid None", "a key in the dialog does nothing else"


def test_the_ruler_is_clicked_dragged_and_typed(notebooks: Notebooks, setup: str) -> None:
    book = notebooks(setup, EXPLORER)
    explorer, page = explorer_in(book), book.page
    slider = explorer.get_by_role("slider", name="time in the video")
    expect(explorer.locator(".lane")).to_have_count(1)  # a drawn world has lines, and no packets
    assert explorer.get_by_role("img", name="Speech: 36 subtitle lines.").count() == 1
    box = slider.bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    page.mouse.click(box["x"] + box["width"] / 2, y)
    wait_for(explorer, "at full resolution, at 5:00")
    assert 297 < float(str(slider.get_attribute("aria-valuenow"))) < 303
    page.mouse.move(box["x"] + box["width"] / 2, y)
    page.mouse.down()
    for step in range(1, 6):
        page.mouse.move(box["x"] + box["width"] * (0.5 + 0.05 * step), y)
    expect(explorer.locator(".tip")).to_contain_text("7:30")
    page.mouse.up()
    wait_for(explorer, re.compile("at full resolution, at 7:(29|30)"))
    page.mouse.move(2, 2)
    slider.focus()
    page.keyboard.press("Home")
    wait_for(explorer, "at 0:00.000, frame 1 of")
    for key, time_text in (("PageUp", "1:00"), ("ArrowRight", "1:06"), ("Shift+ArrowLeft", "1:05"), ("End", "9:59")):
        page.keyboard.press(key)
        wait_for(explorer, f"at full resolution, at {time_text}")
    expect(slider).to_be_focused()
    assert str(slider.get_attribute("aria-valuetext")).startswith("9:59")


def test_a_clip_plays_and_pictures_are_saved(notebooks: Notebooks, setup: str, reference: GridExplorer) -> None:
    book = notebooks(setup, EXPLORER)
    explorer, page = explorer_in(book), book.page
    explorer.get_by_role("gridcell").nth(12).focus()
    page.keyboard.press("p")
    clip = explorer.get_by_role("group", name="clip")
    expect(clip).to_contain_text("Plays 1:52.5–2:01.8, without sound.", timeout=60_000)
    playing = (
        "() => { const v = document.querySelector('.explorer video'); return v.muted && v.loop && v.currentTime > 0; }"
    )
    page.wait_for_function(playing)
    film, stage = (explorer.locator(part).bounding_box() for part in ("video", ".stage"))
    assert film and stage and abs(film["width"] - stage["width"]) < 1, "as large as the picture"
    page.keyboard.press("Escape")
    expect(clip).to_be_hidden()
    expect(explorer.get_by_role("gridcell").nth(12)).to_be_focused()
    assert location(book) == "() grid None", "Escape closes the clip and nothing else"

    for key, name, expected in (
        ("s", "drawn-world-5 0-00.000 to 10-00.000.png", reference.picture.image),
        ("Shift+S", "drawn-world-5 1-57.187.png", reference.atlas.video.frame(reference.view.moments[12])),
    ):
        with page.expect_download() as download:
            page.keyboard.press(key)
        assert download.value.suggested_filename == name
        assert np.array_equal(np.asarray(Image.open(download.value.path())), np.asarray(expected))
        expect(explorer.locator(".notice")).to_have_text(f"Saved as {name}.")


def test_it_works_while_another_cell_runs(notebooks: Notebooks, setup: str) -> None:
    """JupyterLab sends what widgets say to a subshell of the kernel, which is a thread."""
    book = notebooks(setup, EXPLORER)
    explorer = explorer_in(book)
    explorer.get_by_role("gridcell").nth(3).click()
    wait_for(explorer, "depth 1")
    book.evaluate("explorer.back()")  # the last message of the kernel to the page belongs to a cell
    wait_for(explorer, "depth 0")
    book.page.evaluate("""() => {
      const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
      window.isDone = false;
      kernel.requestExecute({ code: "import time; time.sleep(20)" }).done.then(() => { window.isDone = true; });
    }""")
    book.page.wait_for_function(
        "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'busy'"
    )
    explorer.get_by_role("gridcell").nth(12).click()
    expect(explorer.locator(".caption")).to_contain_text("depth 1", timeout=10_000)
    explorer.get_by_role("button", name="full frame").click()
    expect(explorer.locator(".caption")).to_contain_text("at full resolution", timeout=10_000)
    assert book.page.evaluate("() => window.isDone") is False, "the other cell still runs"
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
