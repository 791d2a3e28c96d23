"""`atlaskit evaluate` for a night, and on a table of one's own.

Estimate, total, shards, retries, card; results and their comparison.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from cli.conftest import Shell
from support.answering import answering
from support.asking import OF_THE_RUN
from support.datasets import make_longvideobench, put, write_json
from support.media import make_video

from atlaskit.evaluation import tables

ATLAS = (
    "evaluate atlasworld --load minutes 1 --load drawn true --load worlds 3 --first 6 "
    "--where category S2O SSS --oracle 0.1"
)
RUN = f"{ATLAS} --cell 32"


@pytest.fixture
def saved(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The names and lengths of the tables that are saved, each piece of news at once."""
    found = list[tuple[str, int]]()
    save = tables.save

    def watched(rows: pd.DataFrame, path: Path) -> None:
        save(rows, path)
        found.append((Path(path).name, len(tables.load(path))))

    monkeypatch.setattr("atlaskit.evaluation.runner.NEWS_S", 0)
    monkeypatch.setattr(tables, "save", watched)
    return found


def without_costs(path: str) -> str:
    return tables.load(path).drop(columns=OF_THE_RUN).to_csv()


def test_an_estimate_comes_before_the_money(shell: Shell) -> None:
    line = f"{RUN} --prices prompt=1,completion=2 --estimate 2 --out rows.csv"
    printed = shell(line)
    assert "from 2 of 6 questions" in printed and "usd" in printed and "hours" in printed
    assert "Pass --yes to go on" in printed and not Path("rows.csv").exists()
    assert "hours: not known" in shell(f"{line} --yes"), "the first two are cached"
    rows = tables.load("rows.csv")
    assert len(rows) == 6
    # What is asked for the estimate counts once.
    shell(f"{RUN} --total-calls {rows['calls'].sum() + 1} --estimate 6 --yes --out bounded.csv")


def test_a_total_that_is_reached_leaves_a_table_and_a_sentence(shell: Shell) -> None:
    told = shell(f"{RUN} --total-calls 1 --parallel 1 --out rows.csv", status=1)
    assert "0 of 6 questions are finished" in told and "so far are in" not in told
    assert not list(Path().glob("rows*"))
    told = shell(f"{RUN} --total-calls 12 --parallel 1 --out rows.csv", status=1)
    assert "The total of 12 calls is reached" in told and "with a larger total continues" in told
    some = tables.load("rows.so-far.csv")
    assert 0 < len(some) < 6 and not Path("rows.csv").exists()
    shell(f"{RUN} --total-calls 900 --out rows.csv")
    assert not list(Path().glob("*.so-far.*")), "the whole table has all of them"
    rows = tables.load("rows.csv")
    assert rows.loc[rows["id"].isin(some["id"]), "calls_paid"].sum() == 0


def test_the_rows_so_far_are_in_a_file_that_is_followed(shell: Shell, saved: list[tuple[str, int]]) -> None:
    printed = shell(f"{ATLAS} --method uniform blind uniform --set frames 16 --parallel 1 --out rows.csv")
    assert saved == [*(("rows.so-far.csv", count) for count in range(1, 13)), ("rows.csv", 12)]
    rows = tables.load("rows.csv")
    assert rows["method"].tolist() == ["uniform"] * 6 + ["blind"] * 6
    assert [rows.attrs["methods"][name]["settings"] for name in ("uniform", "blind")] == [{"frames": 16}, {}]
    assert "rows.csv: 6 questions by 2 methods" in printed and "Compared with uniform" in printed
    assert tables.newest("rows.csv")[0] == Path("rows.csv")


def test_shards_are_merged_to_the_table_of_one_run(shell: Shell) -> None:
    for number in (1, 2):
        own = f"--cache cache-{number} --shard {number}/2 --out shard-{number}.csv"
        shell(f"{ATLAS} --method uniform blind {own}")
    printed = shell("merge shard-1.csv shard-2.csv --out merged.csv")
    assert "merged.csv: 12 rows of 2 shards, 0 of them with a failed call" in printed
    shell(f"{ATLAS} --method uniform blind --out one.csv")
    assert without_costs("one.csv") == without_costs("merged.csv")
    assert "these are missing: 2" in shell("merge shard-1.csv --out merged.csv", status=2)


def test_a_card_given_back_repeats_the_table_and_options_win(shell: Shell) -> None:
    shell(f"{RUN} --k 4 --scouts none --out rows.csv")
    assert "0 model calls paid now" in shell("evaluate --like rows.csv.json --out again.csv")
    printed = shell("compare rows.csv again.csv")
    assert "Difference +0.000: 95 % from -0.842 to +0.842, p = 1: not significant." in printed
    assert "All settings that both have are the same." in printed
    shell("evaluate --k 8 --like rows.csv.json --first 4 --out k8.csv")
    printed = shell("compare rows.csv k8.csv")
    assert "settings in full k: 4 | 8" in printed and "asked questions: 6 | 4" in printed
    assert "4 questions of both" in printed
    assert "is no card of `evaluate`" in shell("evaluate --like rows.csv --out again.csv", status=2)


def test_only_failures_are_asked_again(shell: Shell, saved: list[tuple[str, int]]) -> None:
    shell(f"{RUN} --out rows.csv")
    whole = without_costs("rows.csv")
    rows = tables.load("rows.csv")
    torn = rows.copy()
    torn.attrs = rows.attrs
    torn.loc[[1, 4], ["failure", "score", "answer", "stop"]] = ["the server died", 0.0, "", "failed"]
    tables.save(torn, "rows.csv")
    saved.clear()
    assert "rows.csv: 2 of 6 questions asked again" in shell(f"{RUN} --rerun failures --out rows.csv")
    assert saved == [("rows.so-far.csv", 6)] * 2 + [("rows.csv", 6)], "the rows so far have the others too"
    assert without_costs("rows.csv") == whole
    assert "rows.csv: no question failed" in shell(f"{RUN} --rerun failures --out rows.csv")
    assert "other.csv is not a saved evaluation" in shell(f"{RUN} --rerun failures --out other.csv", status=2)


def test_bad_rows_are_reported_and_left_out(shell: Shell) -> None:
    make_longvideobench(Path("data"), make_video(Path("film.mp4"), frames=4, fps=2, size=(64, 36)))
    rows = json.loads(Path("data/lvb_val.json").read_text())
    write_json(Path("data/lvb_val.json"), [*rows, {**rows[0], "id": "x", "correct_choice": 7}])
    line = "evaluate longvideobench --root data --model http://127.0.0.1:9/v1 m --out r.csv"
    assert "row 2: " in shell(line, status=2)
    Path("r.csv").write_text("an earlier table")
    told = shell(f"{line} --skip-bad", status=1)
    assert "left out: " in told and "no question was answered; the rows are in r.so-far.csv" in told
    assert Path("r.csv").read_text() == "an earlier table", "it stays if no question is answered"


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


def test_tables_without_a_card_are_compared(shell: Shell) -> None:
    Path("a.csv").write_text("id,video,score\n1,x,1\n2,y,0\n3,z,1\n")
    Path("b.csv").write_text("id;video;score\n1;x;1\n2;y;1\n3;z;1\n")
    printed = shell("compare a.csv b.csv")
    assert "atlaskit: a.csv has no card (a.csv.json), so its settings are not known" in printed
    assert "3 questions of both, about 3 videos: 0.667 and 1.000." in printed
    assert "A table without a card does not tell its settings" in printed
