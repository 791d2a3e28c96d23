"""Video-MME-v2: groups of four questions, eight options in one text, subtitles by the word."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from support.datasets import STRUCTURES, make_videomme_v2, put, videomme_v2_row

import atlaskit as ak
from atlaskit.errors import InputError


@pytest.fixture
def home(tmp_path: Path, tiny: Path) -> Path:
    make_videomme_v2(tmp_path, tiny)
    return tmp_path


def group_rows(group: int = 1, **changes: Any) -> list[dict[str, Any]]:
    return [videomme_v2_row(group, place, **changes) for place in range(1, 5)]


def test_videomme_v2_loads_every_field(home: Path) -> None:
    bench = ak.benchmarks.videomme_v2(home)
    assert (bench.name, bench.dataset, len(bench)) == ("Video-MME-v2", "Video-MME-v2", 12)
    for index, case in enumerate(bench):
        group, place = index // 4 + 1, index % 4 + 1
        assert case.question.text == f"Which of these, {group} and {place}?"
        assert case.question.choices == tuple(f"thing {letter}" for letter in "abcdefgh")
        assert (case.question.answer, case.question.id, case.video) == (place, f"{group:03d}-{place}", f"{group:03d}")
        assert (case.facts["group"], case.facts["place"]) == (f"{group:03d}", place)
        assert case.facts["group_type"] == ("relevance" if group % 2 else "logic")
        assert case.facts["group_structure"] == STRUCTURES[group % 3]
        # Only the last row of a group tells these.
        assert (case.facts["level"], case.facts["third_head"]) == (group % 3 + 1, "Counting")
        assert case.question.category == case.facts["second_head"] == "Action & Motion"
        assert case.facts["subtitles"] is (group == 1)
    assert len(bench.where(level=2)) == 4 and len(bench.where(group_type="logic")) == 4
    assert [(line.start_s, line.end_s, line.text) for line in bench[0].opened().subtitles.lines] == [(0, 1.4, "a b c")]
    assert not any(case.facts["subtitles"] for case in ak.benchmarks.videomme_v2(home, subtitles=False))


def test_real_oddities_are_kept(home: Path) -> None:
    odd = {
        "group_structure": [1, [2, 3], 4],
        "group_type": "逻辑链",
        "level": 2.0,
        "options": ["A. same", "B. same", "C. x"],
        "answer": "(b)",
        "second_head": math.nan,
    }
    bench = ak.benchmarks.videomme_v2(home, rows=group_rows(**odd))
    assert {case.facts["group_structure"] for case in bench} == {"[1,[2,3],4]"}
    assert {(case.facts["group_type"], case.facts["level"]) for case in bench} == {("logic", 2)}
    assert {(case.question.answer, case.question.choices) for case in bench} == {(1, ("same", "same", "x"))}
    assert {case.question.category for case in bench} == {""}
    spaced = ak.benchmarks.videomme_v2(home, rows=group_rows(group_structure="[[1, 2], 3, 4]", level="3"))
    assert {(case.facts["group_structure"], case.facts["level"]) for case in spaced} == {("[[1,2],3,4]", 3)}


def test_an_option_may_have_several_lines(home: Path) -> None:
    text = "A. first\nsecond line\nB. C. Wright\n\nC. third"
    bench = ak.benchmarks.videomme_v2(home, rows=group_rows(options=text, answer="C"))
    assert bench[0].question.choices == ("first\nsecond line", "C. Wright", "third") and bench[0].question.answer == 2


def test_places_follow_the_ids_and_else_the_rows(home: Path) -> None:
    shuffled = [group_rows()[index] for index in (2, 0, 3, 1)]
    assert [case.facts["place"] for case in ak.benchmarks.videomme_v2(home, rows=shuffled)] == [3, 1, 4, 2]
    for ids in ([None] * 4, ["q9", "q10", "q11", "q12"], ["001-0", "001-1", "001-2", "001-3"]):
        rows = [{**row, "question_id": name} for row, name in zip(group_rows(), ids, strict=True)]
        bench = ak.benchmarks.videomme_v2(home, rows=rows)
        assert [case.facts["place"] for case in bench] == [1, 2, 3, 4]
        assert len({case.question.id for case in bench}) == 4


def test_an_id_may_have_lost_its_zeros(home: Path, tiny: Path) -> None:
    (home / "data").rename(home / "elsewhere")
    put(tiny, home / "videos" / "part" / "001.mp4")
    bench = ak.benchmarks.videomme_v2(home, rows=group_rows(video_id=1))
    assert [case.video for case in bench] == ["1"] * 4 and bench[0].facts["subtitles"] is True


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"answer": "I"}, r"Row 0: .*one of A, B, C, D, E, F, G, H; got 'I'"),
        ({"options": None}, r"Row 0: options: Field required"),
        ({"options": "only one"}, r"Row 0: .*"),
        ({"video_id": ""}, r"Row 0: video_id: "),
    ],
)
def test_an_invalid_row_is_one_sentence(home: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ak.benchmarks.videomme_v2(home, rows=group_rows(**changes))
