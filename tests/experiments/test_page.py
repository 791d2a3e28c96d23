"""The results page, and executed notebooks as HTML: what a reader learns; all text is only text."""

import io
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from experiments.pages import RenderedPage
from PIL import Image
from playwright.sync_api import Browser
from support.model_doubles import ATTACK
from support.notebooks import write_notebook
from support.paths import TESTS

from atlaskit.experiments.notebook import Console, NotebookError, run_notebook
from atlaskit.experiments.page import RECORD, NotebookRun, captions, digest, write_html, write_index

SETTINGS = {"scale": "small", "model": "nano", "replay": False}
PARAMETERS = {"model": "http://127.0.0.1:1/v1", "worlds": 6, "seeds": "test", "cache_dir": "../cache"}
ORACLE = "an oracle: a program that knows the script, not a model"
TABLE = "model,duration_s,questions,mean,low,high\nnano,600,60,0.5,0.4,0.6\noracle (perfect),600,60,1,0.9,1\n"


def run(out: Path, name: str = "03_depth", *, table: str = TABLE, **more: Any) -> NotebookRun:
    """Return a run with a figure and a table, whose files it writes."""
    Image.new("RGB", (8, 6), "red").save(out / f"{name}.png")
    (out / f"{name}.csv").write_text(table)
    fields: dict[str, Any] = {
        "title": f"Title of {name}",
        "when": "25 November 2026, 17:44 UTC",
        "seconds": 61.2,
        "settings": SETTINGS,
        "parameters": PARAMETERS,
        "files": {f"{name}.{kind}": digest(out / f"{name}.{kind}") for kind in ("png", "csv")},
        "captions": {name: f"What `{name}` shows; **the paper** claims [more](a.md)."},
        "versions": {"atlaskit": "0.1.0", "Python": "3.11.7"},
    }
    return NotebookRun(name=name, **{**fields, **more})


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_a_section_says_who_was_asked_what_and_when(tmp_path: Path) -> None:
    text = text_of(write_index(tmp_path, [run(tmp_path)]))
    for told in (
        "<dt>Asked</dt><dd>nano</dd>",
        "<dt>Beside it</dt><dd>oracle (perfect)</dd>",
        "<dt>Seeds</dt><dd>test, the first 6 of the range</dd>",
        "<dt>Questions</dt><dd>n = 60 in each row</dd>",
        "25 November 2026, 17:44 UTC, in 61.2 s",
        "scale small, nano asked",
        "atlaskit 0.1.0, Python 3.11.7",
        "What <code>03_depth</code> shows; <strong>the paper</strong> claims more.",
    ):
        assert told in text
    assert "127.0.0.1" not in text.partition("All parameters")[0] and "cache_dir" not in text


@pytest.mark.parametrize(
    ("model", "parameters", "asked"),
    [
        ("oracle", {"model": "oracle"}, ORACLE),
        ("its own", {"model": "oracle"}, ORACLE),
        ("its own", {"model": "nano"}, "nano"),
        ("nano", {"seed": 7}, "no model"),
    ],
)
def test_an_oracle_is_never_called_a_model(tmp_path: Path, model: str, parameters: dict[str, Any], asked: str) -> None:
    shown = run(tmp_path, settings={**SETTINGS, "model": model}, parameters=parameters)
    assert f"<dt>Asked</dt><dd>{asked}</dd>" in text_of(write_index(tmp_path, [shown]))


def test_sections_of_the_same_settings_stay_and_others_are_named(tmp_path: Path) -> None:
    smoke = {**SETTINGS, "scale": "smoke"}
    write_index(tmp_path, [run(tmp_path, "03_a"), run(tmp_path, "04_b")])
    text = text_of(write_index(tmp_path, [run(tmp_path, "04_b")]))
    assert 'id="03_a"' in text and 'id="04_b"' in text and "Not part of this run" not in text
    text = text_of(write_index(tmp_path, [run(tmp_path, "05_c", settings=smoke)]))
    assert 'id="05_c"' in text and 'id="03_a"' not in text and "1 notebook" in text
    assert "03_a: ran with other settings (scale small, model nano, replay False)" in text
    text = text_of(write_index(tmp_path, [run(tmp_path, "06_d", settings=smoke, versions={"atlaskit": "0.2.0"})]))
    assert 'id="05_c"' not in text and "05_c: ran with atlaskit 0.1.0 on " in text, "another version of the kit"
    text = text_of(write_index(tmp_path, [run(tmp_path, "07_e", settings={**smoke, "seed": 0})]))
    assert "scale smoke, nano asked, seed 0." in text, "0 is a setting, and False is none"


def test_a_record_cannot_show_files_of_other_folders(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "secret.csv").write_text("secret\n1\n")
    write_index(tmp_path / "out", [run(tmp_path / "out", files={"../secret.csv": digest(tmp_path / "secret.csv")})])
    assert "../secret.csv" in (tmp_path / "out" / RECORD).read_text()
    assert "secret" not in text_of(write_index(tmp_path / "out", []))


def hostile_run(out: Path) -> NotebookRun:
    name = "03_<img src=x onerror=document.title='run'>"
    texts = dict.fromkeys(("title", "when", "failure"), ATTACK)
    named = {field: {ATTACK: ATTACK, "model": ATTACK} for field in ("settings", "versions", "parameters")}
    table = f'"{ATTACK}",b,"{ATTACK}"\n"{ATTACK}",1,{ATTACK}\n'
    return run(out, name, table=table, captions={name: ATTACK}, **texts, **named)


@pytest.mark.browser
def test_untrusted_text_runs_nothing_and_the_page_opens_without_a_network(tmp_path: Path, browser: Browser) -> None:
    write_index(tmp_path, [hostile_run(tmp_path)])
    index = write_index(tmp_path, [run(tmp_path, "04_b")])
    assert "Not part of this run" in text_of(index)
    for path in (index, write_index(tmp_path, [hostile_run(tmp_path)])):
        page = RenderedPage(browser, path)
        assert page.title == "atlaskit: experiments" and page.handlers == 0 and page.errors == []
        assert page.requests == [] and page.broken == [] and page.images == 1
        assert "<script>document.title='run'</script>" in page.text


HOSTILE_CELLS = (
    "import pandas as pd",
    "video = ak.open_video(path, subtitles=subtitles); video",
    "atlas = ak.Atlas(video, k=4, cell=32, cache=cache); atlas.reset()",
    """
result = ak.ask(video, ATTACK, ["a circle", ATTACK[:-1]], vlm=Spiteful(5), search=ak.Search(k=4, cell=32),
                cache=cache, workers=3, budget=ak.Budget(calls=30), show=True)
""",
    "print(result); print(video.name); result",
    "result.trace",
    "result.evidence",
    "pd.DataFrame(item.to_json() for item in result.evidence)",
    "ak.plots.path(result).figure",
    "for item in result.evidence.surest(1): raise ValueError(item.description + ATTACK)",
)


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory, film_file: Path) -> Path:
    """An executed notebook with script code in file name, subtitles, replies and error message."""
    folder = tmp_path_factory.mktemp("hostile")
    path = folder / "<img src=x onerror=document.title='run'>\u202e.mp4"
    shutil.copy(film_file, path)
    text = ATTACK.replace("-->", "--").replace("\x1b", "")  # what a subtitle file can hold
    lines = folder / "lines.srt"
    lines.write_text(f"1\n00:00:01,000 --> 00:00:39,000\n{text}", encoding="utf-8")
    setup = f"""
import sys; sys.path.insert(0, {str(TESTS)!r})
import atlaskit as ak; from support.model_doubles import ATTACK, Spiteful
path, subtitles, cache = {str(path)!r}, {str(lines)!r}, ak.Cache({str(folder / "cache")!r})
"""
    notebook = write_notebook(folder / "hostile.ipynb", "n = 0", setup, *HOSTILE_CELLS)
    with pytest.raises(NotebookError, match="ValueError"):
        run_notebook(notebook, folder / "out")
    return folder / "out" / "hostile.ipynb"


@pytest.mark.long
@pytest.mark.browser
def test_untrusted_text_runs_nothing(hostile: Path, browser: Browser) -> None:
    page = RenderedPage(browser, write_html(hostile))
    assert page.title == "hostile" and page.handlers == 0 and page.requests == [] and page.errors == []
    assert "<script>document.title='run'</script>" in page.text and "<img src=x onerror=" in page.text
    assert page.broken == [] and page.images > 5


def cell(kind: str, source: str) -> dict[str, str]:
    return {"cell_type": kind, "source": source}


def test_the_sentence_before_a_figure_is_on_that_figure() -> None:
    cells = [
        cell("markdown", "**Figure.** Left over."),
        cell("markdown", "Some text.\n\n**Figure.** Two\nlines; the claim.\n\nMore text."),
        cell("code", "first = ak.plots.path(run)"),
        cell("code", "second = ak.plots.path(run)"),
        cell("markdown", "**Figure.** A.\n\n**Figure.** B."),
        cell("code", 'a = ak.plots.a(1)\nb = ak.plots.b(2)\nak.plots.save(b, folder, "09_b")'),
        cell("code", 'ak.plots.save(first, folder, "09_first")\nak.plots.save(second, folder, "09_second")'),
        cell("code", 'ak.plots.save(a, folder, "09_a")\nother.save(a, folder, "09_other")'),
    ]
    assert captions(cells) == {"09_b": "B.", "09_first": "Two lines; the claim.", "09_a": "A."}


BAR = ["\r  0%|   | 0/2", "\r 50%|█  | 1/2", "\r100%|██ | 2/2\n"]


def test_a_log_file_gets_a_line_for_the_last_state_of_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    log = io.StringIO()
    monkeypatch.setattr(sys, "stderr", log)
    with Console("book.ipynb") as console:
        for text in [*BAR, "one\ntw", "o\n"]:
            console.stderr.write(text)
    assert log.getvalue().splitlines() == ["▸ book.ipynb …", "100%|██ | 2/2", "one", "two"]
