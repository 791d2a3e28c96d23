"""The loaders of datasets, on folders in the published layouts with all their irregularities."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.datasets import ConstantModel
from support.loopback import Loop
from support.pages import check_pictures
from support.paths import ROOT

import atlaskit as ak
from atlaskit.benchmarks.atlasworld import World
from atlaskit.benchmarks.benchmark import Benchmark
from atlaskit.benchmarks.lengths import standard_and_long
from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError
from atlaskit.experiments.notebook import run_notebook
from atlaskit.video.file import VideoFile


@pytest.fixture(scope="module")
def clip(film: World) -> Path:
    video = film.video
    assert isinstance(video, VideoFile)
    return video.path


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
def lvb(tmp_path: Path, clip: Path) -> Path:
    return make_lvb(tmp_path, clip)


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


def test_subtitles_are_loaded_only_if_wanted_and_present(lvb: Path) -> None:
    bench = ak.benchmarks.longvideobench(lvb, subtitles=False)
    assert not any(case.facts["subtitles"] for case in bench) and not bench[0].opened().subtitles.lines
    (lvb / "subtitles" / "v0_en.json").unlink()
    assert [case.facts["subtitles"] for case in ak.benchmarks.longvideobench(lvb)] == [False, False, True, True]


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


def test_the_test_split_has_no_answers(lvb: Path) -> None:
    rows = [{name: value for name, value in lvb_row(0).items() if name != "correct_choice"}]
    (lvb / "lvb_test_wo_gt.json").write_text(json.dumps(rows))
    (case,) = ak.benchmarks.longvideobench(lvb, split="test")
    assert case.question.answer is None


def test_missing_videos_are_listed_and_warned_about(lvb: Path) -> None:
    (lvb / "videos" / "v1.mp4").unlink()
    with pytest.warns(UserWarning, match=r"1 videos are missing: v1\.mp4"):
        bench = ak.benchmarks.longvideobench(lvb)
    assert len(bench) == 2 and bench.missing == ("v1.mp4",) and bench.where(level="L1-Perception").missing


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"candidates": "A star"}, r"lvb_val.json, row 1: candidates: "),
        ({"correct_choice": 5}, r"row 1: .*correct_choice must index one of 5 candidates; got 5"),
        ({"duration_group": "long"}, r"row 1: duration_group: "),
        ({"candidates": ["A star"], "correct_choice": 0}, r"row 1: .*at least two choices"),
        ({"video_path": None}, r"row 1: video_path: Field required"),
        ({"question": ""}, r"row 1: The question is empty"),
    ],
)
def test_an_invalid_row_raises_one_sentence_with_its_location(lvb: Path, changes: dict[str, Any], message: str) -> None:
    (lvb / "lvb_val.json").write_text(json.dumps([lvb_row(0), lvb_row(1, **changes)]))
    with pytest.raises(InputError, match=message) as caught:
        ak.benchmarks.longvideobench(lvb)
    assert "\n" not in str(caught.value)


def test_a_row_cannot_name_a_file_outside_its_folder(lvb: Path, clip: Path) -> None:
    shutil.copy(clip, lvb / "secret.mp4")
    rows = [lvb_row(0, video_path="../secret.mp4"), lvb_row(1, video_path=str(lvb / "secret.mp4"))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bench = ak.benchmarks.longvideobench(lvb, rows=rows)
    assert len(bench) == 0 and len(bench.missing) == 2


def mme_row(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "video_id": f"{number // 3 + 1:03d}",
        "duration": ("short", "medium", "long")[number % 3],
        "domain": "Knowledge",
        "sub_category": "Humanity & History",
        "url": "https://example.org/watch",
        "videoID": f"fFjv93ACGo{number // 3}",
        "question_id": f"{number // 3 + 1:03d}-{number % 3 + 1}",
        "task_type": ("Counting Problem", "OCR Problems", "Temporal Reasoning")[number % 3],
        "question": f"Which is it, {number}?",
        "options": ["A. Apples.", "B. Candles.", "C. Berries: A. small.", "D. 3.5"],
        "answer": "ABCD"[number % 4],
        **changes,
    }


@pytest.fixture
def mme(tmp_path: Path, clip: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "subtitle").mkdir()
    for number, suffix in enumerate(("mp4", "MP4", "mkv")):
        shutil.copy(clip, tmp_path / "data" / f"fFjv93ACGo{number}.{suffix}")
    text = '1\n00:00:01,000 --> 00:00:02,500\n<font color="white" size=".72c">Hello there</font>\n\n'
    (tmp_path / "subtitle" / "fFjv93ACGo0.srt").write_text(text)
    (tmp_path / "test.json").write_text(json.dumps([mme_row(number) for number in range(9)]))
    return tmp_path


def test_videomme_loads_every_field(mme: Path) -> None:
    bench = ak.benchmarks.videomme(mme)
    assert len(bench) == 9 and bench.missing == ()
    for number, case in enumerate(bench):
        row = mme_row(number)
        assert case.question.choices == ("Apples.", "Candles.", "Berries: A. small.", "3.5")
        assert case.question.answer == number % 4 and case.question.id == row["question_id"]
        for name in ("duration", "domain", "sub_category", "task_type"):
            assert case.facts[name] == row[name]
    assert [line.text for line in bench[0].opened().subtitles.lines] == ["Hello there"]
    assert not bench[3].opened().subtitles.lines and bench[8].opened().duration_s == pytest.approx(120, abs=0.2)
    assert {case.question.category for case in bench.where(duration=("short", "medium"))} == {
        "Counting Problem",
        "OCR Problems",
    }


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"answer": "E"}, r"test\.json, row 0: .*answer must be one of A, B, C, D; got 'E'"),
        ({"options": None}, r"row 0: options: Field required"),
        ({"options": ["A. Apples.", "B."], "answer": "A"}, r"row 0: A choice is empty"),
        ({"videoID": ""}, r"row 0: videoID: "),
    ],
)
def test_an_invalid_videomme_row_is_rejected(mme: Path, changes: dict[str, Any], message: str) -> None:
    (mme / "test.json").write_text(json.dumps([mme_row(0, **changes)]))
    with pytest.raises(InputError, match=message):
        ak.benchmarks.videomme(mme)


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


def test_foreign_files_in_the_folder_are_ignored(mme: Path, lvb: Path) -> None:
    """Both datasets are in one folder here, so each one's files are foreign to the other."""
    expected = ak.benchmarks.videomme(mme).cases, ak.benchmarks.longvideobench(lvb).cases
    for name, text in FOREIGN.items():
        (mme / name).write_text(text)
    answered = [{**row, "pred": "A"} for row in json.loads((mme / "test.json").read_text())]
    (mme / "zz_answered.json").write_text(json.dumps(answered))  # the same questions again, with answers
    assert (ak.benchmarks.videomme(mme).cases, ak.benchmarks.longvideobench(lvb).cases) == expected
    (mme / "test.json").unlink()
    (mme / "zz_answered.json").unlink()
    (mme / "lvb_val.json").unlink()
    with pytest.raises(InputError, match=r"with the questions of Video-MME; none does"):
        ak.benchmarks.videomme(mme)


@pytest.mark.parametrize(
    ("options", "answer", "choices", "index"),
    [
        (["A. Same.", "B. Same.", "C. Other."], "B", ("Same.", "Same.", "Other."), 1),
        (["(A) x", "(B) y"], "(B)", ("x", "y"), 1),
        (["A) x", "B) y"], "b", ("x", "y"), 1),
        (["A: x", "B: y"], "A.", ("x", "y"), 0),
        (["A x", "B y"], "B", ("x", "y"), 1),
        (["B. x", "A. y"], "A", ("x", "y"), 1),
        (["x", "y"], "B", ("x", "y"), 1),
        (["x", "y"], "y", ("x", "y"), 1),
        (["A", "B", "C"], "C", ("A", "B", "C"), 2),
        (["Apples", "B. Pears"], "B", ("Apples", "B. Pears"), 1),
        ([3, 4, 5], "C", ("3", "4", "5"), 2),
        ([1.5, 2], "A", ("1.5", "2"), 0),
        ("A. x\nB. y", "B", ("x", "y"), 1),
        (["A. x", "B. y"], None, ("x", "y"), None),
    ],
)
def test_options_of_any_form_load(mme: Path, options: Any, answer: Any, choices: tuple[str, ...], index: Any) -> None:
    (mme / "test.json").write_text(json.dumps([mme_row(0, options=options, answer=answer, question_id=7, duration=61)]))
    (case,) = ak.benchmarks.videomme(mme)
    assert (case.question.choices, case.question.answer) == (choices, index)
    assert (case.question.id, case.facts["duration"]) == ("7", "61")


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


def test_where_rejects_unknown_columns_and_empty_results(mme: Path) -> None:
    bench = ak.benchmarks.videomme(mme)
    assert isinstance(bench[:2], Benchmark) and len(bench[:2]) == 2
    with pytest.raises(InputError, match="no column 'level'; its columns are category, domain"):
        bench.where(level="L1")
    with pytest.raises(InputError, match="No question of Video-MME matches"):
        bench.where(domain="Cooking")


def test_evaluate_accepts_a_benchmark(mme: Path, cache: Cache) -> None:
    table = ak.evaluate(ak.benchmarks.videomme(mme)[:2], "blind", vlm=ConstantModel(1), cache=cache, progress=False)
    assert table["prediction"].tolist() == [1, 1] and table["right"].tolist() == [False, True]
    assert set(table["domain"]) == {"Knowledge"}


@pytest.mark.parametrize("dataset", ["lvb", "mme"])
def test_standard_and_long_returns_each_question_twice(dataset: str, request: pytest.FixtureRequest) -> None:
    home: Path = request.getfixturevalue(dataset)
    bench = standard_and_long(home, first=2, duration_s=300.0)
    assert [case.facts["length"] for case in bench] == ["standard", "standard", "long", "long"]
    assert [case.question.id for case in bench[:2]] == [case.question.id for case in bench[2:]]
    durations = {case.facts["length"]: case.facts["duration_s"] for case in bench}
    assert len({case.facts["duration_s"] for case in bench}) == 2, "one duration for each length"
    assert durations["standard"] == pytest.approx(bench[0].opened().duration_s)
    assert durations["long"] == pytest.approx(bench[2].opened().duration_s, rel=0.3)


@pytest.mark.long
@pytest.mark.usefixtures("unmeasured")
def test_the_benchmarks_notebook_runs_on_a_dataset_folder(tmp_path: Path, tiny: Path, loop: Loop) -> None:
    """It runs four methods on standard and long videos, with a model behind an endpoint.

    The videos have few frames, since every published method decodes them too.
    """
    home, out = make_lvb(tmp_path, tiny), tmp_path / "out"
    parameters = {"data": str(home), "first": 2, "minutes": [0.75], "calls": 6, "model": loop.url}
    folders = {"cache_dir": str(home / "cache"), "figures_dir": str(out)}
    run_notebook(ROOT / "notebooks" / "09_benchmarks.ipynb", out, {**parameters, **folders})
    scores = pd.read_csv(out / "09_benchmarks_score.csv")
    assert set(scores["method"]) == {"video-rlm", "uniform", "composite", "captions"}
    assert scores.groupby("method")["duration_s"].nunique().tolist() == [2, 2, 2, 2]
    assert (scores["questions"] == 2).all() and scores["duration_s"].max() > 2 * scores["duration_s"].min()
    assert "L1-Perception" in (out / "09_benchmarks.ipynb").read_text()
    assert check_pictures(out / "09_benchmarks.ipynb") > 0
