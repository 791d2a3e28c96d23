"""CG-Bench, on a folder in its published layout with the oddities of real rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.conftest import PutVideo
from support.asking import evaluate
from support.datasets import CLUE_CHOICES as CHOICES
from support.datasets import cgbench_row as row
from support.model_doubles import Babbler, Overruled

import atlaskit as ak
from atlaskit.__main__ import main
from atlaskit.caching.cache import Cache
from atlaskit.cli import evaluate as evaluate_command
from atlaskit.errors import InputError
from atlaskit.evaluation.metrics import official


@pytest.fixture
def home(tmp_path: Path, put_video: PutVideo) -> Path:
    for name in ("v0", "v1"):
        put_video(tmp_path / "cg_videos_720p" / f"{name}.mp4")
    (tmp_path / "cg_subtitles").mkdir()
    (tmp_path / "cg_subtitles" / "v0.srt").write_text("1\n00:00:01,000 --> 00:00:02,500\nHello\n\n")
    (tmp_path / "cgbench_mini.json").write_text(json.dumps([row(number) for number in range(4)]))
    (tmp_path / "cgbench.json").write_text(json.dumps([row(number) for number in range(6)]))
    (tmp_path / "results.json").write_text("{}")
    return tmp_path


def test_the_choices_are_loaded_with_the_places_of_their_clues(home: Path) -> None:
    bench = ak.benchmarks.cgbench(home)
    assert bench.name == "CG-Bench mini" and len(bench) == 4 and bench.missing == ()
    for number, case in enumerate(bench):
        published, question = row(number), case.question
        assert (question.kind, list(question.choices), question.answer) == ("choice", CHOICES, number % 5)
        assert question.text == published["question"] and question.id == str(published["qid"])
        assert question.positions_s == tuple(map(tuple, published["clue_intervals"]))
        assert question.category == published["sub_category"] and case.video == published["video_uid"]
        assert case.facts == {
            "qid": question.id,
            "task": "choice",
            "domain": "Life Record",
            "duration_s": 119.9,
            "clues": 1 + number % 2,
            "oddity": "",
            "subtitles": number % 2 == 0,
        }
    assert [line.text for line in bench[0].opened().subtitles.lines] == ["Hello"]
    full = ak.benchmarks.cgbench(home, split="full", subtitles=False)
    assert full.name == "CG-Bench" and len(full) == 6 and not any(case.facts["subtitles"] for case in full)
    assert ak.benchmarks.cgbench(home, rows=[row(number) for number in range(4)]).cases == bench.cases


def test_the_clues_are_asked_for_as_several_intervals(home: Path) -> None:
    bench = ak.benchmarks.cgbench(home, task="clues")
    for number, case in enumerate(bench):
        question, published = case.question, row(number)
        assert (question.kind, question.several) == ("when", True), "also where there is one clue"
        assert question.answer == question.positions_s == tuple(map(tuple, published["clue_intervals"]))
        assert published["question"] in question.text and all(f"- {choice}" in question.text for choice in CHOICES)
        assert question.id == f"{published['qid']}-clues" and case.facts["qid"] == str(published["qid"])
    both = ak.benchmarks.cgbench(home, task="both")
    assert [case.facts["task"] for case in both] == ["choice", "clues"] * 4
    assert both.where(task="clues").cases == bench.cases
    assert len({case.question.id for case in both}) == 8


def test_odd_rows_are_kept(home: Path) -> None:
    rows = [
        row(0, clue_intervals=[[9.0, 2.0], [5.0, 5.0]]),
        row(1, clue_intervals=[]),
        row(2, right_answer="(d)", answer=None),
        row(3, right_answer=None, answer="A heart"),
        row(4, right_answer=None, answer=None, qid=None),
        row(0, choices=["1", 2, 3.5], right_answer="C"),
    ]
    bench = ak.benchmarks.cgbench(home, rows=rows)
    assert [case.question.answer for case in bench] == [0, 1, 3, 1, None, 2]
    assert bench[0].question.positions_s == ((2.0, 9.0), (5.0, 5.0)) and bench[0].facts["oddity"] == "reversed, empty"
    assert bench[4].question.id == bench[4].facts["qid"] == "v0-4" and bench[5].question.choices == ("1", "2", "3.5")
    assert bench[0].question.id == bench[5].question.id == "100", "as it is published"
    clues = ak.benchmarks.cgbench(home, rows=rows, task="clues")
    assert clues[1].question.answer is None and clues[1].question.several


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"right_answer": "F"}, "row 1: .*right_answer must be the letter of one of 5 choices; got 'F'"),
        ({"choices": ["A star"], "right_answer": "A"}, "row 1: .*at least two choices"),
        ({"clue_intervals": [[1.0]]}, "row 1: clue_intervals"),
        ({"clue_intervals": [[1.0, "soon"]]}, "row 1: clue_intervals"),
        ({"video_uid": None}, "row 1: video_uid: Field required"),
        ({"question": ""}, "row 1: The question is empty"),
    ],
)
def test_an_invalid_row_is_one_sentence(home: Path, changes: dict[str, Any], message: str) -> None:
    (home / "cgbench_mini.json").write_text(json.dumps([row(0), row(1, **changes)]))
    with pytest.raises(InputError, match=message) as caught:
        ak.benchmarks.cgbench(home)
    assert "\n" not in str(caught.value) and "cgbench_mini.json" in str(caught.value)


def test_a_wrong_folder_split_or_task_is_one_sentence(home: Path) -> None:
    for settings, message in [({"split": "test"}, "split must be"), ({"task": "open"}, "task must be")]:
        with pytest.raises(InputError, match=message):
            ak.benchmarks.cgbench(home, **settings)  # type: ignore[arg-type]
    for text in ("{}", "[1]", "["):
        (home / "cgbench_mini.json").write_text(text)
        with pytest.raises(InputError, match=r"cgbench_mini\.json"):
            ak.benchmarks.cgbench(home)
    (home / "cgbench_mini.json").unlink()
    with pytest.raises(InputError, match=r"holds no cgbench_mini\.json"):
        ak.benchmarks.cgbench(home)


def test_both_tasks_of_a_question_are_scored_together(home: Path, tmp_path: Path) -> None:
    bench = ak.benchmarks.cgbench(home, task="both")[:4]

    def answer(request: Any, given: dict[str, Any]) -> dict[str, Any]:
        return (
            {**given, "intervals": [{"start_s": 1.0, "end_s": 4.0}]} if "intervals" in given else {**given, "answer": 0}
        )

    rows = evaluate(bench, "blind", vlm=Overruled(Babbler(1), decision=answer), cache=Cache(tmp_path), progress=False)
    table = official(rows, bench).set_index("metric")
    # Question 100: right, and IoU 1. Question 101: wrong, and IoU 3 / 5.5.
    assert table["value"].to_dict() == pytest.approx(
        {"long-acc.": 0.5, "mIoU": (1 + 3 / 5.5) / 2, "rec.@IoU": 1.0, "acc.@IoU": 0.5}
    )
    assert table["n"].to_dict() == dict.fromkeys(table.index, 2)


def test_the_shell_sets_options_of_the_loader(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(evaluate_command, "as_model", lambda *_, **__: Babbler(1))
    command = ["evaluate", "cgbench", "--root", str(home), "--out", str(tmp_path / "rows.csv"), "--method", "blind"]
    command += ["--model", "http://127.0.0.1:9/v1", "m", "--cache", str(tmp_path / "cache"), "--load"]
    assert main([*command, "task", "both"]) == 0
    printed = capsys.readouterr().out
    assert "CG-Bench mini's own metric:" in printed and "acc.@IoU" in printed
    assert main([*command, "tusk", "both"]) == 2
    assert "cgbench has no option 'tusk' for --load; it has split, task." in capsys.readouterr().err
