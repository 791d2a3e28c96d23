"""The exported page, and two runs side by side, in a browser: map, outlines, axes, regions."""

from __future__ import annotations

import json
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
from atlaskit.viz.walk import assets

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


def data_of(result: Result) -> dict[str, Any]:
    """Return what the exported page of a run holds."""
    data: dict[str, Any] = json.loads(re.findall(r'id="run">(.*?)</script>', walk.html(result))[0])
    return data


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


@pytest.mark.long
def test_the_missed_moment_leads_to_where_it_was_shown(exported: Page) -> None:
    missed = exported.locator("details.moments button").filter(has_text="was missed")
    found = re.search(r"at depth (\d+) in cell (\d+) at step (\d+)", missed.first.inner_text())
    assert found
    missed.first.click()
    assert step_of(exported) == int(found[3])
    row, column = divmod(int(found[2]), 4)
    left, top = f"left:{25 * column:.3f}%", f"top:{25 * row:.3f}%"
    styles = [str(mark.get_attribute("style")) for mark in exported.locator(".saw .mark.true").all()]
    assert any(left in style and top in style for style in styles), "its cell is outlined"


@pytest.mark.long
def test_the_axis_of_the_run_leads_to_steps_by_mouse_and_keys(exported: Page, runs: tuple[Result, Result]) -> None:
    steps, axis = data_of(runs[0])["steps"], exported.get_by_role("slider", name="time of the run")
    ends = axis.locator(".ends span").all_inner_texts()
    no_times = "steps in order, parallel ones side by side (no times known)"
    assert ends == ["step 0", no_times, f"step {len(steps) - 1}"], "steps that exist, not places"
    total = sum(step["tokens"] for step in steps)
    lanes = axis.locator(".lanes span").all_inner_texts()
    assert lanes == ["Master", "Worker 0", "Worker 1", "Worker 2", f"{total:,} tokens"]
    axis.focus()
    of_worker = [index for index, step in enumerate(steps) if step["who"] == "Worker 1"]
    exported.keyboard.press("End")
    assert step_of(exported) == len(steps) - 1
    exported.keyboard.press("Home")
    exported.keyboard.press("ArrowDown")
    exported.keyboard.press("ArrowDown")
    assert step_of(exported) == of_worker[0]
    exported.keyboard.press("ArrowRight")
    assert step_of(exported) == of_worker[1] and f"Step {of_worker[1]} " in str(axis.get_attribute("aria-valuetext"))
    exported.keyboard.press("ArrowUp")
    beside = steps[step_of(exported)]
    assert beside["who"] == "Worker 0" and beside["time"][0] == steps[of_worker[1]]["time"][0], "at the same time"
    drawing = axis.locator("svg").bounding_box()
    assert drawing is not None
    end, target = max(step["time"][1] for step in steps), of_worker[-1]
    middle = sum(steps[target]["time"]) / 2
    exported.mouse.click(drawing["x"] + drawing["width"] * middle / end, drawing["y"] + 2.5 * 16)
    assert step_of(exported) == target


@pytest.mark.long
def test_two_runs_are_compared_by_region(page: Page, runs: tuple[Result, Result], tmp_path: Path) -> None:
    data = [data_of(result) for result in runs]
    script = f"""{assets.script(*assets.PANES)}
    const data = JSON.parse(document.getElementById("data").textContent);
    const both = beside(data.map(({{ run }}, side) => ({{ ...run, title: `Run ${{side}}` }})),
      data.map(({{ pictures }}) => ({{ picture: (number) => pictures[number], look() {{}} }})));
    document.getElementById("here").append(both.box);
    data.forEach(({{ steps }}, side) => both.add(side, steps, true));"""
    embedded = json.dumps(data).replace("<", "\\u003c")
    (tmp_path / "two.html").write_text(
        f"<!doctype html><meta charset=utf-8><style>{assets.style('page', 'walk')}</style>"
        f'<div id="here" class="atlaskit-walk"></div><script type="application/json" id="data">{embedded}</script>'
        f"<script>{script}</script>",
        encoding="utf-8",
    )
    page.goto((tmp_path / "two.html").as_uri())
    expect(page.get_by_label("Move together:")).to_have_value("region")
    one, other = (each["steps"] for each in data)
    visited = [{tuple(step["path"]) for step in steps if step["path"] is not None} for steps in (one, other)]
    for index, step in enumerate(one):
        page.evaluate(f"both.panes[0].show({index})")
        twin = other[step_of(page, 1)]
        if step["path"] is not None:
            path = tuple(step["path"])
            nearest = next(path[:depth] for depth in range(len(path), -1, -1) if path[:depth] in visited[1])
            assert tuple(twin["path"]) == nearest, "the same region, or the nearest one around it"
    only = (visited[0] - visited[1], visited[1] - visited[0])
    assert only[0] or only[1], "the runs differ"
    table, rows = page.locator("details.compared"), page.locator("details.compared tbody tr")
    expect(rows).to_have_count(len(visited[0] | visited[1]))
    for value, count in (("both", len(visited[0] & visited[1])), ("0", len(only[0])), ("1", len(only[1]))):
        table.get_by_label("Regions:").select_option(value)
        expect(rows).to_have_count(count)
    table.get_by_label("Regions:").select_option("both")
    rows.nth(3).locator("button").nth(1).click()
    assert one[step_of(page, 0)]["path"] == other[step_of(page, 1)]["path"] is not None
    page.evaluate("both.panes[0].show(0)")
    seen = []
    for _ in range(6):
        page.get_by_role("button", name="next difference").click()
        seen.append(step_of(page, 0))
    assert seen == sorted(set(seen)) and len(seen) == 6
    status = page.locator(".beside > .controls .quiet")
    assert re.search("differ in|Run 2 did not visit", status.inner_text())
    told = page.locator(".beside > .told")
    assert f"{len(only[1])} region{'' if len(only[1]) == 1 else 's'} only in Run 2" in told.inner_text()
    totals = [f"{sum(step['tokens'] for step in each['steps']):,}" for each in data]
    assert f"Tokens: {' and '.join(totals)}." in told.inner_text()
    told.get_by_role("button", name="in both").click()
    expect(rows).to_have_count(len(visited[0] & visited[1]))
    assert table.locator("summary").evaluate("(summary) => summary === document.activeElement")
    expect(table.locator("summary")).to_be_in_viewport()
