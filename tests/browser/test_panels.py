"""The explorer's panels in a real JupyterLab: search, questions, stopped runs, hostile text."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect
from support.jupyter import SIZE, Notebooks
from support.paths import TESTS

pytestmark = [pytest.mark.browser, pytest.mark.long]

SETUP = f"""
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
EXPLORER = "explorer = ak.widgets.GridExplorer(video, vlm=vlm, k=4, cell=64, cache=ak.Cache(None))\nexplorer"


def test_words_are_gone_through_by_keys_and_are_only_text(notebooks: Notebooks) -> None:
    book = notebooks(SETUP, EXPLORER)
    explorer, keys = book.output(1).locator(".explorer"), book.page.keyboard
    cell, count = explorer.get_by_role("gridcell").nth(2), explorer.locator(".search .count")
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
    book = notebooks(SETUP, EXPLORER)
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
    assert book.evaluate("print(len(explorer.results), explorer.result is explorer.results[0])") == "1 True"
    ask.get_by_role("button", name="steps").click()
    steps = book.output(1).locator(".atlaskit-walk")
    expect(steps).to_contain_text("Who's there?")
    ask.get_by_role("button", name="steps").click()
    expect(steps).to_have_count(0)
    assert book.page.locator("img[src=x]").count() == 0 and book.page.title() != "run"
