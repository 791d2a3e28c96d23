"""A notebook shows every figure once, those of `ak.plots` and those that the user draws."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from support.notebooks import write_notebook

from atlaskit.experiments.notebook import run_notebook

FIGURE = "ak.plots.resolutions([60, 600, 3600])"
OWN = "import matplotlib.pyplot as plt\n_, ax = plt.subplots()\nax.plot([1, 2])"
ON_OWN_AXES = "_, mine = plt.subplots()\nak.plots.resolutions([60, 600, 3600], ax=mine)"


def images_of(cell: nbformat.NotebookNode) -> int:
    """Return how many images the outputs of a cell hold."""
    return sum("image/png" in output.get("data", {}) for output in cell.outputs)


@pytest.mark.long
@pytest.mark.parametrize(
    "first", [FIGURE, f"figure = {FIGURE}", OWN], ids=["axes as last expression", "assignment", "plain matplotlib"]
)
def test_each_cell_that_draws_outputs_one_image(first: str, tmp_path: Path) -> None:
    drawing = [
        first,
        FIGURE,
        f"again = {FIGURE}",
        f"import matplotlib.pyplot as plt\n{FIGURE}\nplt.show()",
        OWN,
        f"{OWN}\nplt.show()",
        ON_OWN_AXES,
        FIGURE,
    ]
    notebook = write_notebook(
        tmp_path / "figures.ipynb",
        "folder = '.'",
        "import atlaskit as ak",
        *drawing,
        "ak.plots.save(again, folder, 'again')",
    )
    executed = nbformat.read(run_notebook(notebook, tmp_path / "out"), as_version=4)
    *before, saving = [images_of(cell) for cell in executed.cells]
    assert dict(enumerate(before[-len(drawing) :])) == dict.fromkeys(range(len(drawing)), 1)
    assert before[: -len(drawing)] == [0, 0] and saving == 0
    assert {path.suffix for path in tmp_path.glob("again.*")} == {".png", ".svg"}
