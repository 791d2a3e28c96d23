"""All notebooks at once: who gets which parameter, what a failure does, and the page."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
import pytest
from support.notebooks import write_notebook
from support.paths import ROOT

from atlaskit.__main__ import main
from atlaskit.errors import InputError
from atlaskit.experiments import runner
from atlaskit.experiments.notebook import declared_in
from atlaskit.experiments.report import write_index
from atlaskit.experiments.runner import SCALES, run_all

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
HOSTILE = "<script>alert(1)</script>"


class Links(HTMLParser):
    """What a page refers to, and the elements in it."""

    def __init__(self) -> None:
        super().__init__()
        self.refers, self.elements = list[str](), set[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.refers += [value for name, value in attrs if name in ("src", "href") and value]


def links(path: Path) -> Links:
    parser = Links()
    parser.feed(path.read_text(encoding="utf-8"))
    return parser


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


def test_each_gets_what_it_declares_and_a_failure_stops_nothing(books: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = books.parent / "figures"
    ran = run_all(books, out, scale="smoke", workers=7, replay=True)
    told = capfd.readouterr().out
    assert "worlds 2 True" in told, "a notebook without a model is replayed"
    assert "x 7" in told and "oracle False" in told, "an oracle is not: nothing of it is recorded"
    assert [each.name for each in ran] == ["01_a", "02_b", "03_c"]
    assert [bool(each.failure) for each in ran] == [False, True, False]
    assert re.match(r"02_b.ipynb failed in cell \d: IndexError", ran[1].failure)
    assert re.findall(r"\[\d/3\] \w+: (?:done|.*IndexError)", told)[2].startswith("[3/3] 03_c: done")
    page = links(out / "index.html")
    assert "script" not in page.elements and "03_c.csv" in page.refers
    text = (out / "index.html").read_text()
    assert "&lt;script&gt;alert(1)" in text and "0.1235" in text and "1 failed" in text and "IndexError" in text
    assert all((out / refers).exists() for refers in page.refers if not refers.startswith("#"))
    for name in ("01_a", "02_b", "03_c"):
        kept = links(out / f"{name}.html")
        assert not [refers for refers in kept.refers if refers.startswith(("http", "//"))], "loads nothing"
        assert HOSTILE not in (out / f"{name}.html").read_text()


def test_the_page_shows_nothing_that_an_earlier_run_left(books: Path) -> None:
    out = books.parent / "figures"
    write_notebook(
        books / "03_c.ipynb", "figures_dir = '../figures'", "open(f'{figures_dir}/03_c.csv', 'w').write('a')"
    )
    run_all(books, out, only=["03"])
    assert "03_c.csv" in links(out / "index.html").refers
    write_notebook(books / "03_c.ipynb", "figures_dir = '../figures'", "[][0]")
    run_all(books, out, only=["03"])
    assert {"03_c.html", "03_c.ipynb"} <= set(links(out / "index.html").refers), "where it failed can be looked up"
    assert "03_c.csv" not in links(out / "index.html").refers and (out / "03_c.csv").exists()


def test_some_are_chosen_by_how_they_begin(books: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = books.parent / "figures"
    assert main(["experiments", "--notebooks", str(books), "--out", str(out), "--only", "01,03"]) == 0
    told = capfd.readouterr().out
    assert "worlds 6 False" in told and "2 of 2 notebooks" in told and not (out / "02_b.ipynb").exists()
    assert main(["experiments", "--notebooks", str(books), "--out", str(out), "--only", "02"]) == 2
    page = links(out / "index.html")
    assert {"01_a.html", "02_b.html", "03_c.html"} <= set(page.refers), "what was there stays on the page"
    assert re.search(r"02_b.ipynb failed in cell \d: IndexError", capfd.readouterr().err)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"scale": "tiny"}, "scale must be smoke, small, full; got 'tiny'"),
        ({"only": ["09"]}, "No notebook in .* starts with '09'; there are 01_a, 02_b, 03_c"),
        ({"workers": 0}, "workers"),
        ({"data": "/videos"}, "None of these notebooks has a parameter data"),
    ],
    ids=str,
)
def test_what_cannot_be_run_is_said_at_once(books: Path, given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        run_all(books, books.parent / "figures", **given)
    assert not (books.parent / "figures").exists()


def test_a_model_is_served_once_for_all(books: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served, given = list[str](), list[Any]()

    class Served:
        base_url = "http://127.0.0.1:1/v1"

        def __enter__(self) -> Served:
            return self

        def __exit__(self, *_: object) -> None:
            served.append("stopped")

    def serve(model: str) -> Served:
        served.append(model)
        return Served()

    monkeypatch.setattr(runner, "serve", serve)
    monkeypatch.setattr(runner, "run_notebook", lambda _path, _out, parameters: given.append(parameters))
    run_all(books, books.parent, model="some/model")
    assert served == ["some/model", "stopped"]
    assert [each.get("model") for each in given] == [None, Served.base_url, Served.base_url]
    given.clear()
    run_all(books, books.parent, model="some/model", replay=True)
    assert served == ["some/model", "stopped"], "nothing is started where all is recorded"
    assert [each.get("replay") for each in given] == [True, None, True]
    given.clear()
    run_all(books, books.parent)
    assert [each.get("model") for each in given] == [None, None, None], "each asks whom it names itself"


def test_a_scale_names_parameters_that_notebooks_have() -> None:
    declared = set[str]().union(*map(declared_in, NOTEBOOKS))
    assert not [name for scale in SCALES.values() for name in scale if name not in declared]
    for notebook in NOTEBOOKS:
        names = declared_in(notebook)
        assert "figures_dir" in names
        assert "model" not in names or {"workers", "replay"} <= names.keys() or "worker_counts" in names, notebook.stem


def test_the_page_of_nothing(tmp_path: Path) -> None:
    assert "0 notebooks" in write_index(tmp_path, []).read_text()
    (tmp_path / "index.json").write_text("[1, {}]")
    assert "0 notebooks" in write_index(tmp_path, []).read_text(), "a record that is none"


def test_a_notebook_has_its_title_on_the_page() -> None:
    from atlaskit.experiments.report import title

    for notebook in NOTEBOOKS:
        assert nbformat.read(notebook, as_version=4).cells[0].source.startswith(f"# {title(notebook)}")
