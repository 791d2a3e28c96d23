"""The form of the shipped notebooks, what they ask, and the input checks of `run_notebook`.

A search about ten hours takes ninety calls; six notebooks ask it, and one of them pays.
"""

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import papermill
import pytest
from support.answering import answering
from support.datasets import make_longvideobench, write_json
from support.notebooks import write_notebook
from support.paths import ROOT

import atlaskit as ak
import atlasworld as aw
from atlaskit.environment.grid import sub_second_depth
from atlaskit.errors import InputError
from atlaskit.experiments.notebook import NotebookError, declared_in, run_notebook
from atlaskit.experiments.parameters import folder
from atlaskit.experiments.runner import SCALES
from atlasworld.nano.model import PRESET

NOTEBOOKS = [path for folder in ("notebooks", "nano") for path in sorted((ROOT / folder).glob("*.ipynb"))]
MAX_CELL_LINES, MAX_PARAMETER_LINES = 6, 20


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_has_prose_and_only_imports_literals_and_calls(path: Path) -> None:
    every = nbformat.read(path, as_version=4).cells
    cells = [cell for cell in every if cell.cell_type == "code"]
    assert every[0].cell_type == "markdown" and every[0].source.startswith("# ")
    assert sum(cell.cell_type == "markdown" for cell in every) >= len(every) / 3
    (tagged,) = [cell for cell in cells if "parameters" in cell.metadata.get("tags", [])]
    for statement in ast.parse(tagged.source).body:
        assert isinstance(statement, ast.AnnAssign) and statement.value is not None
        ast.literal_eval(statement.value)
    for parameter in papermill.inspect_notebook(str(path)).values():
        assert parameter["inferred_type_name"] != "None" and parameter["help"], parameter["name"]
    for cell in cells:
        nodes = ast.walk(ast.parse(cell.source))
        assert not any(isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda) for node in nodes)
        most_lines = MAX_PARAMETER_LINES if cell is tagged else MAX_CELL_LINES
        assert len(cell.source.splitlines()) <= most_lines, cell.source
        assert cell.outputs == [] and cell.execution_count is None


def test_a_notebook_runs_in_its_folder_and_its_output_is_printed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "books").mkdir()
    code = "import os; print(n + 1, os.path.basename(os.getcwd()))"
    notebook = write_notebook(tmp_path / "books" / "a.ipynb", "n = 1", code)
    executed = run_notebook(notebook, tmp_path / "out", {"n": 41})
    assert executed == tmp_path / "out" / "a.ipynb"
    assert "42 books" in capfd.readouterr().out and "42 books" in executed.read_text()
    (tmp_path / "text.ipynb").write_text("plain text")
    for path, parameters, sentence in (
        (notebook, {"m": 1}, "no parameter 'm'; it has n"),
        (tmp_path / "none.ipynb", {}, "no notebook"),
        (tmp_path / "text.ipynb", {}, "not a notebook"),
        (Path(__file__), {}, "ends in .ipynb"),
    ):
        with pytest.raises(InputError, match=sentence):
            run_notebook(path, tmp_path, parameters)


def test_the_error_of_a_failing_cell_is_one_line(tmp_path: Path) -> None:
    notebook = write_notebook(tmp_path / "a.ipynb", "n = 0", "1 / n")
    with pytest.raises(NotebookError, match="a.ipynb failed in cell 2: ZeroDivisionError: division by zero") as error:
        run_notebook(notebook, tmp_path / "out")
    assert "\n" not in str(error.value)


def test_papermill_runs_a_notebook_from_the_root_of_its_project(tmp_path: Path) -> None:
    """Its folders are the project's, and a list that `-p` gives as text is a list."""
    (tmp_path / "pyproject.toml").touch()
    here = tmp_path / "books" / "deep"
    here.mkdir(parents=True)
    notebook = write_notebook(
        tmp_path / "books" / "a.ipynb",
        'minutes: list[int] = [1]  # lengths\nwhere: dict = {}  # columns\nfigures_dir: str = ""  # folder',
        "import atlaskit as ak\n"
        "minutes, where = map(ak.parameters.literal, [minutes, where])\n"
        'print(minutes[1], where["a"], ak.parameters.folder(figures_dir, "figures"))',
    )
    command = [sys.executable, "-m", "papermill", str(notebook), "out.ipynb", "-k", "python3"]
    command += ["-p", "minutes", "[20, 60]", "-p", "where", "{'a': 'b'}"]
    subprocess.run(command, cwd=here, check=True, capture_output=True)
    assert f"60 b {tmp_path / 'figures'}" in (here / "out.ipynb").read_text()


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


BY_NUMBER = {path.stem[:2]: path for path in sorted((ROOT / "notebooks").glob("*.ipynb"))}
ABOUT_WORLDS = ("03", "05", "06", "07", "08", "09")
"""The notebooks whose questions are the same. 04 measures time, so it makes every call itself."""


def parameters(number: str, scale: str) -> dict[str, Any]:
    own = {name: ast.literal_eval(value) for name, value in declared_in(BY_NUMBER[number]).items()}
    return {name: SCALES[scale].get(name, value) for name, value in own.items()}


@pytest.mark.parametrize("scale", list(SCALES))
def test_all_notebooks_ask_the_same_questions_in_the_same_way(scale: str) -> None:
    given = {number: parameters(number, scale) for number in ABOUT_WORLDS}
    for name in ("worlds", "questions", "seeds", "calls", "workers", "model"):
        assert len({repr(values[name]) for values in given.values()}) == 1, name
    longest = {60 * values["hours"] if "hours" in values else max(values["minutes"]) for values in given.values()}
    (minutes,) = longest  # the longest videos are equally long
    assert sub_second_depth(60 * minutes, PRESET.k) in given["03"]["depths"], "one of the depths is the automatic one"
    assert given["05"]["captioned"] == given["09"]["captioned"]
    assert given["05"]["minutes"] == given["07"]["minutes"] == given["09"]["minutes"]


SMALL: dict[str, dict[str, Any]] = {
    "03_depth_budget": {"hours": 0.01, "depths": [0, 1]},
    "04_worker_scaling": {"hours": 0.01, "served_minutes": 1, "served_worker_counts": [1, 2]},
    "05_log_scaling": {"minutes": [1, 4], "captioned": [1]},
    "06_adaptive_compute": {"hours": 0.01},
    "07_compute_and_cache": {"minutes": [1, 2]},
    "08_error_analysis": {"hours": 0.01, "stronger": "self"},
    "09_benchmarks": {"minutes": [1, 4], "captioned": [1], "compared": [1]},
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, film_file: Path) -> Path:
    home = tmp_path_factory.mktemp("longvideobench")
    make_longvideobench(home, film_file)
    rows = json.loads((home / "lvb_val.json").read_text())
    write_json(home / "lvb_val.json", [{**row, "position": [3, 30, 200, 30]} for row in rows])
    return home


def test_cases_are_those_of_a_folder_that_match(home: Path) -> None:
    both = aw.cases(str(home), minutes=[1, 2], where={"duration_group": 15})
    assert [case.facts["length"] for case in both] == ["standard"] * 2 + ["long"] * 2
    assert {case.facts["positions"] for case in both} == {3}, "places that the dataset names, each once"
    (alone,) = aw.cases(str(home), minutes=[2], first=1, subtitles=False)
    assert alone.facts["length"] == "long" and not alone.facts["subtitles"]
    with pytest.raises(ak.errors.InputError, match="matches"):
        aw.cases(str(home), minutes=[2], where={"duration_group": 3600})


@pytest.mark.long
@pytest.mark.parametrize("name", SMALL)
def test_an_experiment_runs_on_a_folder(name: str, home: Path, tmp_path: Path) -> None:
    out = shutil.copy(ROOT / "notebooks" / f"{name}.ipynb", tmp_path)
    with answering() as address:
        parameters = {"data": str(home), "model": address, "calls": 6, "cache_dir": str(tmp_path / "cache")}
        own = {key: address if value == "self" else value for key, value in SMALL[name].items()}
        run_notebook(Path(out), tmp_path / "figures", {**parameters, **own})
    (table, *_) = sorted((tmp_path / "figures").glob(f"{name}*.csv"))
    assert "oracle" not in table.read_text(), "no oracle knows a film"
