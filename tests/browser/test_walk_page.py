"""The exported page, and two runs side by side, in a browser: map, outlines, axes, regions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from support.asking import ask

from atlaskit.agents.budget import Budget
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.runs.result import Result
from atlaskit.viz import walk

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def runs(world: World, shared_cache: Cache) -> tuple[Result, Result]:
    """Two runs of one question: the second overlooks more."""
    question = next(question for question in world.questions if question.category == "COUNT")
    limits: dict[str, Any] = {"k": 4, "cell": 96, "workers": 3, "budget": Budget(calls=60), "cache": shared_cache}
    one, other = (ask(world.drawn, question, vlm=Oracle(world, miss=miss, seed=2), **limits) for miss in (0.3, 0.7))
    assert one.is_right is False
    return one, other


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page whose console must stay clean."""
    page, faults = browser.new_page(viewport={"width": 1100, "height": 1400}), list[str]()
    page.on("console", lambda message: faults.append(message.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    yield page
    page.close()
    assert not faults


def step_of(page: Page, pane: int = 0) -> int:
    found = re.match(r"Step (\d+) ", page.locator(".heading").nth(pane).inner_text())
    assert found
    return int(found[1])


@pytest.fixture
def exported(page: Page, runs: tuple[Result, Result], tmp_path: Path) -> Page:
    """The exported page of the first run."""
    walk.save(runs[0], tmp_path / "run.html")
    page.goto((tmp_path / "run.html").as_uri())
    return page


def test_it_opens_on_the_map_and_ends_on_the_answer(exported: Page, runs: tuple[Result, Result]) -> None:
    result, last = runs[0], len(runs[0].trace) - 1
    assert step_of(exported) == 0
    caption = exported.locator(".saw figcaption")
    expect(caption).to_contain_text("The map: the whole video at this step. Evidence: none. Ruled out (black): 0 %.")
    assert exported.locator(".saw img").evaluate("(img) => img.complete && img.naturalWidth > 100")
    truth = {int(span[0] / 37.5) for span in result.question.positions_s}
    expect(exported.locator(".saw .mark.true")).to_have_count(len(truth))
    expect(exported.locator(".saw .mark.dead")).to_have_count(0)
    exported.keyboard.press("End")
    assert step_of(exported) == last
    expect(exported.locator(".saw figure")).to_have_count(2)
    expect(exported.locator(".saw img").first).to_have_attribute("alt", "The evidence at the end of the run.")
    said = exported.locator(".said")
    expect(said).to_contain_text(f"truth{result.truth_in_words}")
    expect(said).to_contain_text(f"answer{result.answer_in_words}, which is wrong")
    labels = [f"[{label}]" for label in result.evidence.labels]
    assert sorted(exported.locator(".saw .mark.found").all_inner_texts()) == sorted(labels), "in cells of their own"
    whole = [
        mark for mark in exported.locator(".saw .mark.dead").all() if "height:25" in str(mark.get_attribute("style"))
    ]
    covered = sum(end_s - start_s for start_s, end_s in result.dead_zones.intervals) / 37.5
    assert len(whole) == int(covered)
    exported.get_by_role("button", name="hide where the answer lies").click()
    assert not exported.locator(".saw .mark.true").first.is_visible()
    settings = exported.locator("details.settings")
    assert not settings.locator("dl").is_visible()
    settings.locator("summary").click()
    expect(settings).to_contain_text("cells in a row and in a column (k)4")
