"""Exported pages are accessible: axe finds nothing grave, light and dark, wide and narrow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from playwright.sync_api import Browser, Page
from support.asking import ask, evaluate
from support.axe import SIZES, overflowing, report, violations

from atlaskit.agents.budget import Budget
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.experiments.record import NotebookRun, digest
from atlaskit.experiments.report import write_index
from atlaskit.runs.result import Result
from atlaskit.viz import plots, walk

pytestmark = [pytest.mark.browser, pytest.mark.long]


@pytest.fixture(scope="module")
def result(world: World, shared_cache: Cache) -> Result:
    question = next(question for question in world.questions if question.category == "COUNT")
    budget = Budget(calls=24)
    return ask(world.drawn, question, vlm=Oracle(world, miss=0.2), cache=shared_cache, k=4, cell=96, budget=budget)


@pytest.fixture(scope="module")
def index(world: World, shared_cache: Cache, result: Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results page of a notebook with figures and a table, one that failed, and another."""
    out = tmp_path_factory.mktemp("figures")
    cases = world.cases(drawn=True)[:4]
    given: dict[str, Any] = {"cache": shared_cache, "progress": False, "cell": 48, "k": 4, "budget": Budget(calls=8)}
    rows = evaluate(cases, vlm=lambda each: Oracle(each), **given)
    plots.save(plots.against_spread(rows), out, "03_spread")
    plots.save(plots.path(result), out, "03_path")
    pd.DataFrame({"model": ["oracle (perfect)"], "duration_s": [600], "questions": [4], "mean": [0.5]}).to_csv(
        out / "03_rows.csv", index=False
    )
    files = {path.name: digest(path) for path in out.iterdir()}
    captions = {"03_spread": "What `03_spread` shows; **tokens** of each question.", "03_path": "A path."}
    settings = {"scale": "small", "model": "oracle"}
    parameters = {"model": "oracle", "worlds": 1, "seeds": "test", "questions": 4}
    shared: dict[str, Any] = {"captions": captions, "versions": {"atlaskit": "0.1.0"}}
    when = "25 November 2026, 17:44 UTC"
    runs = [
        NotebookRun("03_depth", "Depth", when, 61.2, settings, parameters, files, **shared),
        NotebookRun("04_long", "Long videos", when, 2.0, settings, parameters, {}, failure="Cell 3: no.", **shared),
        NotebookRun("05_other", "Other", when, 2.0, {"scale": "full"}, parameters, {}, **shared),
    ]
    write_index(out, [runs[2]])
    return write_index(out, runs[:2])


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


STATES = [(scheme, size) for scheme in ("light", "dark") for size in SIZES]


@pytest.mark.parametrize(("scheme", "size"), STATES)
def test_the_walkthrough(opened: Callable[..., Page], result: Result, scheme: str, size: str, tmp_path: Path) -> None:
    walk.save(result, tmp_path / "run.html")
    page = opened(tmp_path / "run.html", scheme, size)
    check(page, tmp_path / f"walk-{scheme}-{size}-first.png")
    page.keyboard.press("End")
    page.locator(".regions > summary").click()
    page.locator(".regions > summary").click()
    check(page, tmp_path / f"walk-{scheme}-{size}-last.png")


@pytest.mark.parametrize(("scheme", "size"), STATES)
def test_the_results_page(opened: Callable[..., Page], index: Path, scheme: str, size: str, tmp_path: Path) -> None:
    page = opened(index, scheme, size)
    page.locator("details").first.evaluate("(details) => { details.open = true; }")
    check(page, tmp_path / f"index-{scheme}-{size}.png")
