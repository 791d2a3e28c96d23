"""`atlaskit evaluate questions.csv`: a table of one's own, its results, and its card."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.answering import answering
from support.datasets import put

from atlaskit.__main__ import main
from atlaskit.evaluation import tables

ROWS = "video;question;A;B;answer;level\r\nfilm.mp4;Who?;Ann;Bob;B;1\r\nfilm;What?;ball;net;ball;2\r\n"


@pytest.fixture
def address(in_tmp: Path, film_file: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An endpoint; the current folder has a film and a table about it, as Excel saves it."""
    monkeypatch.setenv("ATLASKIT_CACHE", str(in_tmp / "cache"))
    put(film_file, in_tmp / "film.mp4")
    Path("questions.csv").write_bytes(ROWS.encode("utf-8-sig"))
    with answering() as found:
        yield found


def test_a_csv_becomes_a_table_whose_card_repeats_it(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "questions.csv", "--model", address, "any-vlm", "--method", "uniform"]) == 0
    assert "questions.rows.csv: 2 questions, 2 model calls paid now" in capsys.readouterr().out
    rows = tables.load("questions.rows.csv")
    assert rows["truth"].tolist() == ["B: Bob", "A: ball"] and rows["level"].tolist() == [1, 2]
    assert json.loads(Path("questions.rows.csv.json").read_text())["command"]["benchmark"] == "questions.csv"
    assert main(["evaluate", "--like", "questions.rows.csv.json", "--where", "level", "2", "--out", "again.csv"]) == 0
    assert "again.csv: 1 questions, 0 model calls paid now" in capsys.readouterr().out


def test_a_card_reads_no_table_outside_its_folder(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It could send any table of this machine to its address."""
    line = ["evaluate", "questions.csv", "--model", address, "any-vlm", "--method", "blind"]
    assert main([*line, "--out", "results/rows.csv"]) == 0
    like = ["--like", "results/rows.csv.json", "--out", "again.csv"]
    assert main(["evaluate", *like]) == 2
    assert "which the card names, is not in the card's folder: name it on this line" in capsys.readouterr().err
    assert main(["evaluate", "questions.csv", *like]) == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["question.csv", "--model", "x"], "There is no file question.csv. Did you mean questions.csv?"),
        (["lvbenc", "--model", "x"], "lvbenc is no benchmark (did you mean lvbench?) and no table"),
        (["questions.csv"], "Name questions and a model"),
        (["questions.csv", "--oracle", "0"], "No oracle comes with questions.csv"),
        (["questions.csv", "--root", "nowhere", "--model", "http://127.0.0.1:9/v1", "x"], "There is no folder nowhere"),
    ],
)
def test_a_mistake_is_one_sentence(
    words: list[str], told: str, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", *words]) == 2
    said = capsys.readouterr().err
    assert told in said and said.count("\n") == 1


def test_tables_without_a_card_are_compared(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.csv").write_text("id,video,score\n1,x,1\n2,y,0\n3,z,1\n")
    Path("b.csv").write_text("id;video;score\n1;x;1\n2;y;1\n3;z;1\n")
    assert main(["compare", "a.csv", "b.csv"]) == 0
    printed = capsys.readouterr()
    assert "atlaskit: a.csv has no card (a.csv.json), so its settings are not known" in printed.err
    assert "3 questions of both, about 3 videos: 0.667 and 1.000." in printed.out
    assert "A table without a card does not tell its settings" in printed.out
