"""Every shipped notebook runs headless, and every cell that draws has its image in the output.

In JupyterLab the reader sees an image below each such cell; an executed copy must show the same.
The notebooks run at the smallest scale with the oracle. The tests reuse worlds that the demo has
encoded in the project's cache, since each takes many seconds to encode.
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
    encoded = ROOT / "cache" / "atlasworld"
    if encoded.is_dir():
        shutil.copytree(encoded, home / "cache" / "atlasworld")
    return home


def draws(source: str) -> bool:
    """Return whether a cell calls a function of `ak.plots` that draws a figure."""
    calls = (node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    names = {ast.unparse(function) for function in calls}
    return any(name.startswith("ak.plots.") and name != "ak.plots.save" for name in names)


def count_pngs(cell: nbformat.NotebookNode) -> int:
    return sum("image/png" in output.get("data", {}) for output in cell.outputs)


def cells_without_image(executed: Path) -> list[str]:
    """Return the sources of the cells that draw but have no image in their output."""
    cells = nbformat.read(executed, as_version=4).cells
    return [c.source for c in cells if c.cell_type == "code" and draws(c.source) and not count_pngs(c)]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_that_draws_has_an_image(path: Path, home: Path) -> None:
    declared = declared_in(path)
    values: dict[str, Any] = {**SCALES["smoke"], "cache_dir": str(home / "cache"), "figures_dir": str(home)}
    values["model"] = "oracle"
    executed = run_notebook(path, home / "out", {name: values[name] for name in values.keys() & declared.keys()})
    assert cells_without_image(executed) == []


def test_a_missing_image_is_found(tmp_path: Path) -> None:
    notebook = write_notebook(tmp_path / "a.ipynb", "n = 0", "ak.plots.path")
    cells = nbformat.read(notebook, as_version=4)
    cells.cells.append(nbformat.v4.new_code_cell("ak.plots.path(result)"))
    nbformat.write(cells, notebook)
    assert cells_without_image(notebook) == ["ak.plots.path(result)"]
