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
from support.jupyter import Notebooks

from atlaskit.agents.budget import Budget
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.runs.result import Result, in_words
from atlaskit.viz import walk
from atlaskit.viz.walk import assets

pytestmark = pytest.mark.browser

STEPS_SHOWN = 20_000
"""As many as a viewer shows of one run."""


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
def test_the_map_of_a_part_has_the_cells_of_the_part(
    page: Page, world: World, runs: tuple[Result, Result], shared_cache: Cache, tmp_path: Path
) -> None:
    question = runs[0].question
    moment_s = question.positions_s[0][0]
    start_s = max(0.0, moment_s - 100)
    limits: dict[str, Any] = {"k": 4, "cell": 96, "cache": shared_cache, "within": (start_s, start_s + 160)}
    walk.save(ask(world.drawn, question, vlm=Oracle(world), **limits), tmp_path / "part.html")
    page.goto((tmp_path / "part.html").as_uri())
    expect(page.locator(".saw figcaption")).to_contain_text("The map: the whole searched part at this step.")
    row, column = divmod(int((moment_s - start_s) / 10), 4)
    box = f"left:{25 * column:.3f}%;top:{25 * row:.3f}%"
    styles = [str(mark.get_attribute("style")) for mark in page.locator(".saw .mark.true").all()]
    assert any(style.replace(" ", "").startswith(box) for style in styles), (box, styles)


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


LONG = f"""() => {{
  const data = JSON.parse(document.getElementById("run").textContent), end = {STEPS_SHOWN};
  const who = (index) => (index % 41 === 40 ? "Master" : `Worker ${{index % 41}}`);
  const steps = Array.from({{ length: end }}, (_, index) => ({{ ...data.steps[4], saw: [], marks: [], who: who(index),
    round: 1 + (index % 11), time: [index, index + 1], tokens: 5, path: [] }}));
  const run = {{ ...data.run, count: end, clock: {{ end, isInSeconds: true }} }};
  const shown = pane(run, {{ picture: () => "", look() {{}} }});
  document.body.append(shown.box);
  let before = performance.now();
  for (let first = 0; first < end; first += 500) shown.add(steps.slice(first, first + 500), first + 500 >= end);
  const added = performance.now() - before;
  before = performance.now();
  shown.show(end - 1);
  const options = (index) => [...shown.filters.choosers[index].select.options].map((option) => option.label);
  return {{ added, moved: performance.now() - before, elements: shown.time.box.querySelectorAll("*").length,
    size: shown.time.box.innerHTML.length, lanes: shown.time.lanes, agents: options(0), actions: options(1),
    labels: ["[AA]", "[B]", "[A]", "[Z]"].sort(inOrder), tree: shown.regions.nodes[0].visits.textContent }};
}}"""


@pytest.mark.long
def test_a_long_run_has_bounded_lanes_and_names_in_the_order_of_their_numbers(exported: Page) -> None:
    told = exported.evaluate(LONG)
    assert told["elements"] < 120 and told["size"] < 1_000_000
    assert told["lanes"] == ["Master", *(f"Worker {number}" for number in range(16)), "other workers"]
    assert told["moved"] < 1_000 and told["added"] < 30_000, "it stays usable"
    assert told["agents"] == ["All agents", "Master", *(f"Worker {number}" for number in range(40))]
    assert told["actions"] == ["All actions", "adds evidence (AddToScratchpad)"]
    assert told["labels"] == ["[A]", "[B]", "[Z]", "[AA]"]
    visits = told["tree"]
    assert visits.index("Worker 2 in round 9") < visits.index("Worker 2 in round 10") < visits.index("Worker 10 in")


EARLY = """([before, press]) => {
  const data = JSON.parse(document.getElementById("run").textContent), { steps } = data;
  const shown = pane(data.run, { picture: () => "", look() {} });
  document.body.append(shown.box);
  shown.add(steps.slice(0, before), false);
  for (const key of press) shown.keys[key]();
  const at = [];
  for (let step = before; step < steps.length; step += 1) {
    shown.add([steps[step]], step === steps.length - 1);
    at.push(shown.heading.textContent.split(" ")[1]);
  }
  shown.box.remove();
  return at.map(Number);
}"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("before", "keys", "last"),
    [
        (0, "ArrowRight", 1),
        (1, "ArrowRight", 1),
        (1, "ArrowRight ArrowRight ArrowRight", 3),
        (3, "ArrowRight ArrowRight ArrowRight ArrowLeft", 2),
        (2, "ArrowRight ArrowRight ArrowRight Home", 0),
        (2, " ".join(["ArrowRight"] * 500), -1),
        (0, "", 0),
    ],
)
def test_a_key_pressed_before_its_step_arrives_is_followed(exported: Page, before: int, keys: str, last: int) -> None:
    """The run table opens a run step by step, and a reader may be faster than the kernel."""
    at = exported.evaluate(EARLY, [before, keys.split()])
    wanted = last if last >= 0 else before + len(at) - 1
    assert at[-1] == wanted and at == sorted(at), "it goes there once, and stays"


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


EVALUATION = """import atlaskit as ak
from functools import partial
folder = {folder!r}
cache = ak.Cache(folder + "/cache")
world = ak.benchmarks.atlasworld(seed=5, duration_s=600, questions=16, size=(320, 180), directory=folder)
cases = world.cases(drawn=True)
rows = ak.evaluate(cases, vlm=partial(ak.Oracle, miss=0.75, seed=3), search=ak.Search(cell=96, k=4),
                   budget=ak.Budget(calls=30), cache=cache, progress=False, traces=folder + "/traces")"""


@pytest.mark.long
def test_the_third_wrong_question_tells_its_right_answer_and_the_missed_frame(
    notebooks: Notebooks, world: World, tmp_path: Path
) -> None:
    book = notebooks(EVALUATION.format(folder=str(tmp_path)), "ak.widgets.RunTable(rows, cases, cache=cache)")
    table = book.output(1).locator(".runtable")
    table.get_by_role("combobox", name="outcome").select_option("wrong")
    third = table.locator("tbody tr").nth(2)
    asked = next(question for question in world.questions if question.text in third.inner_text())
    third.get_by_role("button").first.click()
    walker = book.output(1).locator(".atlaskit-walk").last
    assert asked.answer is not None
    expect(walker.locator(".pane > .answer")).to_contain_text(f"(truth: {in_words(asked, asked.answer)})")
    missed = walker.locator("details.moments button").filter(has_text="and not reported")
    found = re.search(r"at depth (\d+) in cell (\d+) at step (\d+)", missed.first.inner_text())
    assert found
    missed.first.click()
    expect(walker.locator(".heading")).to_have_text(re.compile(f"^Step {found[3]} "))
    expect(walker.locator(".saw img")).to_be_visible()
    left, top = 25 * (int(found[2]) % 4), 25 * (int(found[2]) // 4)
    expect(walker.locator(f'.saw .mark.true[style*="left:{left}.000%;top:{top}.000%"]')).to_have_count(1)


@pytest.mark.long
@pytest.mark.parametrize("width", [1100, 400])
def test_nothing_is_wider_than_the_page(exported: Page, width: int) -> None:
    exported.set_viewport_size({"width": width, "height": 900})
    for key in ("Home", "End"):
        exported.keyboard.press(key)
        assert exported.locator("#walker").evaluate("(el) => el.scrollWidth <= el.clientWidth + 1")
    for end in exported.locator(".ends span:not(:nth-child(2))").all():
        assert end.evaluate("(end) => end.getClientRects().length") == 1, "no time is broken"


COVERED = """() => [...document.querySelectorAll(".saw .mark:not(.dead)")].map((mark) => {
  const box = mark.getBoundingClientRect(), label = mark.querySelector("b")?.getBoundingClientRect();
  const corner = document.querySelector(".saw .frame").getBoundingClientRect();
  mark.style.pointerEvents = "auto";
  const at = (x, y) => document.elementFromPoint(box.left + x * box.width, box.top + y * box.height);
  const isOver = label && label.left < box.left + 0.45 * box.width && label.top < box.top + 0.15 * box.height;
  return [mark.contains(at(0.01, 0.02)), mark.contains(at(0.3, 0.1)), Boolean(isOver), mark.contains(at(0.9, 0.9))];
})"""


@pytest.mark.long
@pytest.mark.parametrize("width", [1280, 400])
def test_the_number_or_time_in_the_corner_of_a_cell_is_never_covered(
    exported: Page, runs: tuple[Result, Result], width: int
) -> None:
    exported.set_viewport_size({"width": width, "height": 3000})
    steps, seen = data_of(runs[0])["steps"], set[str]()
    kinds = {step["does"]: index for index, step in enumerate(steps) if any(step["marks"]) or not step["saw"]}
    for index in kinds.values():
        exported.evaluate(f"location.hash = 'step={index}'")
        expect(exported.locator(".heading")).to_have_text(re.compile(f"^Step {index} "))
        for corner, plate, is_over, rest in exported.evaluate(COVERED):
            assert (corner, plate, is_over, rest) == (False, False, False, True), steps[index]["what"]
        seen |= {str(mark.get_attribute("class")) for mark in exported.locator(".saw .mark").all()}
    assert {"mark acted", "mark true", "mark cited"} <= seen
