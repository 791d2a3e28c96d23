"""ExtremeWhenBench, on a folder in its published layout with the oddities of real rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.conftest import PutVideo
from support.asking import evaluate
from support.datasets import CORPORA
from support.datasets import extremewhen_row as row
from support.model_doubles import Babbler, Overruled

import atlaskit as ak
from atlaskit.benchmarks.tenhour import ten_hour
from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError
from atlaskit.evaluation.metrics import official


@pytest.fixture
def home(tmp_path: Path, put_video: PutVideo) -> Path:
    for place in ("lvbench/all_videos/v0.mp4", "mlvu/3_ego/v1.mp4", "videomme/data/v2.MP4"):
        put_video(tmp_path / place)
    (tmp_path / "videomme" / "subtitle").mkdir()
    (tmp_path / "videomme" / "subtitle" / "v2.srt").write_text("1\n00:00:01,000 --> 00:00:02,500\nHello\n\n")
    write(tmp_path, [row(number) for number in range(6)])
    return tmp_path


def write(home: Path, rows: list[dict[str, Any]]) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    (home / "data").mkdir(exist_ok=True)
    parquet.write_table(pa.Table.from_pylist(rows), home / "data" / "test-00000-of-00001.parquet")
    # The folder of Video-MME has a Parquet file of its own.
    parquet.write_table(pa.Table.from_pylist([{"videoID": "x", "question": "?"}]), home / "videomme" / "a.parquet")


def test_every_field_is_loaded_and_videos_are_found_where_their_source_keeps_them(home: Path) -> None:
    bench = ak.benchmarks.extremewhen(home)
    assert bench.name == "ExtremeWhenBench" and len(bench) == 6 and bench.missing == ()
    for number, case in enumerate(bench):
        published = row(number)
        span = tuple(published["correct_interval"])
        question = case.question
        assert (question.kind, question.answer, question.positions_s) == ("when", span, (span,))
        assert not question.several and question.text == published["question"] and question.id == f"q{number}"
        assert question.category == published["category"] and case.video == f"v{number % 3}"
        assert case.facts == {
            "source_corpus": CORPORA[number % 3],
            "duration_s": 119.9,
            "event_summary": "It happens.",
            "oddity": "",
            "subtitles": number % 3 == 2,
        }
    assert bench[0].opened().duration_s == pytest.approx(120, abs=0.2)
    assert [line.text for line in bench[2].opened().subtitles.lines] == ["Hello"]
    assert not ak.benchmarks.extremewhen(home, subtitles=False)[2].opened().subtitles.lines
    assert ak.benchmarks.extremewhen(home, rows=[row(number) for number in range(6)]).cases == bench.cases
    assert len(bench.where(source_corpus="MLVU")) == 2


def test_odd_intervals_are_kept_and_named(home: Path) -> None:
    intervals = {
        "reversed": ([20.0, 10.0], (10.0, 20.0)),
        "empty": ([5.0, 5.0], (5.0, 5.0)),
        "beyond the end": ([100.0, 140.0], (100.0, 140.0)),
        "before the start": ([-3.0, 4.0], (0.0, 4.0)),
        "reversed, before the start": ([4.0, -3.0], (0.0, 4.0)),
    }
    rows = [row(number, correct_interval=given) for number, (given, _) in enumerate(intervals.values())]
    bench = ak.benchmarks.extremewhen(home, rows=rows)
    for case, (name, (_, kept)) in zip(bench, intervals.items(), strict=True):
        assert case.facts["oddity"] == name and case.question.answer == kept
    assert bench[1].question.score((5.0, 5.0)) == 0.0, "an interval of no length always scores 0"
    (unknown,) = ak.benchmarks.extremewhen(home, rows=[row(0, correct_interval=None, qid=None)])
    assert unknown.question.answer is None and unknown.question.id == "v0-0"


def test_missing_videos_are_named_and_other_places_searched(home: Path, put_video: PutVideo) -> None:
    (home / "lvbench" / "all_videos" / "v0.mp4").unlink()
    with pytest.warns(UserWarning, match="1 videos are missing: v0"):
        bench = ak.benchmarks.extremewhen(home)
    assert len(bench) == 4 and bench.missing == ("v0",)
    put_video(home / "videos" / "v0.mkv")
    assert len(ak.benchmarks.extremewhen(home)) == 6
    put_video(home / "secret.mp4")
    with pytest.warns(UserWarning, match="missing"):
        assert not len(ak.benchmarks.extremewhen(home / "lvbench", rows=[row(0, video_id="../secret")]))


def test_an_invalid_folder_or_row_is_one_sentence(home: Path, tmp_path: Path) -> None:
    for changes, message in [
        ({"correct_interval": "soon"}, "row 1: correct_interval"),
        ({"video_id": ""}, "row 1: video_id"),
        ({"question": " "}, "row 1: The question is empty"),
    ]:
        (home / "rows.json").write_text(json.dumps([row(0, qid="a"), row(1, qid="b", **changes)]))
        with pytest.raises(InputError, match=message) as caught:
            ak.benchmarks.extremewhen(home)
        assert "\n" not in str(caught.value) and "rows.json" in str(caught.value)
    (home / "data" / "test-00000-of-00001.parquet").write_bytes(b"PAR1 damaged")
    with pytest.raises(InputError, match=r"Cannot read .*test-00000"):
        ak.benchmarks.extremewhen(home)
    with pytest.raises(InputError, match="pass the folder of ExtremeWhenBench"):
        ak.benchmarks.extremewhen(tmp_path / "absent")


def test_an_evaluation_is_scored_by_the_official_metric(home: Path, tmp_path: Path) -> None:
    bench = ak.benchmarks.extremewhen(home)[:2]
    model = Overruled(Babbler(1), decision=lambda request, answer: {**answer, "start_s": 0.0, "end_s": 11.0})
    rows = evaluate(bench, "blind", vlm=model, cache=Cache(tmp_path / "cache"), progress=False)
    table = official(rows, bench).set_index("metric")["value"]
    assert table.to_dict() == pytest.approx(
        {"mIoU": (5.5 / 11 + 1 / 15.5) / 2, "R@0.3": 0.5, "R@0.5": 0.5, "R@0.7": 0.0}
    )
    (moved,) = ten_hour(bench[:1], among=bench, duration_s=130.0)
    assert moved.question.answer == (moved.facts["offset_s"], moved.facts["offset_s"] + 5.5)
