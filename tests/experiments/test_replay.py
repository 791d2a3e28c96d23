"""The recordings that ship make every figure and table again, without a server, a film or a GPU.

This is `make experiments REPLAY=1` in an empty folder. Its tables must be those in `docs/results`,
and every cell that draws must have its image in the output, as in JupyterLab. The quickstart's page
is also opened in a browser.
"""

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from experiments.pages import RenderedPage
from playwright.sync_api import Browser
from support.asking import ask
from support.paths import ROOT

import atlasworld as aw
from atlaskit.caching.cache import Cache
from atlaskit.models.names import served_name
from atlaskit.models.serving.server import serve
from atlasworld.nano.model import WEIGHTS

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
QUICKSTART = "01_quickstart.ipynb"
SEED, DURATION_S = 7, 600
"""The quickstart's world."""
ATLASKIT = [sys.executable, "-m", "atlaskit"]


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory, unmeasured: None) -> Path:
    """The folder of the figures of a replay, beside a cache that has nothing but the recordings."""
    home = tmp_path_factory.mktemp("replay")
    shutil.copytree(ROOT / "notebooks", home / "notebooks")
    recordings = sorted((ROOT / "recordings").glob("*.jsonl.xz"))
    for command in ([*ATLASKIT, "cache", "import", *recordings], [*ATLASKIT, "run", "--replay"]):
        done = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (
            f"If the recordings do not fit this code, run make recordings.\n{done.stdout[-2000:]}"
        )
    return home / "figures"


@pytest.mark.long
def test_the_tables_are_those_in_git(replayed: Path) -> None:
    command = [sys.executable, ROOT / "tools" / "compare_tables.py", replayed, ROOT / "docs" / "results"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_that_draws_has_an_image(path: Path, replayed: Path) -> None:
    assert cells_without_image(replayed / path.name) == []


@pytest.mark.long
def test_the_quickstart_has_the_results_of_its_recording(replayed: Path) -> None:
    """The recording has the replies of nano's shipped weights on the machine that recorded them."""
    assert "This run paid 0 model calls" in (replayed / QUICKSTART).read_text(encoding="utf-8")
    results = {name: replayed / f"01_quickstart_{name}.json" for name in ("choice", "when", "lie")}
    for path in results.values():
        result = json.loads(path.read_text(encoding="utf-8"))
        assert result["settings"]["model"] == served_name(str(WEIGHTS)) and result["prediction"] is not None
    world = aw.world(SEED, DURATION_S)
    question = next(question for question in world.questions[:8] if question.category == "WHEN")
    cache = Cache(replayed.parent / "cache")
    again = ask(world.stand_in, question, vlm=serve("nano"), workers=4, replay=True, cache=cache)
    assert results["when"].read_text(encoding="utf-8") == again.to_json() + "\n"


@pytest.mark.long
@pytest.mark.browser
def test_a_browser_shows_the_quickstart_with_all_images_and_without_a_network(replayed: Path, browser: Browser) -> None:
    page = RenderedPage(browser, (replayed / QUICKSTART).with_suffix(".html"))
    assert page.requests == [] and page.broken == [] and page.images > 5
    assert page.title == "01_quickstart" and "This run paid 0 model calls" in page.text


def draws(source: str) -> bool:
    """Return whether a cell calls a function of `ak.plots` that draws a figure."""
    calls = (node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    names = {ast.unparse(function) for function in calls}
    return any(name.startswith("ak.plots.") and name != "ak.plots.save" for name in names)


def cells_without_image(executed: Path) -> list[str]:
    """Return the sources of the cells that draw but have no image in their output."""
    cells = [cell for cell in nbformat.read(executed, as_version=4).cells if cell.cell_type == "code"]
    bare = [cell for cell in cells if not any("image/png" in output.get("data", {}) for output in cell.outputs)]
    return [cell.source for cell in bare if draws(cell.source)]
