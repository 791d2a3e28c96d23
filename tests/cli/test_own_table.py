"""`atlaskit evaluate questions.csv`: a table of one's own, its results, and its card."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.conftest import Shell
from support.answering import answering
from support.datasets import put

from atlaskit.evaluation import tables

ROWS = "video;question;A;B;answer;level\r\nfilm.mp4;Who?;Ann;Bob;B;1\r\nfilm;What?;ball;net;ball;2\r\n"


@pytest.fixture
def model(shell: Shell, film_file: Path) -> Iterator[tuple[str, ...]]:
    """A model; the current folder has a film and a table about it, as Excel saves it."""
    put(film_file, Path("film.mp4"))
    Path("questions.csv").write_bytes(ROWS.encode("utf-8-sig"))
    with answering() as address:
        yield ("--model", address, "any-vlm")


def test_a_csv_becomes_a_table_whose_card_repeats_it(model: tuple[str, ...], shell: Shell) -> None:
    told = shell("evaluate questions.csv --method uniform", *model)
    assert "questions.rows.csv: 2 questions, 2 model calls paid now" in told
    rows = tables.load("questions.rows.csv")
    assert rows["truth"].tolist() == ["B: Bob", "A: ball"] and rows["level"].tolist() == [1, 2]
    assert json.loads(Path("questions.rows.csv.json").read_text())["command"]["benchmark"] == "questions.csv"
    told = shell("evaluate --like questions.rows.csv.json --where level 2 --out again.csv")
    assert "again.csv: 1 questions, 0 model calls paid now" in told


def test_a_card_reads_no_table_outside_its_folder(model: tuple[str, ...], shell: Shell) -> None:
    """It could send any table of this machine to its address."""
    shell("evaluate questions.csv --method blind --out results/rows.csv", *model)
    told = shell("evaluate --like results/rows.csv.json --out again.csv", status=2)
    assert "which the card names, is not in the card's folder: name it on this line" in told
    shell("evaluate questions.csv --like results/rows.csv.json --out again.csv")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("question.csv --model x", "There is no file question.csv. Did you mean questions.csv?"),
        ("lvbenc --model x", "lvbenc is no benchmark (did you mean lvbench?) and no table"),
        ("questions.csv", "Name questions and a model"),
        ("questions.csv --oracle 0", "No oracle comes with questions.csv"),
        ("questions.csv --root nowhere --model http://127.0.0.1:9/v1 x", "There is no folder nowhere"),
    ],
)
@pytest.mark.usefixtures("model")
def test_a_mistake_is_one_sentence(line: str, told: str, shell: Shell) -> None:
    said = shell(f"evaluate {line}", status=2)
    assert told in said and said.count("\n") == 1


def test_tables_without_a_card_are_compared(shell: Shell) -> None:
    Path("a.csv").write_text("id,video,score\n1,x,1\n2,y,0\n3,z,1\n")
    Path("b.csv").write_text("id;video;score\n1;x;1\n2;y;1\n3;z;1\n")
    printed = shell("compare a.csv b.csv")
    assert "atlaskit: a.csv has no card (a.csv.json), so its settings are not known" in printed
    assert "3 questions of both, about 3 videos: 0.667 and 1.000." in printed
    assert "A table without a card does not tell its settings" in printed
