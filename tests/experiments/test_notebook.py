"""The form of the shipped notebooks, what they ask alike, and the input checks of `run_notebook`.

A search about ten hours takes ninety calls; six notebooks ask it, and one of them pays.
"""

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import papermill
import pytest
from support.asking import evaluate
from support.model_doubles import Counting
from support.notebooks import write_notebook
from support.paths import ROOT

import atlaskit as ak
import atlasworld as aw
from atlaskit.caching.cache import Cache
from atlaskit.environment.grid import sub_second_depth
from atlaskit.errors import InputError
from atlaskit.experiments.notebook import NotebookError, declared_in, run_notebook
from atlaskit.experiments.parameters import folder, literal
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


def test_the_first_questions_about_a_world_do_not_depend_on_how_many_are_written() -> None:
    few, many = (aw.world(3, 36_000, questions=count, clip_s=150) for count in (10, 24))
    assert many.questions[:10] == few.questions and len(many.questions) == 24


def test_a_depth_that_is_given_makes_the_calls_of_the_same_automatic_depth(cache: Cache) -> None:
    world = aw.world(3, 36_000, questions=3, clip_s=150)
    model = Counting(aw.Oracle(world, miss=0.3))
    how = {"vlm": model, "cache": cache, "progress": False, "search": ak.Search().suited_to("nano")}
    cases = world.cases(drawn=True)
    evaluate(cases, **how)
    evaluate(cases, "composite", **how)
    paid = len(model.calls)
    assert evaluate(cases, max_depth=3, **how)["calls_paid"].sum() == 0
    assert evaluate(cases, max_depth=0, **how)["calls_paid"].sum() == 0, "the root grid alone is depth 0"
    assert len(model.calls) == paid > 0
