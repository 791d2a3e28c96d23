"""Every shipped notebook runs headless, and every cell that draws has its picture in the output.

In JupyterLab the reader sees a picture below each such cell; an executed copy must show the same.
The oracle answers, at the smallest scale. Videos that the demo left in the project's cache are
reused, since each takes many seconds to encode.
"""

from __future__ import annotations

import ast
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest
from support.notebooks import write_notebook
from support.paths import ROOT

from atlaskit.experiments.notebook import declared_in, run_notebook
from atlaskit.experiments.runner import SCALES

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("notebooks")
    made = ROOT / "cache" / "atlasworld"
    if made.is_dir():
        shutil.copytree(made, home / "cache" / "atlasworld")
    return home


def draws(source: str) -> bool:
    """Tell whether a cell calls a function of `ak.plots` that draws a figure."""
    calls = (node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    names = {ast.unparse(function) for function in calls}
    return any(name.startswith("ak.plots.") and name != "ak.plots.save" for name in names)


def pictures(cell: nbformat.NotebookNode) -> int:
    return sum("image/png" in output.get("data", {}) for output in cell.outputs)


def without_picture(executed: Path) -> list[str]:
    """Return the sources of the cells that draw and have no picture in their output."""
    cells = nbformat.read(executed, as_version=4).cells
    return [c.source for c in cells if c.cell_type == "code" and draws(c.source) and not pictures(c)]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_that_draws_has_its_picture(path: Path, home: Path) -> None:
    declared = declared_in(path)
    wanted: dict[str, Any] = {**SCALES["smoke"], "cache_dir": str(home / "cache"), "figures_dir": str(home)}
    wanted["model"] = "oracle"
    executed = run_notebook(path, home / "out", {name: wanted[name] for name in wanted.keys() & declared.keys()})
    assert without_picture(executed) == []


def test_a_missing_picture_is_found(tmp_path: Path) -> None:
    notebook = write_notebook(tmp_path / "a.ipynb", "n = 0", "ak.plots.path")
    cells = nbformat.read(notebook, as_version=4)
    cells.cells.append(nbformat.v4.new_code_cell("ak.plots.path(result)"))
    nbformat.write(cells, notebook)
    assert without_picture(notebook) == ["ak.plots.path(result)"]
