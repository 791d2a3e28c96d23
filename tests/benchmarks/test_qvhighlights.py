"""QVHighlights, on a folder in its published layout with the oddities of real rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.conftest import PutVideo
from support.datasets import qvhighlights_row as row

import atlaskit as ak
from atlaskit.errors import InputError

FILE = "highlight_val_release.jsonl"


@pytest.fixture
def home(tmp_path: Path, put_video: PutVideo) -> Path:
    for number in range(2):
        put_video(tmp_path / "videos" / f"{row(number)['vid']}.mp4")
    write(tmp_path, [row(number) for number in range(4)])
    return tmp_path


def write(home: Path, rows: list[dict[str, Any]], file: str = FILE) -> None:
    (home / file).write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")


def test_every_field_is_loaded(home: Path) -> None:
    bench = ak.benchmarks.qvhighlights(home)
    assert bench.name == "QVHighlights" and len(bench) == 4 and bench.missing == ()
    for number, case in enumerate(bench):
        published, question = row(number), case.question
        windows = tuple(map(tuple, published["relevant_windows"]))
        assert (question.kind, question.several, question.answer) == ("when", True, windows), "in the file's order"
        assert question.positions_s == windows and published["query"] in question.text
        assert question.id == str(published["qid"]) and case.video == published["vid"]
        assert case.facts == {
            "query": published["query"],
            "duration_s": 119.9,
            "windows": len(windows),
            "oddity": "",
            "subtitles": False,
        }
    assert bench[0].opened().duration_s == pytest.approx(120, abs=0.2)
    assert ak.benchmarks.qvhighlights(home, rows=[row(number) for number in range(4)]).cases == bench.cases


def test_the_other_splits(home: Path) -> None:
    write(home, [row(0)], "highlight_train_release.jsonl")
    hidden = {name: value for name, value in row(1).items() if name != "relevant_windows"}
    write(home, [hidden], "highlight_test_release.jsonl")
    assert len(ak.benchmarks.qvhighlights(home, split="train")) == 1
    (case,) = ak.benchmarks.qvhighlights(home, split="test")
    assert case.question.answer is None and case.question.several
    with pytest.raises(InputError, match="split must be one of val, train, test"):
        ak.benchmarks.qvhighlights(home, split="dev")  # type: ignore[arg-type]


def test_lines_of_any_editor_and_odd_windows_are_read(home: Path) -> None:
    rows = [
        row(0, query="One\u2028line"),
        row(1, relevant_windows=[[9.0, 2.0], [140, 150]]),
        row(2, relevant_windows=[]),
    ]
    lines = [json.dumps(each, ensure_ascii=False) for each in rows]
    (home / FILE).write_bytes(("\ufeff" + "\r\n\r\n".join(lines) + "\r\n").encode())
    bench = ak.benchmarks.qvhighlights(home)
    assert len(bench) == 3 and bench[0].facts["query"] == "One\u2028line"
    assert bench[1].question.answer == ((2.0, 9.0), (140.0, 150.0)) and bench[2].question.answer is None
    assert bench[1].facts["oddity"] == "reversed, beyond the end"


def test_missing_videos_are_named(home: Path, put_video: PutVideo) -> None:
    (home / "videos" / f"{row(1)['vid']}.mp4").unlink()
    with pytest.warns(UserWarning, match="1 videos are missing: NUsG9BgSes0_110"):
        assert len(ak.benchmarks.qvhighlights(home)) == 2
    put_video(home / f"{row(1)['vid']}.mp4")
    assert len(ak.benchmarks.qvhighlights(home)) == 4


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: each line must be a JSON object; got '{'"),
        ("[1]", "line 2: the row must be an object with fields; got list"),
        ("[" * 100_000, "line 2: "),
        (json.dumps(row(1, relevant_windows=[[1]])), "line 2: relevant_windows"),
        (json.dumps(row(1, vid=None)), "line 2: vid: Field required"),
        (json.dumps(row(1, vid="")), "line 2: vid: "),
    ],
)
def test_a_damaged_line_is_one_sentence(home: Path, line: str, message: str) -> None:
    (home / FILE).write_text(f"{json.dumps(row(0))}\n{line}\n")
    with pytest.raises(InputError, match=message) as caught:
        ak.benchmarks.qvhighlights(home)
    assert "\n" not in str(caught.value) and FILE in str(caught.value) and len(str(caught.value)) < 400
