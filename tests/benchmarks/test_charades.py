"""Charades-STA, on a folder in its published layout with the oddities of real lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.conftest import PutVideo
from support.datasets import CHARADES_LINES as LINES

import atlaskit as ak
from atlaskit.errors import InputError

FILE = "charades_sta_test.txt"


@pytest.fixture
def home(tmp_path: Path, put_video: PutVideo) -> Path:
    put_video(tmp_path / "Charades_v1_480" / "3MSZA.mp4")
    put_video(tmp_path / "Charades_v1_480" / "IFO8C.mp4")
    (tmp_path / FILE).write_text("\n".join(LINES) + "\n")
    return tmp_path


def test_every_line_is_a_question(home: Path) -> None:
    bench = ak.benchmarks.charades(home)
    assert bench.name == "Charades-STA" and len(bench) == 3 and bench.missing == ()
    assert [case.video for case in bench] == ["3MSZA", "3MSZA", "IFO8C"]
    assert [case.question.id for case in bench] == ["test-0", "test-1", "test-2"]
    first, _, last = (case.question for case in bench)
    assert (first.kind, first.several, first.answer) == ("when", False, (24.3, 30.4))
    assert first.positions_s == ((24.3, 30.4),)
    assert last.answer == (0.0, 12.0) and "a person runs ## fast." in last.text
    assert bench[0].facts == {"sentence": "person turn a light on.", "oddity": "", "subtitles": False}
    assert bench[2].opened().duration_s == pytest.approx(120, abs=0.2)
    rows = [{"vid": "3MSZA", "start": 24.3, "end": "30.4", "sentence": "person turn a light on."}]
    assert ak.benchmarks.charades(home, rows=rows).cases == bench.cases[:1]


def test_the_file_may_lie_among_annotations(home: Path) -> None:
    (home / "sta_annotation").mkdir()
    (home / FILE).rename(home / "sta_annotation" / "charades_sta_train.txt")
    bench = ak.benchmarks.charades(home, split="train")
    assert len(bench) == 3 and bench[0].question.id == "train-0"
    with pytest.raises(InputError, match=f"holds no {FILE}; pass the folder of Charades-STA"):
        ak.benchmarks.charades(home)
    with pytest.raises(InputError, match='split must be "test" or "train"'):
        ak.benchmarks.charades(home, split="val")  # type: ignore[arg-type]


def test_odd_lines_are_kept(home: Path) -> None:
    lines = ["3MSZA 30.4 24.3##turned around.", "", "3MSZA  5 5 ##no time.  ", "3MSZA -1 3##early."]
    (home / FILE).write_bytes(("\ufeff" + "\r\n".join(lines)).encode())
    bench = ak.benchmarks.charades(home)
    assert [case.question.answer for case in bench] == [(24.3, 30.4), (5.0, 5.0), (0.0, 3.0)]
    assert [case.facts["oddity"] for case in bench] == ["reversed", "empty", "before the start"]
    assert bench[1].facts["sentence"] == "no time."


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "3MSZA 24.3##a person.",
            r"line 2: each line must read .video start end##sentence.; got '3MSZA 24",
        ),
        ("3MSZA 24.3 30.4 a person.", "line 2: each line must read"),
        ("3MSZA soon 30.4##a person.", "line 2: start: "),
        ("3MSZA 1 nan##a person.", "line 2: end: "),
        ("3MSZA 1 inf##a person.", "line 2: end: "),
    ],
)
def test_a_damaged_line_is_one_sentence(home: Path, line: str, message: str) -> None:
    (home / FILE).write_text(f"{LINES[0]}\n{line}\n")
    with pytest.raises(InputError, match=message) as caught:
        ak.benchmarks.charades(home)
    assert "\n" not in str(caught.value) and FILE in str(caught.value)
