"""Exported pages are accessible: axe finds nothing grave, light and dark, wide and narrow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from support.asking import ask
from support.axe import SIZES, overflowing, report, violations

from atlaskit.agents.budget import Budget
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.runs.result import Result
from atlaskit.viz import walk

pytestmark = [pytest.mark.browser, pytest.mark.long]


@pytest.fixture(scope="module")
def result(world: World, shared_cache: Cache) -> Result:
    question = next(question for question in world.questions if question.category == "COUNT")
    budget = Budget(calls=24)
    return ask(world.drawn, question, vlm=Oracle(world, miss=0.2), cache=shared_cache, k=4, cell=96, budget=budget)


@pytest.fixture
def opened(browser: Browser) -> Any:
    """A function that opens a file in a window of a size and a colour scheme."""
    contexts = []

    def open_page(path: Path, scheme: Any, size: str) -> Page:
        context = browser.new_context(viewport=SIZES[size], color_scheme=scheme)  # type: ignore[arg-type]
        contexts.append(context)
        page = context.new_page()
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()


def check(page: Page, path: Path) -> None:
    """Check a whole page, and leave a picture of it."""
    page.screenshot(path=path, full_page=True)
    found = violations(page)
    assert not found, report(found)
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"
    assert not overflowing(page, "body")


STATES = [("light", "wide"), ("dark", "narrow")]


@pytest.mark.parametrize(("scheme", "size"), STATES)
def test_the_walkthrough(opened: Callable[..., Page], result: Result, scheme: str, size: str, tmp_path: Path) -> None:
    walk.save(result, tmp_path / "run.html")
    page = opened(tmp_path / "run.html", scheme, size)
    check(page, tmp_path / f"walk-{scheme}-{size}-first.png")
    page.keyboard.press("End")
    page.locator(".regions > summary").click()
    page.locator(".regions > summary").click()
    check(page, tmp_path / f"walk-{scheme}-{size}-last.png")
