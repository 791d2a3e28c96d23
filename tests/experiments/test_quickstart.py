"""The quickstart notebook: made again from its recording, and shown by a browser with all its pictures.

Its film takes most of a minute to make: where the demo has left it in the house's own cache, it is taken from there.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from support.pages import OF_THE_TEMPLATE, Looked, check_pictures, meant, plain_html
from support.paths import ROOT

from atlaskit.agents.search import ask
from atlaskit.benchmarks.atlasworld import atlasworld
from atlaskit.caching.cache import Cache
from atlaskit.experiments.notebook import NotebookError, run_notebook
from atlaskit.experiments.report import write_html
from atlaskit.models.presets import SHIPPED
from atlaskit.models.serving.server import serve
from atlaskit.models.serving.weights import served_name
from atlaskit.runs.archive import import_

SEED, DURATION_S = 7, 600
NANO = served_name(str(SHIPPED["nano"]))


@pytest.fixture(scope="module")
def quickstart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The notebook, executed out of its recording; its cache and its figures lie beside its folder."""
    home = tmp_path_factory.mktemp("quickstart")
    made = ROOT / "cache" / "atlasworld" / f"seed{SEED}-{DURATION_S}s-640x360-12fps"
    if made.is_dir():  # a film of another script is made anew there: its manifest is another
        shutil.copytree(made, home / "cache" / "atlasworld" / made.name)
    import_(ROOT / "recordings" / "01_quickstart.zip", cache=Cache(home / "cache"))
    places = {"cache_dir": str(home / "cache"), "figures_dir": str(home)}
    try:
        return run_notebook(ROOT / "notebooks" / "01_quickstart.ipynb", home / "out", {**places, "replay": True})
    except NotebookError as error:
        raise AssertionError("The recordings are of other code: make recordings") from error


def test_a_notebook_is_made_again_from_its_recording(quickstart: Path) -> None:
    """Nano's answers, as the weights that are here gave them on the machine where they were recorded."""
    assert "This run paid 0 model calls" in quickstart.read_text(encoding="utf-8")
    for name in ("choice", "when", "lie"):
        result = json.loads((quickstart.parents[1] / f"01_quickstart_{name}.json").read_text(encoding="utf-8"))
        assert result["settings"]["model"] == NANO and result["prediction"] is not None
    home = quickstart.parents[1]
    world = atlasworld(SEED, DURATION_S, directory=home / "cache" / "atlasworld")
    question = {question.category: question for question in world.questions[:8]}["WHEN"]
    again = ask(world.video, question, vlm=serve("nano"), workers=4, replay=True, cache=Cache(home / "cache"))
    assert (home / "01_quickstart_when.json").read_text(encoding="utf-8") == again.to_json() + "\n"


def test_the_quickstart_shows_all_its_pictures(quickstart: Path) -> None:
    assert check_pictures(quickstart) > 5


@pytest.mark.browser
def test_a_browser_shows_the_quickstart_without_a_network(quickstart: Path, browser: Browser) -> None:
    looked = Looked(browser, write_html(quickstart))
    assert looked.asked == [] and looked.blank == [] and looked.pictures == meant(quickstart)
    assert looked.title == "01_quickstart" and "This run paid 0 model calls" in looked.text
    plain = Looked(browser, plain_html(quickstart))
    assert plain.blank == [] and plain.pictures == meant(quickstart), "nbconvert's own page misses no picture either"
    assert {url.split("/")[2] for url in plain.asked} <= OF_THE_TEMPLATE
