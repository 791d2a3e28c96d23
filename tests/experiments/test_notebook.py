"""Notebooks: their form, and what the runner refuses."""

from __future__ import annotations

import ast
from pathlib import Path

import nbformat
import pytest
from support.notebooks import write_notebook
from support.paths import ROOT

from atlaskit.errors import InputError
from atlaskit.experiments.notebook import NotebookError, run_notebook

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LONGEST_CELL, MOST_PARAMETERS = 6, 12


def code_cells(path: Path) -> list[nbformat.NotebookNode]:
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_imports_literals_calls_and_prose(path: Path) -> None:
    cells = code_cells(path)
    tagged = [cell for cell in cells if "parameters" in cell.metadata.get("tags", [])]
    assert len(tagged) == 1
    for statement in ast.parse(tagged[0].source).body:
        assert isinstance(statement, ast.Assign)
        ast.literal_eval(statement.value)
    for cell in cells:
        tree = ast.parse(cell.source)
        assert not [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.ClassDef | ast.Lambda)]
        assert len(cell.source.splitlines()) <= (MOST_PARAMETERS if cell in tagged else LONGEST_CELL), cell.source
        assert cell.outputs == [] and cell.execution_count is None


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_explains_what_it_shows(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    assert cells[0].cell_type == "markdown" and cells[0].source.startswith("# ")
    assert sum(cell.cell_type == "markdown" for cell in cells) >= len(cells) / 3


def test_the_runner_runs_in_the_notebooks_folder_and_prints(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "books").mkdir()
    notebook = write_notebook(
        tmp_path / "books" / "a.ipynb", "n = 1", "import os; print(n + 1, os.path.basename(os.getcwd()))"
    )
    executed = run_notebook(notebook, tmp_path / "out", {"n": 41})
    assert "42 books" in capfd.readouterr().out
    assert executed == tmp_path / "out" / "a.ipynb"
    assert "42 books" in executed.read_text()
    with pytest.raises(InputError, match="no parameter 'm'; it has n"):
        run_notebook(notebook, tmp_path / "out", {"m": 1})
    with pytest.raises(InputError, match="no notebook"):
        run_notebook(tmp_path / "none.ipynb", tmp_path)
    (tmp_path / "letter.ipynb").write_text("Dear reader")
    with pytest.raises(InputError, match="not a notebook"):
        run_notebook(tmp_path / "letter.ipynb", tmp_path)


def test_a_failing_cell_is_one_sentence(tmp_path: Path) -> None:
    notebook = write_notebook(tmp_path / "a.ipynb", "n = 0", "1 / n")
    with pytest.raises(NotebookError, match="a.ipynb failed in cell 2: ZeroDivisionError: division by zero") as caught:
        run_notebook(notebook, tmp_path / "out")
    assert "\n" not in str(caught.value)
