"""The quickstart notebook: replayed from its recording without its film, and shown by a browser
with all its images.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from support.pages import TEMPLATE_HOSTS, RenderedPage, check_pictures, count_images, plain_html
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
def quickstart(tmp_path_factory: pytest.TempPathFactory, unmeasured: None) -> Path:
    """The notebook, replayed from its recording, with cache and figures beside its folder."""
    home = tmp_path_factory.mktemp("quickstart")
    for recording in (ROOT / "recordings").glob("*.zip"):
        import_(recording, cache=Cache(home / "cache"))
    folders = {"cache_dir": str(home / "cache"), "figures_dir": str(home)}
    try:
        return run_notebook(ROOT / "notebooks" / "01_quickstart.ipynb", home / "out", {**folders, "replay": True})
    except NotebookError as error:
        raise AssertionError("The recording does not fit this code: run make recordings") from error


def test_the_quickstart_is_replayed_from_its_recording(quickstart: Path) -> None:
    """The recording has the replies of nano's shipped weights on the machine that recorded them."""
    assert "This run paid 0 model calls" in quickstart.read_text(encoding="utf-8")
    for name in ("choice", "when", "lie"):
        result = json.loads((quickstart.parents[1] / f"01_quickstart_{name}.json").read_text(encoding="utf-8"))
        assert result["settings"]["model"] == NANO and result["prediction"] is not None
    home = quickstart.parents[1]
    assert not (home / "cache" / "atlasworld").exists(), "no film is encoded"
    world = atlasworld(SEED, DURATION_S)
    question = {question.category: question for question in world.questions[:8]}["WHEN"]
    replayed = ask(world.stand_in, question, vlm=serve("nano"), workers=4, replay=True, cache=Cache(home / "cache"))
    assert (home / "01_quickstart_when.json").read_text(encoding="utf-8") == replayed.to_json() + "\n"


def test_the_quickstart_page_embeds_all_its_images(quickstart: Path) -> None:
    assert check_pictures(quickstart) > 5


@pytest.mark.browser
def test_a_browser_shows_the_quickstart_without_a_network(quickstart: Path, browser: Browser) -> None:
    page = RenderedPage(browser, write_html(quickstart))
    assert page.requests == [] and page.broken == [] and page.images == count_images(quickstart)
    assert page.title == "01_quickstart" and "This run paid 0 model calls" in page.text
    plain = RenderedPage(browser, plain_html(quickstart))
    assert plain.broken == [] and plain.images == count_images(quickstart), "nbconvert's page has all images too"
    assert {url.split("/")[2] for url in plain.requests} <= TEMPLATE_HOSTS
