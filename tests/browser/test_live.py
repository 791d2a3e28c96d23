"""The display of a run while it happens, in a real JupyterLab."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect
from support.jupyter import Notebooks
from support.model_doubles import ATTACK
from support.paths import TESTS

TESTS = str(TESTS)
SETUP = f"""
import sys, threading; sys.path.insert(0, {str(TESTS)!r})
import atlaskit as ak
from support.model_doubles import ATTACK, Looking, Spiteful
from support.stand_ins import ScriptedAttackVideo
release = threading.Semaphore(0)
class Held(Spiteful):
    def complete(self, request, **options):
        release.acquire(timeout=120)
        return super().complete(request, **options)
"""
ASK = """
result = ak.ask(ScriptedAttackVideo(), ATTACK, ["a circle", ATTACK[:-1]],
    vlm=Looking(Held(5)), search=ak.Search(k=4, cell=32, steps=5), workers=3,
                budget=ak.Budget(calls=12), cache=ak.Cache(None), show=True)
"""
RELEASE = """
import pathlib, threading, time
def release_calls(released=0):
    while True:
        time.sleep(0.1)
        allowed = int(pathlib.Path({path!r}).read_text() or 0)
        release.release(allowed - released) if allowed > released else None
        released = max(released, allowed)
threading.Thread(target=release_calls, daemon=True).start()
"""
"""Lets as many calls go as the file says, so that nothing of the run is over before it is seen."""


@pytest.mark.browser
@pytest.mark.long
def test_a_run_is_displayed_and_its_result_remains(notebooks: Notebooks, tmp_path: Path) -> None:
    allowed = tmp_path / "allowed"
    allowed.write_text("6")
    book = notebooks(SETUP, RELEASE.format(path=str(allowed)))
    book.page.evaluate(
        """(code) => {
          const panel = window.jupyterapp.shell.currentWidget, model = panel.content.model;
          model.sharedModel.addCell({ cell_type: "code", source: code });
          panel.content.activeCellIndex = model.cells.length - 1;
        }""",
        ASK,
    )
    book.page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-cell'); }")
    live = book.output(2)
    expect(live).to_contain_text(re.compile(r"round \d+ · \d+ calls of at most 12"))
    expect(live.get_by_role("img", name=re.compile("A contact sheet of .* 4×4 cells"))).to_be_visible()
    expect(live).to_contain_text("Latest steps")
    first = live.inner_text()
    allowed.write_text("100")
    expect(live).not_to_have_text(first)
    expect(live).to_contain_text("stopped by")
    book.idle()
    assert "Latest steps" not in live.inner_text() and live.locator(".jp-OutputArea-child").count() == 1
    assert "<script>document.title='run'</script>" in live.inner_text() and book.page.title() != "run"
    (output,) = book.save()["cells"][2]["outputs"]
    assert output["output_type"] == "display_data" and "stopped by" in "".join(output["data"]["text/html"])
    assert live.locator("img").count() > 0 and ATTACK[:30] in live.inner_text()
