"""Running all notebooks: their parameters, failures, served models, and the index page."""

from __future__ import annotations

import os
import re
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.notebooks import write_notebook
from support.paths import ROOT

from atlaskit.__main__ import main
from atlaskit.errors import InputError
from atlaskit.experiments import runner
from atlaskit.experiments.notebook import declared_in
from atlaskit.experiments.page import read_record
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
    out.mkdir()
    (out / "03_c_old.csv").write_text("a")
    os.utime(out / "03_c_old.csv", (0, 0))
    runs = run_all(books, out, scale="smoke", given={"workers": 7}, replay=True)
    output = capfd.readouterr().out
    assert "worlds 2 True" in output and "x 7" in output and "x True" in output, "the model that they name is asked"
    assert [(run.name, bool(run.failure)) for run in runs] == [("01_a", False), ("02_b", True), ("03_c", False)]
    assert re.match(r"02_b.ipynb failed in cell \d: IndexError", runs[1].failure)
    assert runs[0].parameters["worlds"] == 2 and read_record(out) == runs
    assert set(runs[2].files) == {"03_c.csv", "03_c.html", "03_c.ipynb"}, "only those of this run"
    assert re.findall(r"\[\d/3\] \w+: (?:done|.*IndexError)", output)[2].startswith("[3/3] 03_c: done")
    assert re.findall(r"to come: (.*)", output) == ["02, 03", "03"]
    linked = targets(out / "index.html")
    text = (out / "index.html").read_text()
    assert "<script" not in text and "1 failed" in text and "IndexError" in text
    assert "03_c.csv" in linked and all((out / each).exists() for each in linked if not each.startswith("#"))
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


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The servers that are started, and the model of each notebook; none is run."""
    seen = SimpleNamespace(servers=list[str](), models=list[str | None]())
    server = SimpleNamespace(base_url=URL, dialect=VLLM, counters=lambda: {"requests": 0})

    def serve(model: ModelSpec, data_parallel: object) -> Any:
        assert data_parallel == "auto", "many questions are in flight"
        seen.servers.append(str(model))
        return nullcontext(server)

    def run(path: Path, out: Path, parameters: dict[str, Any]) -> str:
        seen.models.append(parameters.get("model"))
        return ""

    monkeypatch.setattr(runner, "serve", serve)
    monkeypatch.setattr(runner, "run_notebook", run)
    monkeypatch.setattr(runner, "run_apart", run)
    return seen


URL = "http://127.0.0.1:1/v1"
ADDRESS = f"http://h/v1 NAME --key-env {VARIABLE}"


@pytest.mark.parametrize(
    ("how", "started", "models"),
    [
        ({"model": "some/model"}, ["some/model"], [None, URL, URL]),
        ({"model": "some/model --no-thinking"}, ["some/model"], [None, *[f"{URL} --no-thinking"] * 2]),
        ({"model": ADDRESS, "replay": True}, [], [None, ADDRESS, ADDRESS]),  # it needs no server and no key
        ({"model": "some/model", "only": ["01"]}, [], [None]),  # it asks no model
        ({}, ["x"], [None, URL, URL]),  # the first notebook that asks a model names it
    ],
    ids=str,
)
def test_one_server_serves_all_notebooks(
    books: Path, seen: SimpleNamespace, how: dict[str, Any], started: list[str], models: list[str | None]
) -> None:
    run_all(books, books.parent, **how)
    assert [each.partition(" ")[0] for each in seen.servers] == started
    assert sorted(seen.models, key=str) == sorted(models, key=str)


def test_one_notebook_starts_its_server_itself(books: Path, seen: SimpleNamespace) -> None:
    run_all(books / "02_b.ipynb", books.parent, model="some/model")
    assert seen.servers == [] and seen.models == ["some/model"]
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


def test_the_parameters_of_scales_are_those_of_notebooks_and_worlds_have_test_seeds() -> None:
    """Except where one only tries the notebooks."""
    declared = {notebook.stem: declared_in(notebook) for notebook in NOTEBOOKS}
    every = set[str]().union(*declared.values())
    assert not [name for scale in SCALES.values() for name in scale if name not in every]
    for notebook, names in declared.items():
        assert "figures_dir" in names
        assert "model" not in names or {"workers", "replay"} <= names.keys() or "worker_counts" in names, notebook
    assert [names["seeds"] for names in declared.values() if "seeds" in names] == ['"test"'] * 8
    assert SCALES["smoke"]["seeds"] == "selection" and not any("seeds" in SCALES[scale] for scale in ("small", "full"))
