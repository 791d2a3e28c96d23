"""Runs in a real JupyterLab: live, step by step, two side by side, and as rows of a table."""

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from playwright.sync_api import Locator, expect
from support.asking import ask, evaluate
from support.jupyter import Book, Notebooks
from support.paths import TESTS

import atlaskit as ak
from atlaskit.runs.replay import pictures
from atlasworld import Oracle, World

pytestmark = [pytest.mark.browser, pytest.mark.long]


class SavedRuns:
    """Two runs of one question, as results and as files, and the cache with their images."""

    def __init__(self, world: World, folder: Path) -> None:
        self.folder = folder
        self.cache = ak.Cache(folder / "cache")
        question = next(question for question in world.questions if question.category == "COUNT")
        options: dict[str, Any] = {"cache": self.cache, "k": 4, "cell": 96, "budget": ak.Budget(calls=24)}
        self.runs = [ask(world.drawn, question, vlm=Oracle(world, miss=miss), **options) for miss in (0.2, 0.5)]
        self.cells = f"import atlaskit as ak\ncache = ak.Cache({str(folder / 'cache')!r})"
        self.paths = [str(folder / f"run{number}.json") for number in range(2)]
        for result, path in zip(self.runs, self.paths, strict=True):
            result.save(path)
            for each in pictures(result.trace, world.drawn, self.cache):
                each.picture.jpeg()


@pytest.fixture(scope="module")
def saved(world: World, tmp_path_factory: pytest.TempPathFactory) -> SavedRuns:
    return SavedRuns(world, tmp_path_factory.mktemp("saved"))


def viewer_in(book: Book, cell: int = 1) -> Locator:
    """Return the viewer once it shows a step."""
    walker = book.output(cell).locator(".atlaskit-walk").last
    walker.locator(".heading").first.wait_for()
    return walker


def wait_for_step(walker: Locator, step: int, pane: int = 0) -> None:
    """Wait until a pane shows a step with all of its images."""
    expect(walker.locator(".heading").nth(pane)).to_have_text(re.compile(rf"^Step {step} of "))
    expect(walker.locator(".pane").nth(pane).locator("figure[aria-busy]")).to_have_count(0)


def steps_of(result: ak.Result) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the steps in the exported page of a run, and its summary."""
    page: dict[str, Any] = json.loads(re.findall(r'id="run">(.*?)</script>', ak.walk.html(result))[0])
    return page["steps"], page["run"]


def test_mouse_keys_and_filters_select_steps(notebooks: Notebooks, saved: SavedRuns) -> None:
    book = notebooks(saved.cells, f"ak.widgets.TraceViewer({saved.paths[0]!r}, cache=cache)")
    walker = viewer_in(book)
    keys = book.page.keyboard
    steps, summary = steps_of(saved.runs[0])
    last = len(steps) - 1
    assert book.output(1).locator(".atlaskit-still").is_hidden(), "the widget hides the static picture"
    walker.get_by_role("button", name="next").click()
    wait_for_step(walker, 1)
    for key, step in (("ArrowRight", 2), ("End", last), ("ArrowRight", last), ("ArrowLeft", last - 1), ("Home", 0)):
        keys.press(key)
        wait_for_step(walker, step)
    expect(walker.locator(".saw img")).to_have_js_property("complete", True)
    slider = walker.get_by_role("slider", name="step")
    slider.focus()
    keys.press("ArrowRight")
    wait_for_step(walker, 1)
    assert str(slider.get_attribute("aria-valuetext")).startswith("Step 1 of")

    who = walker.get_by_role("group", name="Filters").locator("select").first
    of_master = [index for index, step in enumerate(steps) if step["who"] == "Master"]
    who.select_option("Master")
    wait_for_step(walker, of_master[0])
    expect(walker.get_by_role("status").filter(has_text="steps")).to_have_text(f"{len(of_master)} of {last + 1} steps")
    walker.get_by_role("button", name="next").click()
    wait_for_step(walker, of_master[1])
    who.select_option("")
    walker.get_by_role("slider", name="time of the run").focus()
    keys.press("End")
    wait_for_step(walker, last)
    expect(walker.locator(".saw img")).to_have_count(2)
    item, found = summary["evidence"][-1]
    walker.get_by_role("button", name=item).click()
    wait_for_step(walker, found)

    regions = walker.get_by_role("list", name="Regions by depth")
    region = summary["regions"][2]
    regions.get_by_role("button", name=region["told"]).first.click()
    assert steps[current_step(walker)]["path"][: len(region["path"])] == region["path"]
    assert len(book.cells()) == 2, "JupyterLab handled none of the keys"


def current_step(walker: Locator, pane: int = 0) -> int:
    """Return the index of the step that is shown."""
    found = re.match(r"Step (\d+)", walker.locator(".heading").nth(pane).inner_text())
    assert found
    return int(found[1])


def test_two_runs_move_together(notebooks: Notebooks, saved: SavedRuns) -> None:
    book = notebooks(saved.cells, f"ak.widgets.TraceViewer(*{saved.paths}, cache=cache)")
    walker = viewer_in(book)
    expect(walker.locator(".heading")).to_have_count(2)
    (one, _), (other, _) = map(steps_of, saved.runs)
    panes = walker.locator(".pane")
    together = walker.get_by_label("move together")
    together.uncheck()
    panes.nth(1).get_by_role("button", name="next").click()
    wait_for_step(walker, 1, 1)
    wait_for_step(walker, 0, 0)
    together.check()
    panes.nth(0).get_by_role("button", name="next").focus()
    for index, step in enumerate(one[1:9], start=1):
        book.page.keyboard.press("ArrowRight")
        wait_for_step(walker, index, 0)
        path = step["path"]
        matching = other[current_step(walker, 1)]
        if path is None:
            assert matching["path"] is None and matching["does"] == step["does"]
        elif path in [each["path"] for each in other]:
            assert matching["path"] == path
        else:
            assert matching["path"] == path[: len(matching["path"])], "the nearest region around it"
    panes.nth(0).get_by_role("button", name="previous").focus()
    book.page.keyboard.press("Home")
    walker.get_by_role("button", name="next difference").click()
    walker.get_by_role("button", name="next difference").click()
    expect(walker.locator(".beside > .controls .quiet")).to_contain_text("These steps differ in")


@pytest.fixture(scope="module")
def rows(world: World, saved: SavedRuns) -> pd.DataFrame:
    """Rows of two methods on the same questions, with traces of all but one."""
    cases = world.cases(drawn=True)[:5]
    given: dict[str, Any] = {"cache": saved.cache, "progress": False, "traces": saved.folder / "traces"}
    searched = evaluate(cases, vlm=partial(Oracle, miss=0.4), cell=48, k=4, budget=ak.Budget(calls=12), **given)
    joined = pd.concat([searched, evaluate(cases, "uniform", vlm=Oracle, **given)], ignore_index=True)
    joined.loc[9, ["stop", "trace", "failure", "right"]] = ["failed", "", "The server died.", False]
    joined.assign(prediction=joined["prediction"].astype(str)).to_parquet(saved.folder / "rows.parquet")
    return joined


def test_rows_are_sorted_filtered_and_opened(notebooks: Notebooks, saved: SavedRuns, rows: pd.DataFrame) -> None:
    book = notebooks(
        f"{saved.cells}\nimport pandas as pd\nrows = pd.read_parquet({str(saved.folder / 'rows.parquet')!r})",
        "ak.widgets.RunTable(rows, cache=cache)",
    )
    table = book.output(1).locator(".runtable")
    keys = book.page.keyboard
    lines = table.locator("tbody tr")
    expect(lines).to_have_count(10)

    def column(name: str) -> list[str]:
        index = table.locator("thead th").all_inner_texts().index(name)
        return lines.locator(f":nth-child({index + 1}):is(td)").all_inner_texts()

    tokens = rows["tokens"].tolist()
    orders = {"ascending": sorted(tokens), "descending": sorted(tokens, reverse=True), "none": tokens}
    table.get_by_role("button", name="tokens", exact=True).focus()
    for order, values in orders.items():
        keys.press("Space")
        expect(table.get_by_role("columnheader", name="tokens")).to_have_attribute("aria-sort", order)
        assert column("tokens") == [f"{value:,}" for value in values]

    outcome = table.get_by_role("combobox", name="outcome")
    outcome.select_option("failed")
    expect(lines).to_have_count(1)
    expect(table.get_by_role("status")).to_have_text("1 of 10 rows")
    expect(table.locator(".means")).to_have_text("1 row, chosen by outcome")
    outcome.select_option("")
    words = rows["question"][1].lower().split()[-2:]
    table.get_by_role("searchbox").fill(" ".join(words))
    matching = [text for text in rows["question"] if all(word in text.lower() for word in words)]
    expect(lines).to_have_count(len(matching))
    table.get_by_role("searchbox").fill("")

    table.get_by_role("button", name="open the run of row 1", exact=True).click()
    walker = viewer_in(book)
    wait_for_step(walker, 0)
    expect(walker).to_be_focused()
    keys.press("ArrowRight")
    keys.press("ArrowRight")
    wait_for_step(walker, 2)
    assert walker.locator(".question").inner_text() == rows["question"][1]
    compare = table.get_by_role("button", name="compare the run of row 1 with")
    expect(compare).to_have_count(1)
    assert compare.get_attribute("data-row") == "6", "the same question, by the other method"
    title = book.output(1).locator(".title-bar")
    compare.click()
    expect(walker.locator(".pane")).to_have_count(2)
    expect(title.get_by_role("heading")).to_have_text("Runs 1 and 6 of the table, below as run 1 and run 2")
    expect(title).to_be_in_viewport()
    assert "video-rlm" in walker.locator(".title").first.inner_text()
    title.get_by_role("button", name="close runs 1 and 6").click()
    expect(book.output(1).locator(".pane")).to_have_count(0)
    expect(table.get_by_role("button", name="open the run of row 1", exact=True)).to_be_focused()
    table.get_by_role("button", name="open the run of row 9").click()
    expect(book.output(1).locator(".opened .status")).to_contain_text("because its run failed: The server died.")


SETUP = """
import itertools, pathlib, sys, time; sys.path.insert(0, {tests!r})
import atlaskit as ak
from support.model_doubles import ATTACK, Looking, Spiteful
from support.stand_ins import ScriptedAttackVideo
numbers = itertools.count(1)
class Held(Spiteful):
    def complete(self, request, **options):
        number = next(numbers)
        while number > int(pathlib.Path({allowed!r}).read_text() or 0):
            time.sleep(0.1)
        return super().complete(request, **options)
"""
ASK = """
result = ak.ask(ScriptedAttackVideo(), ATTACK, ["a circle", ATTACK[:-1]], vlm=Looking(Held(5)), workers=3, show=True,
                search=ak.Search(k=4, cell=32, steps=5), budget=ak.Budget(calls=12), cache=ak.Cache(None))
"""


def test_a_run_is_displayed_and_its_result_remains(notebooks: Notebooks, tmp_path: Path) -> None:
    allowed = tmp_path / "allowed"  # as many calls as it says are answered, so that the run waits to be seen
    allowed.write_text("6")
    book = notebooks(SETUP.format(tests=str(TESTS), allowed=str(allowed)))
    book.page.evaluate(
        """(code) => {
          const panel = window.jupyterapp.shell.currentWidget, model = panel.content.model;
          model.sharedModel.addCell({ cell_type: "code", source: code });
          panel.content.activeCellIndex = model.cells.length - 1;
          window.jupyterapp.commands.execute("notebook:run-cell"); // whose end is not awaited
        }""",
        ASK,
    )
    live = book.output(1)
    expect(live).to_contain_text(re.compile(r"round \d+ · \d+ calls of at most 12"))
    expect(live.get_by_role("img", name=re.compile("A contact sheet of .* 4×4 cells"))).to_be_visible()
    expect(live).to_contain_text("Latest steps")
    allowed.write_text("100")
    expect(live).to_contain_text("stopped by")
    book.idle()
    assert "Latest steps" not in live.inner_text() and live.locator(".jp-OutputArea-child").count() == 1
    assert "<script>document.title='run'</script>" in live.inner_text() and book.page.title() != "run"
    (output,) = book.save()["cells"][1]["outputs"]
    assert output["output_type"] == "display_data" and "stopped by" in "".join(output["data"]["text/html"])
    assert live.locator("img").count() > 0
