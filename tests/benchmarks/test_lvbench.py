"""LVBench: videos with their questions, options inside the question, times as positions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.datasets import lvbench_question, lvbench_row, make_lvbench, put, write_json, write_lines

import atlaskit as ak
from atlaskit.errors import InputError


@pytest.fixture
def home(tmp_path: Path, tiny: Path) -> Path:
    make_lvbench(tmp_path, tiny)
    return tmp_path


def load(home: Path, *questions: dict[str, Any]) -> list[ak.Question]:
    """Return the questions of one video, whose rows are the given ones."""
    write_lines(home / "video_info.meta.jsonl", [lvbench_row(0, qa=questions)])
    return [case.question for case in ak.benchmarks.lvbench(home)]


def test_lvbench_loads_every_field(home: Path) -> None:
    bench = ak.benchmarks.lvbench(home)
    assert (bench.name, len(bench), bench.missing) == ("LVBench", 6, ())
    for number, case in enumerate(bench):
        question, row = case.question, lvbench_question(number)
        assert question.text == f"What happens at {number}?"
        assert question.choices == ("A dog barks", "It rains", "Nobody speaks", "All of it")
        assert (question.answer, question.id) == (number % 4, str(number))
        assert question.category == ", ".join(row["question_type"])
        assert case.facts["question_type"] == tuple(row["question_type"])
        assert question.positions_s == ((float(number), 10.0 + number),)
        assert case.facts["time_reference"] == row["time_reference"]
        assert (case.video, case.facts["video_type"]) == (
            f"Cm73ma6Ib{number // 2}",
            ("cartoon", "sport")[number // 2 % 2],
        )
        assert (case.facts["duration_s"], case.facts["subtitles"]) == (3690.0, False)
    assert bench[0].opened().duration_s == pytest.approx(15)


def test_a_question_is_found_by_each_of_its_types(home: Path) -> None:
    bench = ak.benchmarks.lvbench(home)
    for kind in ("reasoning", "event understanding"):
        assert [case.question.id for case in bench.where(question_type=kind)] == ["1", "3", "5"]
    assert len(bench.where(question_type=("reasoning", "entity recognition"))) == 6
    assert len(bench.where(question_type=("nothing", "entity recognition"))) == 3
    with pytest.raises(InputError, match="No question of LVBench matches"):
        bench.where(question_type="reason")
    assert bench.where(question_type="reasoning").dataset == bench[:2].dataset == "LVBench"


@pytest.mark.parametrize(
    ("reference", "positions"),
    [
        ("102:15-103:00", ((6135.0, 6180.0),)),
        ("1:02:15-1:03:00", ((3735.0, 3780.0),)),
        ("00:30 - 00:45", ((30.0, 45.0),)),
        ("12:30-12:30", ((750.0, 751.0),)),
        ("73:05-None", ()),
        ("None-None", ()),
        ("12:45-12:30", ()),
        ("", ()),
        (None, ()),
        ("somewhere", ()),
    ],
)
def test_a_time_reference_is_a_position(home: Path, reference: str | None, positions: Any) -> None:
    (question,) = load(home, lvbench_question(0, time_reference=reference))
    assert question.positions_s == positions
    assert ak.benchmarks.lvbench(home)[0].facts["time_reference"] == (reference or "")


def test_real_oddities_are_kept(home: Path) -> None:
    equal, text, lines, one_type, no_type, no_answer = load(
        home,
        lvbench_question(0, question="Which?\n(A) same\n(B) same\n(C) other", answer="B"),
        lvbench_question(1, answer="It rains"),
        lvbench_question(2, question="Who\r\nsays it?\r\n(A) one\r\ntwo\r\n(B) see (A) or (B)\r\n(C) x", answer="b"),
        lvbench_question(3, question_type="summarization"),
        lvbench_question(4, question_type=None),
        lvbench_question(5, answer=None),
    )
    assert (equal.choices, equal.answer) == (("same", "same", "other"), 1)
    assert text.answer == 1
    assert lines.text.split() == ["Who", "says", "it?"] and lines.answer == 1
    assert lines.choices[0].split() == ["one", "two"] and lines.choices[1:] == ("see (A) or (B)", "x")
    assert (one_type.category, no_type.category, no_answer.answer) == ("summarization", "", None)


def test_the_second_form_has_one_question_a_row(tmp_path: Path, tiny: Path) -> None:
    rows = [
        {"video_path": "all_videos/abc.mp4", "question": "Which?", "options": ["x", "y"], "answer": "B"},
        {"video_path": "abc.mp4", "question": "Which?\n(A) x\n(B) y\n(C) z", "answer": "C", "uid": 7},
        {"video_path": "gone.mp4", "question": "Which?", "options": ["(A) x", "(B) y"], "answer": "A"},
    ]
    write_json(tmp_path / "data" / "train.json", rows)
    put(tiny, tmp_path / "all_videos" / "abc.mp4")
    for source in (None, rows):
        with pytest.warns(UserWarning, match=r"LVBench: 1 videos are missing: gone\.mp4"):
            bench = ak.benchmarks.lvbench(tmp_path, rows=source)
        assert [case.video for case in bench] == ["abc", "abc"] and bench.missing == ("gone.mp4",)
        assert [case.question.answer for case in bench] == [1, 2]
        assert [case.question.choices for case in bench] == [("x", "y"), ("x", "y", "z")]
        assert [case.question.id for case in bench] == ["abc-0", "7"]


@pytest.mark.parametrize("folder", ["all_videos", "videos", "video", ".", "all_videos/part_1", "scripts/videos"])
@pytest.mark.parametrize("suffix", ["mp4", "MP4", "mkv", "webm"])
def test_videos_are_found_where_mirrors_put_them(tmp_path: Path, tiny: Path, folder: str, suffix: str) -> None:
    write_lines(tmp_path / "video_info.meta.jsonl", [lvbench_row(0)])
    put(tiny, tmp_path / folder / f"Cm73ma6Ib0.{suffix}")
    (tmp_path / folder / "._Cm73ma6Ib0.mp4").write_bytes(b"\0\5\26\7")  # macOS writes such files
    assert len(ak.benchmarks.lvbench(tmp_path)) == 2


def test_subtitles_of_ones_own_are_used(home: Path) -> None:
    (home / "subtitles").mkdir()
    (home / "subtitles" / "Cm73ma6Ib1.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nHello\n")
    bench = ak.benchmarks.lvbench(home)
    assert [case.facts["subtitles"] for case in bench] == [False, False, True, True, False, False]
    assert [line.text for line in bench[2].opened().subtitles.lines] == ["Hello"]
    assert not any(case.facts["subtitles"] for case in ak.benchmarks.lvbench(home, subtitles=False))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (lvbench_row(0, key=None), r"line 2: key: "),
        (lvbench_row(0, key=""), r"line 2: key: "),
        (lvbench_row(0, qa=[lvbench_question(0, answer="E")]), r"line 2: qa\.0: .*one of A, B, C, D; got 'E'"),
        (lvbench_row(0, qa=[lvbench_question(0, question="Which?")]), r"line 2: qa\.0: .*of which it has none"),
        (lvbench_row(0, qa=[lvbench_question(0, question=None)]), r"line 2: qa\.0\.question: Field required"),
        (
            lvbench_row(0, qa=[lvbench_question(0, question="Which?\n(A) x\n(B)\n(C) y")]),
            r"line 2, question 0: A choice is empty",
        ),
        (lvbench_row(0, qa="none"), r"line 2: qa: "),
        ([], r"line 2: the row must be an object with fields; got list"),
    ],
)
def test_an_invalid_row_is_one_sentence(home: Path, row: Any, message: str) -> None:
    write_lines(home / "video_info.meta.jsonl", [lvbench_row(1), row])
    with pytest.raises(InputError, match=message) as caught:
        ak.benchmarks.lvbench(home)
    assert "\n" not in str(caught.value) and "video_info.meta.jsonl" in str(caught.value)
