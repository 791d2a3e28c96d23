"""The form of the shipped notebooks, and the input checks of `run_notebook`."""

import ast
import subprocess
import sys
from pathlib import Path

import nbformat
import papermill
import pytest
from support.notebooks import write_notebook
from support.paths import ROOT

from atlaskit.errors import InputError
from atlaskit.experiments.notebook import NotebookError, run_notebook
from atlaskit.experiments.parameters import folder, literal

NOTEBOOKS = [path for folder in ("notebooks", "nano") for path in sorted((ROOT / folder).glob("*.ipynb"))]
MAX_CELL_LINES, MAX_PARAMETER_LINES = 6, 20


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_has_prose_and_only_imports_literals_and_calls(path: Path) -> None:
    every = nbformat.read(path, as_version=4).cells
    cells = [cell for cell in every if cell.cell_type == "code"]
    assert every[0].cell_type == "markdown" and every[0].source.startswith("# ")
    assert sum(cell.cell_type == "markdown" for cell in every) >= len(every) / 3
    tagged = [cell for cell in cells if "parameters" in cell.metadata.get("tags", [])]
    assert len(tagged) == 1
    for statement in ast.parse(tagged[0].source).body:
        assert isinstance(statement, ast.AnnAssign) and statement.value is not None
        ast.literal_eval(statement.value)
    for parameter in papermill.inspect_notebook(str(path)).values():
        assert parameter["inferred_type_name"] != "None" and parameter["help"], parameter["name"]
    for cell in cells:
        tree = ast.parse(cell.source)
        assert not [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.ClassDef | ast.Lambda)]
        assert len(cell.source.splitlines()) <= (MAX_PARAMETER_LINES if cell in tagged else MAX_CELL_LINES), cell.source
        assert cell.outputs == [] and cell.execution_count is None


def test_a_notebook_runs_in_its_folder_and_its_output_is_printed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
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
    (tmp_path / "text.ipynb").write_text("plain text")
    with pytest.raises(InputError, match="not a notebook"):
        run_notebook(tmp_path / "text.ipynb", tmp_path)
    with pytest.raises(InputError, match="ends in .ipynb"):
        run_notebook(Path(__file__), tmp_path)


def test_the_error_of_a_failing_cell_is_one_line(tmp_path: Path) -> None:
    notebook = write_notebook(tmp_path / "a.ipynb", "n = 0", "1 / n")
    with pytest.raises(NotebookError, match="a.ipynb failed in cell 2: ZeroDivisionError: division by zero") as error:
        run_notebook(notebook, tmp_path / "out")
    assert "\n" not in str(error.value)


def test_papermill_runs_a_notebook_from_the_root_of_its_project(tmp_path: Path, in_tmp: Path) -> None:
    """Its folders are the project's, and a list that `-p` gives as text is a list."""
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "books" / "deep").mkdir(parents=True)
    notebook = write_notebook(
        tmp_path / "books" / "a.ipynb",
        'minutes: list[int] = [1]  # lengths\nwhere: dict = {}  # columns\nfigures_dir: str = ""  # folder',
        "import atlaskit as ak\n"
        "minutes, where = map(ak.parameters.literal, [minutes, where])\n"
        'print(minutes[1], where["a"], ak.parameters.folder(figures_dir, "figures"))',
    )
    command = [sys.executable, "-m", "papermill", str(notebook), "out.ipynb", "-k", "python3"]
    command += ["-p", "minutes", "[20, 60]", "-p", "where", "{'a': 'b'}"]
    for here in (tmp_path, tmp_path / "books" / "deep"):
        subprocess.run(command, cwd=here, check=True, capture_output=True)
        assert f"60 b {tmp_path / 'figures'}" in (here / "out.ipynb").read_text()
    told = subprocess.run([*command[:4], "--help-notebook"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert "minutes: list[int] (default [1])" in " ".join(told.stdout.split())


def test_a_text_that_is_no_list_is_told() -> None:
    with pytest.raises(InputError, match=r"as Python writes it, such as \[20, 60\]; got \[20, 60"):
        literal("[20, 60")
    assert [literal(value) for value in ("test", 3, [1], "(1, 2)")] == ["test", 3, [1], (1, 2)]


def test_notebooks_outside_of_a_project_use_the_folder_beside_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")
    assert folder("", "cache") == str(tmp_path / "notebooks" / "cache"), "there is none yet"
    (tmp_path / "cache").mkdir()
    assert folder("", "cache") == str(tmp_path / "cache")
    (tmp_path / "notebooks" / "cache").mkdir()
    assert folder("", "cache") == str(tmp_path / "cache"), "also once a notebook made one of its own"
