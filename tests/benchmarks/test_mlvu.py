"""MLVU: answers by text, the mirrors' form with letters, and the types without choices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.datasets import MLVU_FILES, make_mlvu, mlvu_row, put, write_json

import atlaskit as ak
from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError


@pytest.fixture
def home(tmp_path: Path, tiny: Path) -> Path:
    make_mlvu(tmp_path, tiny)
    return tmp_path


def test_mlvu_loads_every_field(home: Path) -> None:
    bench = ak.benchmarks.mlvu(home)
    assert (bench.name, bench.dataset, len(bench), bench.missing) == ("MLVU", "MLVU", 11, ())
    rows = [(kind, number) for kind in MLVU_FILES.values() for number in range(3)]
    for case, (kind, number) in zip(bench[:9], rows, strict=True):
        row = mlvu_row(number, kind)
        assert (case.question.text, list(case.question.choices)) == (row["question"], row["candidates"])
        assert (case.question.answer, case.question.category) == (number % 4, kind)
        assert (case.video, case.facts["duration_s"]) == (f"{kind}_{number}", 480.25)
        assert (case.facts["open_ended"], case.facts["subtitles"]) == (False, False)
    assert len({case.question.id for case in bench}) == 11
    assert bench[0].opened().duration_s == pytest.approx(15)
    assert ak.benchmarks.mlvu(home / "MLVU").cases == bench.cases


def test_types_without_choices_are_asked_for_words(home: Path) -> None:
    bench = ak.benchmarks.mlvu(home)
    assert [(case.question.kind, case.question.category) for case in bench[9:]] == [
        ("open", "subPlot"),
        ("summary", "summary"),
    ]
    assert {case.question.answer for case in bench[9:]} == {"A dog runs. Then a cat sleeps."}
    assert bench.where(open_ended=False).cases == bench.cases[:9]
    assert len(bench.where(category=("subPlot", "summary"))) == 2


def mirror_row(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "video_name": f"plotQA_{number}.mp4",
        "duration": 480.25,
        "question": f"What does the man do, {number}?\n(A) Run\n(B) Sleep\n(C) Eat\n(D) Sing",
        "candidates": ["Run", "Sleep", "Eat", "Sing"],
        "answer": "ABCD"[number % 4],
        "task_type": "plotQA",
        **changes,
    }


@pytest.mark.parametrize("candidates", [["Run", "Sleep", "Eat", "Sing"], None, [], "['Run', 'Sleep']"])
def test_the_form_of_mirrors_gives_the_same_questions(home: Path, candidates: Any) -> None:
    expected = [case for case in ak.benchmarks.mlvu(home) if case.question.category == "plotQA"]
    rows = [mirror_row(number, candidates=candidates) for number in range(3)]
    bench = ak.benchmarks.mlvu(home, rows=rows)
    assert [case.question for case in bench] == [case.question for case in expected]
    assert [case.opened().duration_s for case in bench] == [case.opened().duration_s for case in expected]


def test_options_in_the_question_stay_if_they_are_not_the_candidates(home: Path) -> None:
    text = "Which order is right?\n(A) dog\n(B) cat"
    (case,) = ak.benchmarks.mlvu(home, rows=[mlvu_row(0, question=text, candidates=["A, B", "B, A"], answer="B, A")])
    assert (case.question.text, case.question.answer) == (text, 1)


@pytest.mark.parametrize(
    ("changes", "index"),
    [
        ({"candidates": [0, 3, 2], "answer": 3}, 1),
        ({"candidates": ["0", "3", "2"], "answer": 2}, 2),
        ({"candidates": ["B", "C", "A"], "answer": "A"}, 2),  # an answer of the published form is a text
        ({"candidates": ["x", "y"], "answer": "B"}, 1),
        ({"candidates": ["same", "same", "other"], "answer": "same"}, 0),
        ({"candidates": ["x", "y", None, ""], "answer": "y"}, 1),
        ({"candidates": ["x", "y"], "answer": " y "}, 1),
        ({"candidates": ["x", "y"], "answer": None}, None),
        ({"candidates": ["(A) x", "(B) y"], "answer": "y", "question_id": "TR_1", "duration": "61.5"}, 1),
    ],
)
def test_real_oddities_are_kept(home: Path, changes: dict[str, Any], index: int | None) -> None:
    (case,) = ak.benchmarks.mlvu(home, rows=[mlvu_row(0, **changes)])
    assert case.question.answer == index
    (lettered,) = ak.benchmarks.mlvu(home, rows=[mirror_row(0, question="?", candidates=["B", "C", "A"], answer="A")])
    assert lettered.question.answer == 0, "an answer of the mirrors' form is a letter"


def test_the_files_with_answers_come_before_those_without(tmp_path: Path, tiny: Path) -> None:
    rows = [mlvu_row(number, question_id=f"q{number}") for number in range(3)]
    write_json(tmp_path / "test_question.json", [{**row, "answer": None} for row in rows])
    write_json(tmp_path / "test-ground-truth" / "test_mcq_gt.json", rows)
    put(tiny, *(tmp_path / "video" / row["video"] for row in rows))
    assert [case.question.answer for case in ak.benchmarks.mlvu(tmp_path)] == [0, 1, 2]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"answer": "Fly"}, r"Row 0: .*one of 4 candidates; got 'Fly'"),
        ({"candidates": None}, r"Row 0: .*one of 0 candidates"),
        ({"candidates": None, "answer": None}, r"Row 0: .*at least two choices; got 0"),
        ({"video": None}, r"Row 0: video: "),
        ({"question": None}, r"Row 0: question: Field required"),
        ({"question_type": "summary", "candidates": None, "answer": " "}, r"Row 0: The answer to a question of kind"),
    ],
)
def test_an_invalid_row_is_one_sentence(home: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ak.benchmarks.mlvu(home, rows=[mlvu_row(0, **changes)])


def test_open_questions_can_be_evaluated(home: Path) -> None:
    from support.datasets import ConstantModel

    bench = ak.benchmarks.mlvu(home)
    rows = ak.evaluate(bench, "blind", vlm=ConstantModel(0), cache=Cache(None), progress=False)
    assert set(rows["failure"]) == {""} and 0 < rows["score"].iloc[-1] < 1
    table = ak.metrics.official(rows, bench).set_index("metric")
    assert table.loc["M-Avg, pooled", "n"] == 9 and table.loc["M-Avg, pooled", "value"] == pytest.approx(3 / 9)
    assert "accuracy: summary" not in table.index
