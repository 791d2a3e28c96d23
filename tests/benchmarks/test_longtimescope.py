"""LongTimeScope: prompts that hold the question, its options and instructions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.datasets import longtimescope_row, make_longtimescope

import atlaskit as ak
from atlaskit.errors import InputError


@pytest.fixture
def home(tmp_path: Path, tiny: Path) -> Path:
    make_longtimescope(tmp_path, tiny)
    return tmp_path


def test_longtimescope_loads_every_field(home: Path) -> None:
    bench = ak.benchmarks.longtimescope(home)
    assert (bench.name, bench.dataset, len(bench)) == ("LongTimeScope", "LongTimeScope", 4)
    for number, case in enumerate(bench):
        row = longtimescope_row(number)
        assert case.question.text == f"What does the golden retriever do, {number}?"
        assert case.question.choices == tuple(f"thing {letter}" for letter in "abcdef")
        assert (case.question.answer, case.question.id, case.video) == (number, str(number), f"needle_{number}")
        assert case.question.category == case.facts["type"] == row["type"]
        assert case.facts["length"] == row["length"]
    assert [case.question.id for case in bench.where(length=36000, type=("OCR", "QA"))] == ["1", "3"]
    assert bench[0].opened().duration_s == pytest.approx(15)


@pytest.mark.parametrize(
    ("text", "stem", "choices"),
    [
        ("Which?\nA. x\nB. y", "Which?", ("x", "y")),
        ("Which?\nA. x\nB. y\nAnswer with the letter.\nThe answer is:", "Which?", ("x", "y")),
        ("Which?\nA. x\nof two\nB. y\nof two", "Which?", ("x\nof two", "y\nof two")),
        ("Look.\nQuestion: Which? Options: (A) x (B) y (C) z", "Which? Options:", ("x", "y", "z")),
        ("Look.\n  question: Which?\n(A) x\n(B) y", "Which?", ("x", "y")),
    ],
)
def test_prompts_of_any_form_load(home: Path, text: str, stem: str, choices: tuple[str, ...]) -> None:
    (case,) = ak.benchmarks.longtimescope(home, rows=[longtimescope_row(0, input=text, answer="b")])
    assert (case.question.text, case.question.choices, case.question.answer) == (stem, choices, 1)


def test_timescope_and_rows_with_separate_options_load(home: Path) -> None:
    row = longtimescope_row(0, options=["x", "y"], question="Which?", answer="y", length="600", task="QA", id=None)
    del row["input"], row["type"]
    (case,) = ak.benchmarks.longtimescope(home, rows=[row])
    assert (case.question.text, case.question.choices, case.question.answer) == ("Which?", ("x", "y"), 1)
    assert (case.facts["length"], case.facts["type"], case.question.id) == (600, "QA", "needle_0-0")


def test_ids_that_repeat_get_numbers(home: Path) -> None:
    """Whichever videos are missing, the same questions have the same ids."""
    rows = [longtimescope_row(number, id="n", length=number) for number in range(3)]
    assert [case.question.id for case in ak.benchmarks.longtimescope(home, rows=rows)] == ["n", "n#2", "n#3"]
    (home / "videos" / "needle_1.mp4").unlink()
    with pytest.warns(UserWarning, match=r"1 videos are missing: videos/needle_1\.mp4"):
        bench = ak.benchmarks.longtimescope(home, rows=rows)
    assert [(case.question.id, case.facts["length"]) for case in bench] == [("n", 0), ("n#3", 2)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"answer": "G"}, r"Row 0: .*one of A, B, C, D, E, F; got 'G'"),
        ({"input": "Which?"}, r"Row 0: .*of which it has none"),
        ({"input": "Which?", "answer": None}, r"Row 0: .*at least two choices; got 0"),
        ({"input": None}, r"Row 0: input: "),
        ({"video": ""}, r"Row 0: video: "),
    ],
)
def test_an_invalid_row_is_one_sentence(home: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ak.benchmarks.longtimescope(home, rows=[longtimescope_row(0, **changes)])
