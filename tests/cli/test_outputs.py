"""Files to write are checked before anything is paid, and the examples of `--help` work."""

import argparse
import os
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from cli.conftest import Shell

from atlaskit.__main__ import _parser
from atlaskit.caching import files
from atlaskit.caching.files import check_writable, write_whole
from atlaskit.cli.model import joined_words
from atlaskit.cli.outputs import Output, shown_table


def commands() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each command that can be run: `ask`, `cache`, `cache stats`, …"""
    return dict(_inside(_parser(), ""))


def _inside(parser: argparse.ArgumentParser, name: str) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    if parser.get_default("run") is not None:
        yield name, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, each in action.choices.items():
                yield from _inside(each, f"{name} {word}".strip())


COMMANDS = {
    "demo": "demo",
    "ask": "ask film.mp4 What?",
    "view": "view film.mp4",
    "frame": "frame film.mp4 1",
    "transcribe": "transcribe film.mp4 http://127.0.0.1:9/v1 tones",
    "evaluate": "evaluate atlasworld --oracle 0",
    "cache export": "cache export",
    "export": "export result.json",
    "merge": "merge shard.csv",
    "paper": "paper data --model oracle",
    "run": "run book.ipynb",
}
"""A command line without its outputs, for each command that writes."""
OPENING = (
    "ask.open_beside ask.Cache ask.as_model ask.ask view.open_video view.Cache transcribe.open_video "
    "transcribe.Cache transcribe.transcribe evaluate.Cache evaluate.evaluate evaluate.guests.load cache.Cache "
    "cache.export export.open_video export.Cache export.saved_passages export.read run.run_all paper.dataset_in"
)
"""What opens a video, a cache, a model or a notebook, in the modules of the commands."""


def outputs() -> list[tuple[str, Output]]:
    return [(name, each) for name, parser in commands().items() for each in parser.get_default("outputs") or ()]


def arguments(command: str, output: Output, path: str) -> list[str]:
    named = [output.option, path] if output.option.startswith("-") else [path]
    needed = ["--out", "rows.csv"] if command in ("evaluate", "export") and output.option != "--out" else []
    return [*COMMANDS[command].split(), *named, *needed]


@pytest.fixture
def nothing_runs(in_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail the test if a video, a cache, a model or a notebook is opened."""

    def fail(*_: Any, **__: Any) -> Any:
        raise AssertionError("something was opened before the outputs were checked")

    for name in OPENING.split():
        monkeypatch.setattr(f"atlaskit.cli.{name}", fail)
    monkeypatch.setattr("atlaskit.evaluation.tables.load", fail)
    (in_tmp / "file").touch()
    for suffix in {suffix for _, output in outputs() for suffix in output.suffixes}:
        (in_tmp / f"folder{suffix}").mkdir()


@pytest.mark.parametrize(("command", "output"), outputs(), ids=lambda each: getattr(each, "option", each))
@pytest.mark.usefixtures("nothing_runs")
def test_a_wrong_output_is_told_before_anything_is_opened(command: str, output: Output, shell: Shell) -> None:
    wrong = {"file": "is a file: name a folder", "file/inner": "there is no folder", "/proc/none": "cannot be written"}
    if output.suffixes:
        suffix = output.suffixes[0]
        wrong = {
            "out.wrong": f"{output.option} must end in {suffix}",
            f"folder{suffix}": "is a folder: name a file in it",
            f"file/out{suffix}": "cannot be written: there is no folder",
            f"/proc/none/out{suffix}": "cannot be written: ",
            f"{'x' * 300}{suffix}": "cannot be written: File name too long",
        }
        if not output.makes_folder:
            wrong[f"nowhere/out{suffix}"] = "cannot be written: there is no such folder"
    for path, sentence in wrong.items():
        told = shell("", *arguments(command, output, path), status=2)
        assert sentence in told and told.count("\n") == 1 and told.startswith("atlaskit: "), (path, told)
    assert not list(Path().glob(".atlaskit-*"))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("ask q.json What? --save ./q.json", "--save q.json is the video itself"),
        ("ask film.mp4 What? --save a.json --export ./a.json", "--export a.json is the file of --save"),
        ("ask film.mp4 What? --save a.json --export ./A.JSON", "is the file of --save too"),
        ("ask film.mp4 What? --save q.json --html link.html", "--html link.html is the file of --save"),
        ("evaluate q.csv --model oracle --out ./q.csv", "--out q.csv is the table of questions itself"),
        ("merge a.csv q.csv --out q.csv", "--out q.csv is one of the shards"),
    ],
)
@pytest.mark.usefixtures("nothing_runs")
def test_no_output_replaces_what_is_read_or_another_output(words: str, sentence: str, shell: Shell) -> None:
    Path("q.csv").write_text("mine")
    Path("q.json").write_text("mine")
    Path("link.html").symlink_to("q.json")
    told = shell(words, status=2)
    assert sentence in told and told.count("\n") == 1 and Path("q.csv").read_text() == "mine"


def test_a_read_only_file_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "kept.json"
    kept.write_text("old")
    monkeypatch.setattr(files.os, "access", lambda path, mode: not (Path(path) == kept and mode == os.W_OK))
    for attempt in (check_writable, lambda path: write_whole(path, "new")):
        with pytest.raises(PermissionError, match="it is read-only"):
            attempt(kept)
    assert kept.read_text() == "old" and [path.name for path in tmp_path.iterdir()] == ["kept.json"]


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "result.json"
    file.write_text("old")
    file.chmod(0o640)
    link = tmp_path / "link.json"
    link.symlink_to(file)
    write_whole(link, "new – text")
    assert link.is_symlink() and file.read_bytes() == "new – text".encode()
    assert stat.S_IMODE(file.stat().st_mode) == 0o640

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        with pytest.raises(OSError, match="No space left"):
            write_whole(file, "newer")
    assert file.read_text() == "new – text" and len(list(tmp_path.iterdir())) == 2


def examples(command: str) -> list[list[str]]:
    """Return the examples of a command as the shell would split them."""
    text = (commands()[command].epilog or "").replace("\\\n", " ")
    return [shlex.split(line)[1:] for line in text.splitlines() if line.startswith("  atlaskit ")]


@pytest.mark.parametrize("command", sorted(name for name in commands() if " " not in name))
def test_every_command_has_examples_that_are_valid(command: str) -> None:
    found = examples(command)
    assert found and all(words[0] == command for words in found)
    for words in found:
        assert _parser().parse_args(joined_words(words)).run


def test_names_of_strangers_in_a_table_are_letters_on_a_terminal() -> None:
    table = pd.DataFrame(
        {"category\x1b[2J": ["\x1b]0;owned\x07", "\u202eb\u200b", "two\nrows"], "score": [1.0, 0.5, 0.0]}
    )
    shown = shown_table(table, index=False)
    assert all(line.isprintable() for line in shown.split("\n")) and len(shown.split("\n")) == 4
