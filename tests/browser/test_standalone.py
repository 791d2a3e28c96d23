"""`atlaskit explore` in a browser: the widget's page without a notebook."""

import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import av
import pytest
from browser.axe import violations
from PIL import Image
from playwright.sync_api import Browser, Page, expect
from support.answering import answering
from support.speaking import speaking_video

from atlaskit.__main__ import main
from atlaskit.evaluation import tables

pytestmark = [pytest.mark.browser, pytest.mark.long]
WAIT_MS = 60_000


@contextmanager
def serving(*words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A command that runs in the current folder, and the address that it printed."""
    command = [sys.executable, "-m", "atlaskit", *words, "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found = re.search(r"http://\S+", process.stdout.readline())
    assert found
    yield process, found[0]
    process.kill()
    process.wait()


@pytest.fixture
def server(film_file: Path, in_tmp: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    with serving("explore", str(film_file)) as running:
        yield running


@pytest.fixture
def faults() -> list[str]:
    """Errors and warnings of a page, and its requests to another address."""
    return []


def opened(browser: Browser, address: str, faults: list[str], **options: Any) -> Page:
    """Open an address in a window of its own."""
    page = browser.new_context(**options).new_page()
    host = urlsplit(address).netloc
    page.set_default_timeout(WAIT_MS)
    page.on("console", lambda said: faults.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda each: None if urlsplit(each.url).netloc in (host, "") else faults.append(each.url))
    page.goto(address)
    return page


@pytest.fixture
def page(browser: Browser, server: tuple[subprocess.Popen[str], str], faults: list[str]) -> Iterator[Page]:
    page = opened(browser, server[1], faults, color_scheme="dark", viewport={"width": 1100, "height": 1000})
    page.get_by_role("gridcell").first.wait_for()
    yield page
    page.context.close()


def test_the_page_explores_a_video(
    page: Page, server: tuple[subprocess.Popen[str], str], faults: list[str], in_tmp: Path
) -> None:
    process, address = server
    assert page.url.partition("#")[0] == address.partition("?")[0], "the token has left the address bar"
    assert (len(urlsplit(address).path), page.context.cookies()[0]["path"]) == (18, urlsplit(address).path)
    expect(page.locator("#state")).to_be_hidden()
    for part in ("body", ".atlaskit"):
        expect(page.locator(part)).to_have_css("background-color", "rgb(21, 24, 28)")  # the dark scheme's

    caption, notes = page.locator(".explorer .caption"), page.locator(".notes")
    expect(caption).to_contain_text("shots")
    page.get_by_role("gridcell").nth(12).click()
    expect(caption).to_contain_text("0:22.5–")
    spare_px = page.locator(".sheet img").evaluate("(img) => img.naturalWidth - img.clientWidth * devicePixelRatio")
    assert 0 <= spare_px < 8 * 40, "as sharp as the screen, up to the next step"
    page.get_by_role("gridcell").nth(1).focus()
    page.keyboard.press("w")
    for end, time in (("from", "0:22.583"), ("to", "0:22.667")):
        expect(notes.get_by_label(end, exact=True)).to_have_value(time)  # the cell that was picked
    page.keyboard.press("Escape")
    page.keyboard.press("f")
    expect(caption).to_contain_text("at full resolution")
    with page.expect_download() as saved:
        page.keyboard.press("s")
    assert Image.open(saved.value.path()).size == (320, 180)
    page.keyboard.press("p")
    page.wait_for_function("() => document.querySelector('video')?.readyState >= 2")
    assert page.locator("video").evaluate("(video) => [video.videoWidth, video.error]") == [320, None]
    page.keyboard.press("Escape")

    page.reload()
    expect(caption).to_contain_text("at full resolution")  # the address tells where one was
    page.go_back()
    page.get_by_role("gridcell").first.wait_for()
    expect(caption).to_contain_text("0:22.5–")
    assert faults == []
    for width, height in ((1440, 900), (1920, 1080), (1440, 500)):
        page.set_viewport_size({"width": width, "height": height})
        stage, sheet = (page.locator(each).bounding_box() for each in (".stage", ".sheet"))
        assert stage is not None and sheet is not None
        assert sheet["height"] <= stage["height"] + 1, "the whole grid is in sight"
        assert sheet["width"] <= stage["width"] + 1
    page.set_viewport_size({"width": 400, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400

    process.send_signal(signal.SIGINT)
    expect(page.get_by_role("alert").first).to_contain_text("atlaskit has stopped")
    assert process.wait(60) == 0


def tab_to(page: Page, words: str) -> None:
    """Press Tab until the focus is on what has these words."""
    while page.evaluate("() => document.activeElement.textContent") != words:
        page.keyboard.press("Tab")


def test_find_the_second_goal_note_it_and_send_the_clip_by_keys_alone(
    browser: Browser, faults: list[str], in_tmp: Path
) -> None:
    speaking_video(in_tmp / "match.mp4", [(5.0, "one"), (15.0, "two")], 20, codec="aac")
    cues = "1\n00:00:05,000 --> 00:00:06,000\nA goal!\n\n2\n00:00:15,000 --> 00:00:16,000\ngoal\n"
    (in_tmp / "match.srt").write_text(cues)
    with serving("explore", "match.mp4", "--subtitles", "match.srt") as (_, address):
        page = opened(browser, address, faults, device_scale_factor=2)
        keys = page.keyboard
        notes = page.locator(".notes")
        page.get_by_role("gridcell").first.wait_for()
        keys.press("/")
        keys.type("goal")
        expect(page.get_by_text("2 lines")).to_be_visible()
        keys.press("Enter")
        keys.press("Enter")
        expect(page.locator(".explorer .caption")).to_contain_text("at 0:15.000")
        keys.press("Escape")
        keys.press("w")
        expect(notes.get_by_label("note ", exact=True)).to_be_focused()
        keys.type("the second")
        keys.press("Shift+Tab")
        keys.type("goal\n")
        expect(notes.get_by_role("listitem")).to_contain_text("0:15.000–0:15.200 goal the second")
        tab_to(page, "export")
        with page.expect_download() as table:
            keys.press("Enter")
        assert "goal,the second" in Path(table.value.path()).read_text("utf-8-sig")
        tab_to(page, "clip")
        with page.expect_download() as film:
            keys.press("Enter")
        with av.open(film.value.path()) as container:
            assert container.streams.audio and container.format.name.startswith("mov")
        assert not violations(page) and faults == []
        page.goto(address)  # another tab
        page.get_by_text("Notes (W)").click()
        expect(notes.get_by_text("the second")).to_be_visible()
        page.context.close()


def test_rows_come_while_an_evaluation_writes_them(browser: Browser, in_tmp: Path, faults: list[str]) -> None:
    here = in_tmp / "rows.csv"
    asked = ["evaluate", "atlasworld", "--load", "minutes", "1", "--load", "drawn", "true", "--oracle", "0.6"]
    assert main([*asked, "--traces", "runs", "--out", "whole.csv"]) == 0
    rows = tables.load("whole.csv")
    tables.save(rows.iloc[[1, 2]], tables.so_far(here))
    with serving("browse", "rows.csv") as (_, address):
        page = opened(browser, address, faults, color_scheme="dark")
        expect(page.get_by_text("The evaluation is not finished")).to_be_visible()
        page.get_by_role("button", name="open the run of row 1").click()
        expect(page.get_by_role("heading", name=re.compile("Step 0 of"))).to_be_visible()
        assert not violations(page), "table and run can be read in the dark"
        before = page.get_by_role("row").nth(2).inner_text()
        page.get_by_role("searchbox").first.fill(str(rows["id"][2]))
        tables.save(rows, here)
        expect(page.get_by_text(f"1 of {len(rows)} rows")).to_be_visible()
        expect(page.get_by_text("The evaluation is not finished")).to_be_hidden()
        assert page.get_by_role("row").nth(1).inner_text() == before, "a row that was there keeps its place"
        expect(page.get_by_role("button", name="close the run of row 1")).to_be_visible()
        tables.save(rows.iloc[3:], here)
        expect(page.get_by_role("heading", name=re.compile("Step 0 of"))).to_be_hidden()
        assert faults == []
        page.context.close()


def test_it_asks_one_question_after_the_other_and_writes_the_shells_line(
    film_file: Path, browser: Browser, faults: list[str], in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line, typed in a shell, pays nothing: its answer is the page's."""
    with answering() as model, serving("explore", str(film_file), "--model", model, "any-vlm") as (_, address):
        page = opened(browser, address, faults)
        page.get_by_role("gridcell").first.wait_for()
        ask, outcome = page.locator(".ask"), page.locator(".ask .outcome")
        page.keyboard.press("q")  # before anything has the focus
        expect(ask.get_by_label("Question")).to_be_focused()
        expect(ask.get_by_text("can answer only these")).to_be_hidden()
        page.get_by_role("gridcell").nth(12).click()
        expect(page.locator(".explorer .caption")).to_contain_text("0:22.5–")
        for question in ("Who's there?", "-- and who else?"):
            ask.get_by_label("Question").fill(question)
            line = ask.get_by_label("Line", exact=True)
            expect(line).to_have_value(re.compile(re.escape(shlex.quote(question))))
            ask.get_by_role("button", name="Ask", exact=True).click()
            expect(ask.locator(".asked")).to_have_text(question)
            expect(outcome).to_contain_text("Answer:")
            kit, command, film, *words = shlex.split(line.input_value())
            assert (kit, command) == ("atlaskit", "ask") and "--within" in words
            assert main([command, film, "--replay", *words]) == 0
            answer = outcome.inner_text().removeprefix("Answer: ").partition(";")[0]
            assert f"answer    {answer}\n" in capsys.readouterr().out
        page.context.close()


def test_a_page_that_becomes_wider_undoes_no_click(page: Page, server: tuple[subprocess.Popen[str], str]) -> None:
    """The sharper picture is requested while the answer to the click is on its way."""
    server[0].send_signal(signal.SIGSTOP)  # the answer takes longer than a change of the width
    page.set_viewport_size({"width": 1600, "height": 1600})
    page.get_by_role("gridcell").nth(12).dispatch_event("click")
    page.wait_for_timeout(1_000)
    server[0].send_signal(signal.SIGCONT)
    page.wait_for_timeout(1_000)
    expect(page.locator(".explorer .caption")).to_contain_text("0:22.5–", timeout=20_000)
