"""Cards and tables of strangers: no key leaves, no other file is read, all ends in a sentence."""

from __future__ import annotations

import json
import os
from contextlib import chdir
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from cli.conftest import Shell

import atlaskit as ak
from atlaskit.__main__ import main
from atlaskit.cli import evaluate
from atlaskit.errors import InputError
from atlaskit.evaluation import tables
from atlaskit.models.cached import ANSWERED
from atlaskit.models.http import Endpoint
from atlaskit.models.spec import ModelSpec
from atlaskit.viz.widgets import RunTable

KEY, OTHER = "OPENAI_API_KEY", "ATLASKIT_TEST_OTHER_SECRET"
ADDRESS = "http://models.example/v1"
COMMAND = {"benchmark": "atlasworld", "load": [["worlds", "1"], ["minutes", "1"]], "first": 2}
LIKE = "evaluate --like card.json --out rows.csv"
TWO = "evaluate atlasworld --load worlds 1 --load minutes 1 --first 2 --oracle 0"


def write_card(**command: Any) -> None:
    Path("card.json").write_text(json.dumps({"command": {**COMMAND, **command}}))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[ModelSpec]:
    """The models that a line opens; nothing is asked."""
    opened = list[ModelSpec]()

    def as_model(spec: ModelSpec, *_: Any, **__: Any) -> Any:
        opened.append(spec)
        raise InputError("This is as far as it goes.")

    monkeypatch.setattr(evaluate, "as_model", as_model)
    monkeypatch.setenv(KEY, "sk-usual")
    monkeypatch.setenv(OTHER, "sk-other")
    return opened


@pytest.mark.parametrize(
    ("words", "access", "key"),
    [
        ("", {"api_key": ""}, ""),
        (f"--key-env {OTHER}", {"api_key": "sk-other"}, "sk-other"),
        (f"--header 'api-key: ${OTHER}'", {"api_key": "", "headers": {"api-key": "sk-other"}}, ""),
        (f"--model {ADDRESS} mine", {}, "sk-usual"),
    ],
    ids=["card alone", "key", "header", "model"],
)
def test_a_key_goes_to_a_cards_address_only_if_the_line_names_it(
    asked: list[ModelSpec], words: str, access: dict[str, Any], key: str, shell: Shell
) -> None:
    write_card(model=[ADDRESS, "theirs"], key_env=OTHER, headers=[f"x: ${OTHER}"])
    told = shell(f"{LIKE} {words}", status=2)
    assert asked[0].model == ADDRESS and asked[0].access() == access
    assert Endpoint(ADDRESS, asked[0].access().get("api_key")).key == key
    is_told = f"the card names the endpoint {ADDRESS}" in told
    assert is_told == ("--model" not in words), "the address is told before anything goes there"


@pytest.mark.parametrize(
    "model", [[f"{ADDRESS} m --key-env {OTHER}"], [f"{ADDRESS} m", "n"], [ADDRESS, f"m --key-env {OTHER}"]], ids=str
)
def test_nothing_in_a_card_is_read_as_an_option(asked: list[ModelSpec], model: list[str], shell: Shell) -> None:
    write_card(model=model)
    shell(LIKE, status=2)
    for spec in asked:
        assert spec.access() == {"api_key": ""} and spec.name == model[1], "a name is a name, whatever it says"


ODD_FIELDS: list[tuple[str, Any]] = [
    ("benchmark", "nothing"),
    ("root", "a\0b"),
    ("load", [["worlds"]]),
    ("method", []),
    ("method", ["video-rlm", "no such method"]),
    ("model", {"a": 1}),
    ("search", "worst"),
]


@pytest.mark.parametrize(("field", "value"), ODD_FIELDS)
def test_odd_fields_of_a_card_end_in_a_sentence(field: str, value: Any, shell: Shell) -> None:
    write_card(**{"oracle": 0.0, field: value})
    told = shell(LIKE, status=2)
    assert len(told.splitlines()) == 1 and field in told, told


def test_devices_and_pipes_are_refused_at_once(shell: Shell) -> None:
    os.mkfifo("pipe")
    Path("pipe.json").write_text('{"columns of text": []}')
    for path in ("/dev/zero", "pipe"):
        assert "it is no regular file" in shell(f"evaluate --like {path} --out rows.csv", status=2)
        for read in (ak.Trace.load, partial(ak.read_passages, form="csv")):
            with pytest.raises(InputError, match="no regular file"):
                read(path)
    with pytest.raises(InputError, match="no regular file"):
        tables.load("pipe")


def test_what_a_file_is_called_is_shown_and_not_obeyed(shell: Shell) -> None:
    told = shell("frame", "a\x1b]0;owned\x07\u202eb.mp4", "1", "frame.png", status=2)
    assert told.strip().isprintable() and "owned" in told
    ak.Cache("cache").put_json(ANSWERED.key(address="", model=""), "m")
    for action in ("export", "import"):
        told = shell(f"cache {action}", "a\x1b]0;owned\x07b.jsonl.xz")
        assert told.replace("\n", "").isprintable() and "owned" in told


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table of two rows and their runs."""
    home = tmp_path_factory.mktemp("table")
    with chdir(home):
        assert main(f"{TWO} --k 4 --traces runs --out rows.csv --cache cache".split()) == 0
    return home


@pytest.fixture
def table(shell: Shell, evaluated: Path) -> pd.DataFrame:
    """That table, as rows.csv in the current folder."""
    rows = tables.load(evaluated / "rows.csv")
    tables.save(rows, Path("rows.csv"))
    return rows


def save_with(table: pd.DataFrame, path: Path, **columns: list[Any]) -> None:
    """Save the table with other columns, and with its card."""
    other = table.assign(**columns)
    other.attrs = table.attrs
    tables.save(other, path)


def test_only_runs_in_the_tables_folder_are_opened(table: pd.DataFrame, evaluated: Path, shell: Shell) -> None:
    run = str(table["trace"][0])
    os.mkfifo("pipe")
    Path("inside").symlink_to("/etc/passwd")
    for name in (run, "/dev/zero", "/etc/passwd", "../../etc/passwd", "inside", "pipe"):
        save_with(table, Path("rows.csv"), trace=[name, run])
        with pytest.raises(InputError, match="no regular file" if name == "pipe" else "outside"):
            RunTable("rows.csv").open(0)
    assert RunTable(evaluated / "rows.csv").open(0) and RunTable("rows.csv", traces=evaluated).open(1)
    shell("export rows.csv --out found.csv", status=2)
    shell(f"export {evaluated}/rows.csv --out found.csv")


def test_odd_fields_of_a_tables_card_and_odd_columns_end_in_a_sentence(table: pd.DataFrame, shell: Shell) -> None:
    fields = {"methods": [1], "run": {"prompts": 1}, "shard": {"number": "1"}, "models": "m"}
    for name, value in fields.items():
        save_with(table, Path("other.csv"))
        card = json.loads(Path("other.csv.json").read_text())
        Path("other.csv.json").write_text(json.dumps({**card, name: value}))
        assert f"its card's {name}" in shell("compare other.csv rows.csv", status=2)
    columns = {"score": [3j, 4j], "right": [3j, 4j], "id": [1, 2], "failure": [1, 2]}
    for name, values in columns.items():
        save_with(table, Path("other.csv"), **{name: values})
        assert f"its column {name} must hold" in shell("compare other.csv rows.csv", status=2)


@pytest.mark.usefixtures("table")
def test_a_comparison_says_its_result_first(shell: Shell) -> None:
    """One video gives no interval; settings are told that differ from each other."""
    shell(f"{TWO} --method blind --out blind.csv")
    lines = shell("compare blind.csv rows.csv").splitlines()
    assert lines[0].startswith("2 questions of both, about 1 videos: ")
    assert lines[1].endswith("no interval, since one video tells nothing of others.")
    assert "  method: blind | video-rlm" in lines and lines[-1].startswith("Only one of them has: ")
    assert not any("nan" in line or "None" in line for line in lines)
