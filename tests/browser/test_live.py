"""The display of a run while it happens, in a real JupyterLab."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect
from support.jupyter import Notebooks
from support.paths import TESTS

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


@pytest.mark.browser
@pytest.mark.long
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
