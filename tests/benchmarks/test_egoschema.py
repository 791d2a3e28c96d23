"""EgoSchema: answers as indices, the subset with answers, and the first release's form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.datasets import egoschema_row, make_egoschema, write_json

import atlaskit as ak
from atlaskit.errors import InputError


@pytest.fixture
def home(tmp_path: Path, tiny: Path) -> Path:
    make_egoschema(tmp_path, tiny)
    return tmp_path


def test_egoschema_loads_every_field(home: Path) -> None:
    bench = ak.benchmarks.egoschema(home)
    assert (bench.name, bench.dataset, len(bench), bench.missing) == ("EgoSchema", "EgoSchema", 3, ())
    for number, case in enumerate(bench):
        row = egoschema_row(number)
        assert case.question.text == row["question"]
        assert case.question.choices == ("C does u.", "C does v.", "C does w.", "C does x.", "C does y.")
        assert (case.question.answer, case.question.id, case.video) == (number, row["video_idx"], row["video_idx"])
        assert case.facts == {"subtitles": False}
    assert bench[0].opened().duration_s == pytest.approx(15)


def test_the_full_set_has_questions_without_answers(home: Path) -> None:
    assert [case.question.answer for case in ak.benchmarks.egoschema(home, split="full")] == [0, 1, 2, None]
    with pytest.raises(InputError, match='split must be "subset" or "full"'):
        ak.benchmarks.egoschema(home, split="test")  # type: ignore[arg-type]


def test_parquet_of_all_tasks_gives_the_answers_of_the_subset(home: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    expected = ak.benchmarks.egoschema(home, split="full")
    rows = [egoschema_row(number) for number in range(4)]
    (home / "subset.json").unlink()
    (home / "mc.json").unlink()
    for task, given in {
        "GENERATION": [{**row, "option": None, "answer": None} for row in rows],
        "MC": [{**row, "answer": None} for row in rows],
        "Subset": rows[:3],
    }.items():
        (home / task).mkdir()
        parquet.write_table(pa.Table.from_pylist(given), home / task / "test-00000-of-00001.parquet")
    found = ak.benchmarks.egoschema(home, split="full")
    assert [case.question for case in found] == [case.question for case in expected]
    assert len(ak.benchmarks.egoschema(home)) == 3


def first_release(number: int) -> dict[str, Any]:
    row = egoschema_row(number)
    texts = [option[3:] for option in row["option"]]
    return {
        "q_uid": row["video_idx"],
        "google_drive_id": "1aB",
        "question": row["question"],
        **{f"option {index}": text for index, text in enumerate(texts)},
    }


def test_the_first_release_has_its_answers_in_a_file(tmp_path: Path, home: Path, tiny: Path) -> None:
    expected = [case.question for case in ak.benchmarks.egoschema(home)]
    for name in ("subset.json", "mc.json"):
        (home / name).unlink()
    write_json(home / "questions.json", [first_release(number) for number in range(4)])
    with pytest.raises(InputError, match=r"has an answer: add subset_answers\.json, or load all"):
        ak.benchmarks.egoschema(home)
    write_json(home / "subset_answers.json", {egoschema_row(number)["video_idx"]: number for number in range(3)})
    assert [case.question for case in ak.benchmarks.egoschema(home)] == expected
    for wrong in (["0"], {"a": 5}, {"a": None}, {"a": "x"}, {"a": [1]}, "text"):
        write_json(home / "subset_answers.json", wrong)
        with pytest.raises(InputError, match=r"subset_answers\.json must "):
            ak.benchmarks.egoschema(home)
    (home / "subset_answers.json").write_text("{")
    with pytest.raises(InputError, match=r"Cannot read .*subset_answers\.json"):
        ak.benchmarks.egoschema(home)


@pytest.mark.parametrize(("answer", "index"), [(3, 3), ("3", 3), (3.0, 3), ("D", 3), ("C does x.", 3), ("0", 0)])
def test_an_answer_is_an_index_a_letter_or_a_text(home: Path, answer: Any, index: int) -> None:
    (case,) = ak.benchmarks.egoschema(home, rows=[egoschema_row(0, answer=answer)])
    assert case.question.answer == index


def test_options_may_be_numbers_and_the_answer_stays_an_index(home: Path) -> None:
    (case,) = ak.benchmarks.egoschema(home, rows=[egoschema_row(0, option=[3, 2, 1, 0, 4], answer="0")])
    assert case.question.choices == ("3", "2", "1", "0", "4") and case.question.answer == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"answer": "5"}, r"Row 0: .*index from 0 to 4; got '5'"),
        ({"answer": -1}, r"Row 0: .*index from 0 to 4; got '-1'"),
        ({"answer": "1.5"}, r"Row 0: .*index from 0 to 4"),
        ({"video_idx": None}, r"Row 0: video_idx: "),
        ({"option": ["A. x"]}, r"Row 0: .*at least two choices"),
    ],
)
def test_an_invalid_row_is_one_sentence(home: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ak.benchmarks.egoschema(home, rows=[egoschema_row(0, **changes)])
