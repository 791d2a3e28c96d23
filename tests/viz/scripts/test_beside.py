"""Two runs side by side: which step of the other run goes with a step, and how two steps differ."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page
from support.scripts import PageScripts

from atlaskit.viz.walk import assets

PANES = [f"walk/script/{name}.js" for name in assets.PANES]


def step(who: str, round_: int | None = None, **given: Any) -> dict[str, Any]:
    told: dict[str, Any] = {"who": who, "round": round_, "what": "", "does": "", "saw": [], "asked": "", "said": []}
    told |= {"memory": [], "touches": [], "path": None, "cost": "", "verb": "", "marks": [], "change": {}, "spans": []}
    return {**told, "time": [0, 1], **given}


ONE = [step("Master", 1), step("Worker 1", 1), step("Worker 1", 1), step("Worker 2", 1), step("Master", 2)]
OTHER = [step("Master", 1), step("Worker 2", 1), step("Worker 1", 1), step("Master", 2)]
OPEN = """([one, other]) => {
  const none = { regions: [], evidence: [], notes: [], settings: [], moments: [], found: [], answer: "", truth: "" };
  const run = (steps) => ({ ...none, count: steps.length, title: "run", clock: "", k: 0, duration_s: 60 });
  const source = { picture: () => "", look: () => {} };
  globalThis.both = new SideBySide([run(one), run(other)], [source, source]);
  document.body.append(both.box);
  both.add(0, one, true);
  both.add(1, other, true);
}"""


@pytest.fixture
def page(page_scripts: PageScripts) -> Page:
    page = page_scripts(*PANES)
    page.evaluate(OPEN, [ONE, OTHER])
    return page


def test_a_step_goes_with_the_same_step_of_the_same_agent_in_the_same_round(page: Page) -> None:
    page.evaluate("() => { both.move.select.value = 'twin'; }")
    twins = page.evaluate("() => both.panes[0].steps.map((_, step) => both.twin(0, step))")
    assert twins == [0, 2, 2, 1, 3], "the second step of worker 1 goes with its only one"
    assert page.evaluate("() => both.panes[1].steps.map((_, step) => both.twin(1, step))") == [0, 3, 1, 4]


def test_step_by_step_stays_within_the_shorter_run(page: Page) -> None:
    page.evaluate("() => { both.move.select.value = 'step'; }")
    assert page.evaluate("() => both.panes[0].steps.map((_, step) => both.twin(0, step))") == [0, 1, 2, 3, 3]


def test_moving_one_run_moves_the_other_unless_they_are_independent(page: Page) -> None:
    now = "() => both.panes.map((pane) => pane.now())"
    page.evaluate("() => { both.move.select.value = 'step'; both.panes[0].show(2); }")
    assert page.evaluate(now) == [2, 2]
    page.evaluate("() => { both.move.select.value = ''; both.panes[1].show(0); }")
    assert page.evaluate(now) == [2, 0]


def test_two_steps_differ_in_what_a_reader_sees(page: Page) -> None:
    plain = step("Worker 1", 1, saw=[[0, "grid", None]], said=[["thought", "a", None]])
    differ = "([one, other]) => differences(one, other, COMPARED)"
    assert page.evaluate(differ, [plain, {**plain, "cost": "12 tokens", "saw": [[7, "grid", None]]}]) == []
    changed = {"the images": {"saw": []}, "the action": {"does": "Zoom"}, "the details": {"said": []}}
    for name, change in {**changed, "the memory": {"memory": [["M+ added", "[A]", 3]]}}.items():
        assert page.evaluate(differ, [plain, {**plain, **change}]) == [name]


def test_the_fields_that_differ_are_told_with_both_texts_and_highlighted(page: Page) -> None:
    one = step("Worker 1", 1, said=[["summary", "scored 2 cells", None], ["found", "a", 3], ["found", "b", 3]])
    other = {**one, "round": 2, "said": [["summary", "scored 8 cells", None], ["found", "a", 9], ["<b>", "c", None]]}
    fields = "([one, other]) => Object.values(COMPARED).flatMap((part) => fieldsOf(one, other, part))"
    differing = [
        ["action", "round", 1, 2],
        ["said", "summary", "scored 2 cells", "scored 8 cells"],
        ["said", "found", "a; b", "a"],
        ["said", "<b>", "none", "c"],
    ]
    assert [list(map(str, field)) for field in page.evaluate(fields, [one, other])] == [
        list(map(str, field)) for field in differing
    ]
    page.evaluate(OPEN, [[one], [other]])
    page.evaluate("() => { both.move.select.value = 'step'; both.panes[0].show(0); }")
    assert page.locator(".fields li").last.inner_text() == "<b>: Run 1 “none”, Run 2 “c”"
    marked = "(side) => [...both.panes[side].box.querySelectorAll('dt.differs')].map((term) => term.textContent)"
    assert page.evaluate(marked, 0) == ["summary", "found", "found"] and page.evaluate(marked, 1)[-1] == "<b>"
    page.evaluate("() => both.tell([])")
    assert page.evaluate(marked, 0) == [] and page.locator(".fields").last.is_hidden()


def test_a_line_above_two_runs_sums_up_their_regions_and_leads_to_them(page: Page) -> None:
    regions = [{"path": path, "told": f"cell {path}", "holds": "", "span": None} for path in ([], [1], [2])]
    one = [step("Master", path=[], tokens=700), step("Worker 0", path=[1], tokens=800)]
    other = [step("Master", path=[], tokens=5), step("Worker 0", path=[2], tokens=5), step("Worker 1", path=[1])]
    other[2]["tokens"] = 0
    page.evaluate(OPEN.replace("regions: []", f"regions: {regions}").replace("None", "null"), [one, other])
    told = page.locator(".told").last
    assert told.inner_text() == (
        "0 regions only in Run 1, 1 region only in Run 2, 2 regions in both. Evidence: 0 and 0 frames. "
        "Tokens: 1,500 and 10."
    )
    assert told.locator("button").all_inner_texts() == ["1 region only in Run 2", "2 regions in both"]
    told.locator("button").first.click()
    rows = page.locator("details.compared").last.locator("tbody tr")
    assert rows.count() == 1 and "cell [2]" in rows.inner_text() and "not visited" in rows.inner_text()
