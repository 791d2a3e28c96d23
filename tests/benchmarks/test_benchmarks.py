"""The loaders of datasets, on folders in the published layouts with all their irregularities."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.datasets import ConstantModel, make_longvideobench, make_videomme

import atlaskit as ak
from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError


def lvb_row(number: int, **changes: Any) -> dict[str, Any]:
    """Return a row with every published field."""
    return {
        "video_id": f"v{number // 2}",
        "question": f"What is shown at moment {number}?",
        "question_wo_referring_query": "What is shown?",
        "candidates": ["A star", "A heart", "A circle", "A square", "Nothing"],
        "correct_choice": number % 5,
        "position": [10 * number, 10 * number + 5],
        "topic_category": "KC-Knowledge-Computer-Science",
        "question_category": ("S2O", "T2A", "SSS")[number % 3],
        "level": "L1-Perception" if number % 2 else "L2-Relation",
        "id": f"v{number // 2}_{number}",
        "video_path": f"v{number // 2}.mp4",
        "subtitle_path": f"v{number // 2}_en.json",
        "duration_group": (15, 60, 600, 3600)[number % 4],
        "starting_timestamp_for_subtitles": 30.5 if number // 2 == 1 else 0,
        "duration": 119.9,
        "view_count": 12345,
        **changes,
    }


LINES: tuple[list[dict[str, Any]], ...] = (
    [
        {"start": "00:00:01.000", "end": "00:00:03.500", "line": "A first line."},
        {"start": "00:01:00.000", "end": "00:01:02.000", "line": "A minute on."},
    ],
    # Lines of a longer source: the first ends before the video starts, the last has no end.
    [
        {"timestamp": [10.0, 20.0], "text": "before"},
        {"timestamp": [30.0, 32.5], "text": "across the beginning"},
        {"timestamp": [90.5, None], "text": "until the end"},
    ],
)


@pytest.fixture
def lvb(tmp_path: Path, film_file: Path) -> Path:
    return make_lvb(tmp_path, film_file)


def make_lvb(home: Path, clip: Path) -> Path:
    """Lay out four questions about two videos, which are copies of a clip."""
    (home / "videos").mkdir()
    (home / "subtitles").mkdir()
    for number, lines in enumerate(LINES):
        shutil.copy(clip, home / "videos" / f"v{number}.mp4")
        (home / "subtitles" / f"v{number}_en.json").write_text(json.dumps(lines))
    (home / "lvb_val.json").write_text(json.dumps([lvb_row(number) for number in range(4)]))
    return home


def test_longvideobench_loads_every_field(lvb: Path) -> None:
    bench = ak.benchmarks.longvideobench(lvb)
    assert len(bench) == 4 and bench.missing == () and "4 questions about 2 videos" in repr(bench)
    for number, case in enumerate(bench):
        row = lvb_row(number)
        assert (case.question.text, list(case.question.choices)) == (row["question"], row["candidates"])
        assert (case.question.answer, case.question.category) == (row["correct_choice"], row["question_category"])
        assert case.question.id == row["id"] and case.video == row["video_id"]
        assert case.facts["duration_group"] == row["duration_group"] and case.facts["level"] == row["level"]
        assert case.facts["topic"] == row["topic_category"] and list(case.facts["position"]) == row["position"]
        assert case.facts["subtitles"] is True
    whole, excerpt = bench[0].opened(), bench[2].opened()
    assert [(line.start_s, line.end_s) for line in whole.subtitles.lines] == [(1.0, 3.5), (60.0, 62.0)]
    assert [(line.start_s, line.end_s, line.text) for line in excerpt.subtitles.lines] == [
        (0.0, 2.0, "across the beginning"),
        (60.0, excerpt.duration_s, "until the end"),
    ]


def test_parquet_files_and_passed_rows_give_the_same_cases(lvb: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    from_json = ak.benchmarks.longvideobench(lvb)
    rows = []
    for number in range(4):
        row = lvb_row(number)
        candidates = row.pop("candidates")
        if number == 3:
            candidates[3:] = ["N/A", "N/A"]
            row["correct_choice"] = 2
        rows.append({**row, **{f"option{index}": option for index, option in enumerate(candidates)}})
    (lvb / "lvb_val.json").unlink()
    parquet.write_table(pa.Table.from_pylist(rows), lvb / "validation-00000-of-00001.parquet")
    from_parquet, from_rows = ak.benchmarks.longvideobench(lvb), ak.benchmarks.longvideobench(lvb, rows=rows)
    assert from_parquet.cases[:3] == from_json.cases[:3] and from_rows.cases == from_parquet.cases
    assert from_parquet[3].question.choices == ("A star", "A heart", "A circle")


FOREIGN = {
    "dataset_infos.json": '{"default": {"features": {}}}',
    "README.json": "[]",
    "my_results.json": '[{"question_id": "001-1", "pred": "B"}, 3]',
    "by_video.json": '[{"video_id": "001", "questions": [{"question_id": "001-1", "response": "B"}]}]',
    "lines.json": '{"a": 1}\n{"a": 2}\n',
    "._test.json": "\0\5\26\7",
    ".DS_Store": "\0\0\0\1Bud1",
}
"""Files that lie in the folders of datasets, with their content."""


def test_two_equal_options_are_two_options(lvb: Path) -> None:
    """Seven rows of the test split have them; the right one is an index."""
    row = lvb_row(0, candidates=["A star", "A star", "A circle"], correct_choice=1)
    (lvb / "lvb_val.json").write_text(json.dumps([row]))
    bench = ak.benchmarks.longvideobench(lvb)
    for choice, score in enumerate((0.0, 1.0, 0.0)):
        table = ak.evaluate(bench, "blind", vlm=ConstantModel(choice), cache=Cache(None), progress=False)
        assert table["score"].tolist() == [score] and table["prediction"].tolist() == [choice]
    question = bench[0].question
    assert ak.Question.from_json(question.to_json()) == question


def test_foreign_files_in_the_folder_are_ignored(tmp_path: Path, tiny: Path) -> None:
    """Two datasets are in one folder here, so each one's files are foreign to the other."""
    make_videomme(tmp_path, tiny)
    make_longvideobench(tmp_path, tiny)
    expected = ak.benchmarks.videomme(tmp_path).cases, ak.benchmarks.longvideobench(tmp_path).cases
    for name, text in FOREIGN.items():
        (tmp_path / name).write_text(text)
    answered = [{**row, "pred": "A"} for row in json.loads((tmp_path / "test.json").read_text())]
    (tmp_path / "zz_answered.json").write_text(json.dumps(answered))  # the same questions again, with answers
    assert (ak.benchmarks.videomme(tmp_path).cases, ak.benchmarks.longvideobench(tmp_path).cases) == expected
    for name in ("test.json", "zz_answered.json", "lvb_val.json"):
        (tmp_path / name).unlink()
    with pytest.raises(InputError, match=r"with the questions of Video-MME; none does"):
        ak.benchmarks.videomme(tmp_path)
