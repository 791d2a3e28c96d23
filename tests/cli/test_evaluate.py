"""`atlaskit evaluate` as it is used for a night: estimate, total, shards, retries, card."""

import json
from pathlib import Path

import pandas as pd
import pytest
from support.asking import OF_THE_RUN
from support.datasets import make_longvideobench, write_json
from support.media import make_video

from atlaskit.__main__ import main
from atlaskit.evaluation import tables

ATLAS = ["evaluate", "atlasworld", "--load", "minutes", "1", "--load", "drawn", "true", "--load", "worlds", "3"]
ATLAS += ["--first", "6", "--where", "category", "S2O", "SSS"]
RUN = [*ATLAS, "--oracle", "0.1", "--cell", "32"]


@pytest.fixture(autouse=True)
def home(in_tmp: Path, short_pauses: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ATLASKIT_CACHE", str(in_tmp / "cache"))
    return in_tmp


def test_an_estimate_comes_before_the_money(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    prices = ["--prices", "prompt=1,completion=2", "--estimate", "2"]
    assert main([*RUN, *prices, "--out", "rows.csv"]) == 0
    printed = capsys.readouterr().out
    assert "from 2 of 6 questions" in printed and "usd" in printed and "hours" in printed
    assert "Pass --yes to go on" in printed and not (home / "rows.csv").exists()
    assert main([*RUN, *prices, "--yes", "--out", "rows.csv"]) == 0
    assert "hours: not known" in capsys.readouterr().out, "the first two are cached"
    rows = tables.load("rows.csv")
    assert len(rows) == 6
    enough = ["--total-calls", str(rows["calls"].sum() + 1), "--estimate", "6", "--yes", "--out", "bounded.csv"]
    assert main([*RUN, *enough]) == 0, "what is asked for the estimate counts once"


def test_a_total_that_is_reached_leaves_a_table_and_a_sentence(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    assert main([*RUN, "--total-calls", "1", "--parallel", "1", "--out", "rows.csv"]) == 1
    told = capsys.readouterr().err
    assert "0 of 6 questions are finished" in told and "so far are in" not in told
    assert not list(home.glob("rows*"))
    assert main([*RUN, "--total-calls", "12", "--parallel", "1", "--out", "rows.csv"]) == 1
    told = capsys.readouterr().err
    assert "The total of 12 calls is reached" in told and "with a larger total continues" in told
    some = tables.load("rows.so-far.csv")
    assert 0 < len(some) < 6 and not (home / "rows.csv").exists()
    assert main([*RUN, "--total-calls", "900", "--out", "rows.csv"]) == 0
    assert not list(home.glob("*.so-far.*")), "the whole table has all of them"
    rows = tables.load("rows.csv")
    assert rows.loc[rows["id"].isin(some["id"]), "calls_paid"].sum() == 0


def test_the_rows_so_far_are_in_a_file_that_is_followed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atlaskit.evaluation.runner.NEWS_S", 0)
    found, save = list[tuple[str, list[str]]](), tables.save

    def watched(rows: pd.DataFrame, path: Path) -> None:
        save(rows, path)
        found.append((Path(path).name, list(tables.load(path)["method"])))

    monkeypatch.setattr(tables, "save", watched)
    assert (
        main([*ATLAS, "--oracle", "0.1", "--method", "uniform", "blind", "--parallel", "1", "--out", "rows.csv"]) == 0
    )
    names = [*["uniform"] * 6, *["blind"] * 6]
    parts = [("rows.so-far.csv", names[:count]) for count in range(1, 13)]
    assert found == [*parts, ("rows.csv", names)]
    assert tables.newest("rows.csv")[0] == Path("rows.csv")


def test_shards_are_merged_to_the_table_of_one_run(capsys: pytest.CaptureFixture[str]) -> None:
    methods = ["--method", "uniform", "blind"]
    shards = [f"shard-{number}.csv" for number in (1, 2)]
    for number, name in enumerate(shards, 1):
        own = ["--cache", f"cache-{number}", "--shard", f"{number}/2", "--out", name]
        assert main([*ATLAS, "--oracle", "0.1", *methods, *own]) == 0
    assert main(["merge", *shards, "--out", "merged.csv"]) == 0
    assert "merged.csv: 12 rows of 2 shards, 0 of them with a failed call" in capsys.readouterr().out
    assert main([*ATLAS, "--oracle", "0.1", *methods, "--out", "one.csv"]) == 0
    one, merged = tables.load("one.csv"), tables.load("merged.csv")
    assert one.drop(columns=OF_THE_RUN).to_csv() == merged.drop(columns=OF_THE_RUN).to_csv()
    assert main(["merge", "shard-1.csv", "--out", "merged.csv"]) == 2
    assert "these are missing: 2" in capsys.readouterr().err


def test_a_card_given_back_repeats_the_table_and_options_win(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "--k", "4", "--scouts", "none", "--out", "rows.csv"]) == 0
    capsys.readouterr()
    assert main(["evaluate", "--like", "rows.csv.json", "--out", "again.csv"]) == 0
    assert "0 model calls paid now" in capsys.readouterr().out
    assert main(["compare", "rows.csv", "again.csv"]) == 0
    printed = capsys.readouterr().out
    assert "Difference +0.000: 95 % from -0.842 to +0.842, p = 1: not significant." in printed
    assert "All settings that both have are the same." in printed
    assert main(["evaluate", "--k", "8", "--like", "rows.csv.json", "--first", "4", "--out", "k8.csv"]) == 0
    capsys.readouterr()
    assert main(["compare", "rows.csv", "k8.csv"]) == 0
    printed = capsys.readouterr().out
    assert "settings in full k: 4 | 8" in printed and "asked questions: 6 | 4" in printed
    assert "4 questions of both" in printed
    with pytest.raises(SystemExit):
        main(["evaluate", "--like", "rows.csv", "--out", "again.csv"])
    assert "is no card of `evaluate`" in capsys.readouterr().err


def test_only_failures_are_asked_again(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    saved, save = list[tuple[str, int]](), tables.save
    assert main([*RUN, "--out", "rows.csv"]) == 0
    whole = tables.load("rows.csv")
    torn = whole.copy()
    torn.attrs = whole.attrs
    torn.loc[[1, 4], ["failure", "score", "answer", "stop"]] = ["the server died", 0.0, "", "failed"]
    tables.save(torn, "rows.csv")
    capsys.readouterr()
    monkeypatch.setattr("atlaskit.evaluation.runner.NEWS_S", 0)
    monkeypatch.setattr(
        tables, "save", lambda rows, path: (saved.append((Path(path).name, len(rows))), save(rows, path))
    )
    assert main([*RUN, "--rerun", "failures", "--out", "rows.csv"]) == 0
    assert "rows.csv: 2 of 6 questions asked again" in capsys.readouterr().out
    assert saved == [("rows.so-far.csv", 6)] * 2 + [("rows.csv", 6)], "the rows so far have the others too"
    rows = tables.load("rows.csv")
    assert rows.drop(columns=OF_THE_RUN).to_csv() == whole.drop(columns=OF_THE_RUN).to_csv()
    assert main([*RUN, "--rerun", "failures", "--out", "rows.csv"]) == 0
    assert "rows.csv: no question failed" in capsys.readouterr().out
    assert main([*RUN, "--rerun", "failures", "--out", "other.csv"]) == 2
    assert "other.csv is not a saved evaluation" in capsys.readouterr().err


def test_bad_rows_are_reported_and_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "data"
    make_longvideobench(data, make_video(tmp_path / "film.mp4", frames=4, fps=2, size=(64, 36)))
    rows = json.loads((data / "lvb_val.json").read_text())
    write_json(data / "lvb_val.json", [*rows, {**rows[0], "id": "x", "correct_choice": 7}])
    line = ["evaluate", "longvideobench", "--root", "data", "--model", "http://127.0.0.1:9/v1", "m", "--out", "r.csv"]
    assert main(line) == 2
    assert "row 2: " in capsys.readouterr().err
    (tmp_path / "r.csv").write_text("an earlier table")
    assert main([*line, "--skip-bad"]) == 1
    told = capsys.readouterr().err
    assert "left out: " in told and "no question was answered; the rows are in r.so-far.csv" in told
    assert (tmp_path / "r.csv").read_text() == "an earlier table", "it stays if no question is answered"
