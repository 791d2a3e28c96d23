"""Cards and tables of strangers: no key leaves, no other file is read, all ends in a sentence."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

import atlaskit as ak
from atlaskit.__main__ import main
from atlaskit.caching.files import read_whole
from atlaskit.cli import evaluate
from atlaskit.cli.tables import command_of
from atlaskit.errors import InputError
from atlaskit.evaluation import tables
from atlaskit.models.http import Endpoint
from atlaskit.models.spec import ModelSpec
from atlaskit.viz.widgets import RunTable

KEY, OTHER = "OPENAI_API_KEY", "ATLASKIT_TEST_OTHER_SECRET"
ADDRESS = "http://models.example/v1"
COMMAND = {"benchmark": "atlasworld", "load": [["worlds", "1"], ["minutes", "1"]], "first": 2}


def write_card(command: Any, name: str = "card.json") -> str:
    Path(name).write_text(json.dumps({"command": command}))
    return name


@pytest.fixture
def asked(in_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> list[ModelSpec]:
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
    ("line", "access"),
    [
        ([], {"api_key": ""}),
        (["--key-env", OTHER], {"api_key": "sk-other"}),
        (["--header", "api-key: $" + OTHER], {"api_key": "", "headers": {"api-key": "sk-other"}}),
        (["--model", ADDRESS, "mine"], {}),
    ],
    ids=["card alone", "key", "header", "model"],
)
def test_a_key_goes_to_a_cards_address_only_if_the_line_names_it(
    asked: list[ModelSpec], line: list[str], access: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    card = write_card({**COMMAND, "model": [ADDRESS, "theirs"], "key_env": OTHER, "headers": [f"x: ${OTHER}"]})
    assert main(["evaluate", "--like", card, *line, "--out", "rows.csv"]) == 2
    assert asked[0].model == ADDRESS and asked[0].access() == access
    told = f"the card names the endpoint {ADDRESS}" in capsys.readouterr().err
    assert told == ("--model" not in line), "the address is told before anything goes there"
    assert Endpoint(ADDRESS, asked[0].access().get("api_key")).key == {"mine": "sk-usual"}.get(
        asked[0].name or "", access.get("api_key", "")
    )


@pytest.mark.parametrize(
    "model", [[f"{ADDRESS} m --key-env {OTHER}"], [f"{ADDRESS} m", "n"], [ADDRESS, f"m --key-env {OTHER}"]], ids=str
)
def test_nothing_in_a_card_is_read_as_an_option(asked: list[ModelSpec], model: list[str]) -> None:
    card = write_card({**COMMAND, "model": model})
    assert main(["evaluate", "--like", card, "--out", "rows.csv"]) == 2
    for spec in asked:
        assert spec.access() == {"api_key": ""} and spec.name == model[1], "a name is a name, whatever it says"


def test_a_card_keeps_the_parts_of_a_model_that_was_named_in_one_word(asked: list[ModelSpec]) -> None:
    words = f"{ADDRESS} mine --no-thinking --key-env {OTHER} --max-tokens 700"
    options = ["evaluate", "atlasworld", "--load", "worlds", "1", "--model", words, "--out", "rows.csv"]
    assert main(options) == 2
    kept = command_of(Namespace(seed=0, no_subtitles=False), asked[0])
    assert kept == {"model": [ADDRESS, "mine"], "max_tokens": 700, "thinking": False, "seed": 0}
    asked.clear()
    assert main(["evaluate", "--like", write_card({**COMMAND, **kept}), "--out", "rows.csv"]) == 2
    assert (asked[0].name, asked[0].thinking, asked[0].max_tokens, asked[0].key_env) == ("mine", False, 700, "")


ODD_FIELDS: dict[str, list[Any]] = {
    **{"benchmark": ["nothing", ["atlasworld"]], "root": ["a\0b"], "where": [[[]]], "load": [[["worlds"]]]},
    **{"first": [True], "hours": [1e308], "method": [["video-rlm", "no such method"]], "model": [{"a": 1}]},
    **{"settings": ["vlm"], "extra_body": [[1]], "oracle": ["0.1"], "scouts": [[1]], "k": [[8]], "search": ["worst"]},
}


def test_odd_fields_of_a_card_end_in_a_sentence(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for field, values in ODD_FIELDS.items():
        for value in values:
            card = write_card({**COMMAND, "oracle": 0.0, field: value})
            with pytest.raises(SystemExit) as ended:
                main(["evaluate", "--like", card, "--out", "rows.csv"])
            told = capsys.readouterr().err
            assert ended.value.code == 2 and len(told.splitlines()) == 1 and field in told, told


def test_devices_and_pipes_are_refused_at_once(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo("pipe")
    for path in ("/dev/zero", "pipe"):
        with pytest.raises(SystemExit):
            main(["evaluate", "--like", path, "--out", "rows.csv"])
        assert "it is no regular file" in capsys.readouterr().err
        with pytest.raises(InputError, match="no regular file"):
            ak.Trace.load(path)
        with pytest.raises(InputError, match="no regular file"):
            ak.read_passages(path, form="csv")
    os.mkfifo("rows.csv")
    Path("rows.csv.json").write_text('{"columns of text": []}')
    with pytest.raises(InputError, match="no regular file"):
        tables.load("rows.csv")
    Path("large").write_bytes(b"x" * 11)
    with pytest.raises(OSError, match="larger than"):
        read_whole("large", 10)
    assert read_whole("large", 11) == b"x" * 11


def test_what_a_file_is_called_is_shown_and_not_obeyed(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "a\x1b]0;owned\x07\u202eb.mp4"
    assert main(["frame", name, "1", "frame.png"]) == 2
    told = capsys.readouterr().err
    assert told.strip().isprintable() and "owned" in told


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of two rows with their runs beside it."""
    home = tmp_path_factory.mktemp("table")
    how = ["--load", "worlds", "1", "--load", "minutes", "1", "--first", "2", "--oracle", "0", "--k", "4"]
    outputs = ["--traces", str(home / "runs"), "--out", str(home / "rows.csv"), "--cache", str(home / "cache")]
    assert main(["evaluate", "atlasworld", *how, *outputs]) == 0
    return home / "rows.csv"


def test_only_runs_in_the_tables_folder_are_opened(table: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    rows = tables.load(table)
    run = rows["trace"][0]
    (tmp_path / "inside").symlink_to("/etc/passwd")
    names = [str(run), "/dev/zero", "/etc/passwd", "../../etc/passwd", str(tmp_path / "inside"), str(tmp_path / "pipe")]
    for name in names:
        other = rows.assign(trace=[name, run])
        other.attrs = rows.attrs
        tables.save(other, tmp_path / "rows.csv")
        with pytest.raises(InputError, match="no regular file" if name.endswith("pipe") else "outside"):
            RunTable(tmp_path / "rows.csv").open(0)
    assert RunTable(table).open(0) and RunTable(tmp_path / "rows.csv", traces=table.parent).open(1)
    assert main(["export", str(tmp_path / "rows.csv"), "--out", str(tmp_path / "found.csv")]) == 2
    assert main(["export", str(table), "--out", str(tmp_path / "found.csv")]) == 0


@pytest.mark.parametrize(
    ("name", "value"), [("methods", [1]), ("run", {"prompts": 1}), ("shard", {"number": "1"}), ("models", "m")], ids=str
)
def test_odd_fields_of_a_tables_card_end_in_a_sentence(
    table: Path, tmp_path: Path, name: str, value: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "rows.csv"
    other.write_bytes(table.read_bytes())
    card = json.loads(table.with_name("rows.csv.json").read_text())
    other.with_name("rows.csv.json").write_text(json.dumps({**card, name: value}))
    assert main(["compare", str(other), str(table)]) == 2
    assert f"its card's {name}" in capsys.readouterr().err


def test_odd_columns_of_a_table_end_in_a_sentence(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tables.load(table)
    for name in ("score", "right", "id", "failure"):
        odd = rows.assign(**{name: [3j, 4j] if name in ("score", "right") else [1, 2]})
        odd.attrs = rows.attrs
        tables.save(odd, tmp_path / "rows.csv")
        assert main(["compare", str(tmp_path / "rows.csv"), str(table)]) == 2
        assert f"its column {name} must hold" in capsys.readouterr().err


def test_a_comparison_says_its_result_first(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One video gives no interval; settings are told that differ from each other."""
    blind = ["--load", "worlds", "1", "--load", "minutes", "1", "--first", "2", "--oracle", "0", "--method", "blind"]
    other = tmp_path / "blind.csv"
    assert main(["evaluate", "atlasworld", *blind, "--out", str(other), "--cache", str(tmp_path / "cache")]) == 0
    capsys.readouterr()
    assert main(["compare", str(other), str(table)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("2 questions of both, about 1 videos: ")
    assert lines[1].endswith("no interval, since one video tells nothing of others.")
    assert "  method: blind | video-rlm" in lines and lines[-1].startswith("Only one of them has: ")
    assert not any("nan" in line or "None" in line for line in lines)
