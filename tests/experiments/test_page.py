"""The results page: what a reader learns of a run, and that it shows one run only."""

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from experiments.pages import RenderedPage
from PIL import Image
from playwright.sync_api import Browser
from support.model_doubles import ATTACK
from support.notebooks import write_notebook

from atlaskit.experiments.page import RECORD, NotebookRun, digest, read_record, write_index
from atlaskit.experiments.runner import run_all

SETTINGS = {"scale": "small", "model": "nano", "replay": False}
PARAMETERS = {"model": "http://127.0.0.1:1/v1", "worlds": 6, "seeds": "test", "cache_dir": "../cache"}
TABLE = "model,duration_s,questions,mean,low,high\nnano,600,60,0.5,0.4,0.6\noracle (perfect),600,60,1,0.9,1\n"


def run(
    out: Path, name: str = "03_depth", *, table: str = TABLE, settings: Mapping[str, Any] = SETTINGS, **more: Any
) -> NotebookRun:
    """Return a run with a figure and a table, whose files it writes."""
    Image.new("RGB", (8, 6), "red").save(out / f"{name}.png")
    (out / f"{name}.csv").write_text(table)
    files = {f"{name}.{kind}": digest(out / f"{name}.{kind}") for kind in ("png", "csv")}
    fields: dict[str, Any] = {
        "parameters": PARAMETERS,
        "captions": {name: f"What `{name}` shows; **the paper** claims [more](a.md)."},
        "versions": {"atlaskit": "0.1.0", "Python": "3.11.7"},
        **more,
    }
    return NotebookRun(name, f"Title of {name}", "25 November 2026, 17:44 UTC", 61.2, settings, files=files, **fields)


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
        ("oracle", {"model": "oracle"}, "an oracle: a program that knows the script, not a model"),
        ("its own", {"model": "oracle"}, "an oracle: a program that knows the script, not a model"),
        ("its own", {"model": "nano"}, "nano"),
        ("nano", {"seed": 7}, "no model"),
    ],
)
def test_an_oracle_is_never_called_a_model(tmp_path: Path, model: str, parameters: Any, asked: str) -> None:
    shown = run(tmp_path, settings={**SETTINGS, "model": model}, parameters=parameters)
    assert f"<dt>Asked</dt><dd>{asked}</dd>" in text_of(write_index(tmp_path, [shown]))


def test_sections_of_the_same_settings_stay_and_others_are_named(tmp_path: Path) -> None:
    write_index(tmp_path, [run(tmp_path, "03_a"), run(tmp_path, "04_b")])
    text = text_of(write_index(tmp_path, [run(tmp_path, "04_b")]))
    assert 'id="03_a"' in text and 'id="04_b"' in text and "Not part of this run" not in text
    text = text_of(write_index(tmp_path, [run(tmp_path, "05_c", settings={**SETTINGS, "scale": "smoke"})]))
    assert 'id="05_c"' in text and 'id="03_a"' not in text and "1 notebook" in text
    assert "03_a: ran with other settings (scale small, model nano, replay False)" in text
    other = replace(run(tmp_path, "06_d"), versions={"atlaskit": "0.2.0"}, settings={**SETTINGS, "scale": "smoke"})
    assert 'id="05_c"' not in text_of(write_index(tmp_path, [other])), "another version of the kit"


def test_a_record_cannot_show_files_of_other_folders(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "secret.csv").write_text("secret\n1\n")
    write_index(out, [run(out)])
    stored = json.loads((out / RECORD).read_text())
    stored[0]["files"] = {"../secret.csv": digest(tmp_path / "secret.csv")}
    (out / RECORD).write_text(json.dumps(stored))
    assert "secret" not in text_of(write_index(out, []))


@pytest.mark.long
def test_the_record_of_a_run_has_all_parameters_and_only_its_own_files(tmp_path: Path) -> None:
    folder, out = tmp_path / "books", tmp_path / "out"
    folder.mkdir()
    out.mkdir()
    (out / "03_c_old.csv").write_text("a")
    code = "open(f'{figures_dir}/03_c.csv', 'w').write('a')"
    write_notebook(folder / "03_c.ipynb", "worlds = 6\nmodel = 'oracle'\nfigures_dir = '../figures'", code)
    os.utime(out / "03_c_old.csv", (0, 0))
    (shown,) = run_all(folder, out, scale="smoke", model="oracle")
    assert shown.parameters["worlds"] == 2 and shown.parameters["model"] == "oracle"
    assert set(shown.files) == {"03_c.csv", "03_c.html", "03_c.ipynb"}
    assert read_record(out) == [shown]


def hostile(out: Path) -> NotebookRun:
    name = "03_<img src=x onerror=document.title='run'>"
    return replace(
        run(out, name, table=f'"{ATTACK}",b,"{ATTACK}"\n"{ATTACK}",1,{ATTACK}\n', settings={ATTACK: ATTACK}),
        title=ATTACK,
        when=ATTACK,
        parameters={"model": ATTACK, "seeds": ATTACK, ATTACK: ATTACK},
        captions={name: ATTACK},
        versions={ATTACK: ATTACK},
        failure=ATTACK,
    )


@pytest.mark.browser
def test_untrusted_text_runs_nothing_and_the_page_opens_without_a_network(tmp_path: Path, browser: Browser) -> None:
    write_index(tmp_path, [hostile(tmp_path)])
    old = run(tmp_path, "04_b")
    index = write_index(tmp_path, [old])
    assert "Not part of this run" in text_of(index)
    for path in (index, write_index(tmp_path, [hostile(tmp_path)])):
        page = RenderedPage(browser, path)
        assert page.title == "atlaskit: experiments" and page.handlers == 0 and page.errors == []
        assert page.requests == [] and page.broken == [] and page.images == 1
        assert "<script>document.title='run'</script>" in page.text
