"""A whole session with the explorer in a real JupyterLab: one line is typed, and the rest is done
in the page, by mouse and keyboard.
"""

from __future__ import annotations

import io
import re
import shutil
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Locator, expect
from support.jupyter import Book, Notebooks, Tab, difference

from atlaskit.benchmarks.atlasworld import World, atlasworld

pytestmark = pytest.mark.browser

SIZE = (320, 180)
LINE = 'ak.widgets.GridExplorer(ak.open_video("film.mp4", subtitles="film.srt"), vlm=oracle)'


@pytest.fixture
def film(tmp_path: Path, tab: Tab) -> World:
    """A film of 90 s with subtitles, in the folder of the notebook."""
    world = atlasworld(3, 90, questions=8, size=SIZE, directory=tmp_path / "worlds")
    file = next(world.directory.glob("*.mp4")) if world.video else None
    assert file is not None
    for name in (".mp4", ".srt"):
        shutil.copy(file.with_suffix(name), tab.lab.folder / f"film{name}")
    return world


def setup(film: World, tmp_path: Path) -> str:
    return f"""
import atlaskit as ak
world = ak.benchmarks.atlasworld(3, 90, questions=8, size={SIZE}, directory={str(film.directory.parent)!r})
oracle = ak.Oracle(world)
cache = ak.Cache({str(tmp_path / "cache")!r})
"""


class Session:
    """A person at the page of the explorer, of whom each scene is photographed."""

    def __init__(self, book: Book, folder: Path) -> None:
        self.page, self.folder, self.keys = book.page, folder, book.page.keyboard
        self.explorer = book.output(1).locator(".explorer")
        self.caption, self.ask = self.explorer.locator(".caption"), self.explorer.locator(".ask")

    def shoot(self, scene: str) -> None:
        self.page.screenshot(path=self.folder / f"{scene}.png")

    def sees(self, place: Locator, words: str) -> None:
        expect(place).to_contain_text(words, timeout=60_000)


def test_a_session_from_the_video_to_a_saved_frame(notebooks: Notebooks, film: World, tmp_path: Path) -> None:
    asked = next(question for question in film.questions if question.category == "SSS")
    line, truth = film.video.subtitles.lines[1], asked.in_words(asked.answer)  # type: ignore[arg-type]
    book = notebooks(setup(film, tmp_path), LINE)
    me = Session(book, tmp_path)
    me.sees(me.caption, "depth 0")
    me.shoot("1-opened")

    me.explorer.get_by_role("gridcell").first.focus()
    me.keys.press("t")
    me.keys.type("0:41.5")
    me.keys.press("Enter")
    me.sees(me.caption, "at 0:41.5")
    me.shoot("2-went-to-a-time")

    me.explorer.locator(".stage").focus()
    me.keys.press("p")
    clip = me.explorer.locator(".clip video")
    expect(clip).to_be_visible(timeout=60_000)
    me.page.wait_for_function("() => document.querySelector('.explorer .clip video').currentTime > 0")
    me.shoot("3-played-a-clip")
    me.keys.press("Escape")
    expect(clip).to_be_hidden()

    me.keys.press("/")
    me.keys.type(" ".join(line.text.upper().split()[:2]))
    hit = me.explorer.locator(".search .hits button").first
    me.sees(hit, line.text)
    assert hit.locator("mark").count() >= 1 and me.explorer.locator(".lane[data-lane=words]").count() == 1
    me.shoot("4-searched")
    me.keys.press("Enter")
    expect(hit).to_have_attribute("aria-current", "true")
    me.sees(me.explorer.locator(".status"), line.text[:30])
    me.keys.press("Escape")
    for _ in range(6):
        me.keys.press("Backspace")
        me.page.wait_for_timeout(300)
    me.sees(me.caption, "depth 0")
    assert me.explorer.locator(".cell .hit").count() >= 1, "cells with hits are marked"

    me.keys.press("q")
    expect(me.ask.get_by_label("Question")).to_be_focused()
    me.ask.get_by_label("This model can answer only these").select_option(asked.text)
    expect(me.ask.get_by_label("Choices")).to_have_value("\n".join(asked.choices))
    expect(me.ask.get_by_label("Line of code")).to_have_value(
        f"result = ak.ask(video, {asked.text!r}, choices={[*asked.choices]!r}, vlm=oracle, show=True)"
    )
    me.ask.get_by_role("button", name="Ask", exact=True).click()
    expect(me.ask.locator(".outcome")).to_be_in_viewport()
    me.sees(me.ask.locator(".outcome"), re.compile(f"Answer: [A-Z]: {re.escape(truth)}\\."))
    evidence = me.ask.locator(".evidence button")
    assert me.explorer.locator(".cell .found").count() >= 1 and evidence.count() >= 1
    me.shoot("5-asked")

    me.ask.get_by_role("button", name="steps").click()
    walker = book.output(1).locator(".atlaskit-walk")
    me.sees(walker, asked.text)
    walker.get_by_role("button", name="next →").first.click()
    me.shoot("6-followed-the-run")

    seen = evidence.first.inner_text()
    evidence.first.scroll_into_view_if_needed()
    stage = me.explorer.locator(".stage")
    expect(stage).not_to_be_in_viewport(ratio=0.5)
    evidence.first.click()
    me.sees(me.caption, f"at {seen.split()[1]}")
    expect(stage).to_be_in_viewport(ratio=0.9)
    expect(stage).to_be_focused()
    me.shoot("7-saw-the-evidence")

    shown = me.explorer.locator(".stage img")
    with me.page.expect_download() as download:
        me.explorer.get_by_role("button", name="save frame").click()
    saved = Image.open(io.BytesIO(Path(download.value.path()).read_bytes()))
    assert saved.format == "PNG" and saved.size == SIZE and download.value.suggested_filename.endswith(".png")
    assert difference(Image.open(io.BytesIO(shown.screenshot())), saved) < 12
    me.shoot("8-saved-the-frame")
    assert len(book.cells()) == 2, "nothing was typed into a cell"
