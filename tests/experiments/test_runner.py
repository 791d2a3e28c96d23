"""Running all notebooks: their parameters, failures, served models, and the index page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from support.notebooks import write_notebook
from support.paths import ROOT

from atlaskit.__main__ import main
from atlaskit.errors import InputError
from atlaskit.experiments import runner
from atlaskit.experiments.notebook import declared_in
from atlaskit.experiments.runner import SCALES, run_all
from atlaskit.models.dialect import VLLM
from atlaskit.models.spec import ModelSpec

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
pytestmark = pytest.mark.usefixtures("unmeasured")
VARIABLE = "ATLASKIT_TEST_KEY"
HOSTILE = "<script>alert(1)</script>"


def targets(path: Path) -> list[str]:
    """Return what a page links to and loads."""
    return re.findall(r"""(?:src|href)=["']([^"']+)""", path.read_text(encoding="utf-8"))


@pytest.fixture
def books(tmp_path: Path) -> Path:
    folder = tmp_path / "notebooks"
    folder.mkdir()
    write_notebook(folder / "01_a.ipynb", "worlds = 6\nreplay = False", f"print('worlds', worlds, replay) # {HOSTILE}")
    write_notebook(folder / "02_b.ipynb", "model = 'x'\nworkers = 1", "print(model, workers)", "[][workers]")
    write_notebook(
        folder / "03_c.ipynb",
        "model = 'oracle'\nreplay = False\nfigures_dir = '../figures'",
        "print(model, replay)",
        f"open(f'{{figures_dir}}/03_c.csv', 'w').write('name,score\\n{HOSTILE},0.123456\\n')",
    )
    return folder


@pytest.mark.long
def test_a_notebook_gets_the_parameters_it_declares_and_a_failure_stops_none(
    books: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = books.parent / "figures"
    runs = run_all(books, out, scale="smoke", given={"workers": 7}, replay=True)
    output = capfd.readouterr().out
    assert "worlds 2 True" in output and "x 7" in output and "x True" in output, "the model that they name is asked"
    assert [run.name for run in runs] == ["01_a", "02_b", "03_c"]
    assert [bool(run.failure) for run in runs] == [False, True, False]
    assert re.match(r"02_b.ipynb failed in cell \d: IndexError", runs[1].failure)
    assert re.findall(r"\[\d/3\] \w+: (?:done|.*IndexError)", output)[2].startswith("[3/3] 03_c: done")
    linked, text = targets(out / "index.html"), (out / "index.html").read_text()
    assert "<script" not in text and "1 failed" in text and "IndexError" in text
    assert "03_c.csv" in linked and all((out / each).exists() for each in linked if not each.startswith("#"))
    assert re.findall(r"to come: (.*)", output) == ["02, 03", "03"]
    for name in ("01_a", "02_b", "03_c"):
        assert not [each for each in targets(out / f"{name}.html") if each.startswith(("http", "//"))]
        assert HOSTILE not in (out / f"{name}.html").read_text()


@pytest.mark.long
def test_notebooks_are_chosen_by_the_beginning_of_their_names(books: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = books.parent / "figures"
    oracle = ["run", str(books), "--out", str(out), "--model", "oracle"]
    assert main([*oracle, "--only", "01,03"]) == 0
    output = capfd.readouterr().out
    assert "worlds 6 False" in output and "2 of 2 notebooks" in output and not (out / "02_b.ipynb").exists()
    assert main([*oracle, "--only", "02"]) == 2
    linked = set(targets(out / "index.html"))
    assert {"01_a.html", "02_b.html", "03_c.html"} <= linked, "earlier results stay on the page"
    assert re.search(r"02_b.ipynb failed in cell \d: IndexError", capfd.readouterr().err)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scale": "tiny"}, "scale must be smoke, small, full; got 'tiny'"),
        ({"only": ["09"]}, "No notebook starts with '09'; there are 01_a, 02_b, 03_c"),
        ({"given": {"data": "/videos"}}, "None of these notebooks has a parameter data"),
    ],
    ids=str,
)
def test_invalid_options_fail_before_anything_runs(books: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        run_all(books, books.parent / "figures", **options)
    assert not (books.parent / "figures").exists()


def test_one_server_serves_all_notebooks(
    books: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    served, parameters = list[str](), list[Any]()

    class Served:
        base_url, dialect = "http://127.0.0.1:1/v1", VLLM

        def counters(self) -> dict[str, int]:
            return {"requests": len(parameters) ** 2}

        def __enter__(self) -> Served:
            return self

        def __exit__(self, *_: object) -> None:
            served.append("stopped")

    def serve(model: ModelSpec, data_parallel: object) -> Served:
        assert data_parallel == "auto", "many questions are in flight"
        served.append(str(model))
        return Served()

    monkeypatch.setattr(runner, "serve", serve)
    monkeypatch.setattr(runner, "run_notebook", lambda _path, _out, values: parameters.append(values))
    monkeypatch.setattr(runner, "run_apart", lambda _path, _out, values: parameters.append(values) or "")
    run_all(books, books.parent, model="some/model")
    assert served == ["some/model", "stopped"]
    assert [each.get("model") for each in parameters] == [None, Served.base_url, Served.base_url]
    assert re.findall(r"(\d+) calls\)", capsys.readouterr().out) == ["1", "3", "5"]
    parameters.clear()
    address = f"http://h/v1 NAME --key-env {VARIABLE}"
    run_all(books, books.parent, model=address, replay=True)
    assert served == ["some/model", "stopped"], "a replay starts no server"
    assert sorted(str(each.get("replay")) for each in parameters) == ["None", "True", "True"]
    assert {each["model"] for each in parameters if "model" in each} == {address}, "a replay needs no key"
    run_all(books, books.parent, model="some/model --no-thinking")
    assert parameters[-1]["model"] == f"{Served.base_url} --no-thinking", "the options reach the notebooks"
    served.clear()
    run_all(books, books.parent, only=["01"])
    assert served == [], "notebooks that ask no model need no server"
    run_all(books / "02_b.ipynb", books.parent, model="some/model")
    assert served == [] and parameters[-1]["model"] == "some/model", "one notebook starts it itself, when it asks"
    run_all(books, books.parent)
    assert served == ["x", "stopped"], "the first notebook that asks a model names it"
    run_all(books, books.parent, model="oracle")
    assert served == ["x", "stopped"] and parameters[-1]["model"] == "oracle"
    with pytest.raises(InputError, match="oracle is a program and takes no options"):
        run_all(books, books.parent, model="oracle --no-thinking")
    with pytest.raises(InputError, match="'unknown' is no model"):
        run_all(books / "02_b.ipynb", books.parent, model="unknown")


def test_a_named_model_reaches_a_notebook_without_its_key(books: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel reads the key from the environment; no file holds it."""
    monkeypatch.setenv(VARIABLE, "very-secret-key")
    folder, out = books.parent / "named", books.parent / "page"
    folder.mkdir()
    code = "import atlaskit as ak\nwith ak.serve(model) as vlm:\n    print(vlm)"
    write_notebook(folder / "01_named.ipynb", 'model = "oracle"', code)
    address = f"http://127.0.0.1:9/v1 some-name --key-env {VARIABLE} --dialect plain"
    (run,) = run_all(folder, out, model=address)
    assert not run.failure
    written = b"".join(path.read_bytes() for path in out.rglob("*") if path.is_file())
    assert b"VLM('http://127.0.0.1:9/v1', 'some-name')" in written and VARIABLE.encode() in written
    assert b"very-secret-key" not in written
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(InputError, match=f"{VARIABLE} is missing or empty"):
        run_all(folder, out, model=address)


def test_every_parameter_of_a_scale_is_in_some_notebook() -> None:
    declared = set[str]().union(*map(declared_in, NOTEBOOKS))
    assert not [name for scale in SCALES.values() for name in scale if name not in declared]
    for notebook in NOTEBOOKS:
        names = declared_in(notebook)
        assert "figures_dir" in names
        assert "model" not in names or {"workers", "replay"} <= names.keys() or "worker_counts" in names, notebook.stem


def test_the_first_seeds_of_every_notebook_are_those_of_its_range() -> None:
    """Worlds of the experiments have test seeds, except where one only tries the notebooks."""
    ranges = [declared_in(notebook).get("seeds") for notebook in NOTEBOOKS]
    assert {each for each in ranges if each} == {'"test"'} and sum(each is not None for each in ranges) == 8
    assert SCALES["smoke"]["seeds"] == "selection" and not any("seeds" in SCALES[scale] for scale in ("small", "full"))
