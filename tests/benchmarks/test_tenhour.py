"""Ten-hour variants: positions, frames and subtitle lines move with their video."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import atlaskit as ak
import atlasworld as aw
from atlasworld import World


@pytest.fixture(scope="module")
def worlds() -> list[World]:
    return [aw.world(seed, 30 + 7 * seed, questions=4, size=(114, 64)) for seed in range(1, 6)]


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([30.0, 61.0, 100.0, 600.0, 3600.0]), st.data())
def test_moved_positions_show_the_same_frames(
    worlds: list[World], seed: int, duration_s: float, data: st.DataObject
) -> None:
    cases = [case for world in worlds for case in world.cases(drawn=True)]
    variant = ak.benchmarks.ten_hour(cases, seed=seed, duration_s=duration_s)
    index = data.draw(st.integers(0, len(cases) - 1))
    before, after = cases[index], variant[index]
    source, joined = before.opened(), after.opened()
    assert joined.duration_s == pytest.approx(after.facts["duration_s"])
    assert joined.duration_s <= max(duration_s, source.duration_s) + 1e-6
    offset_s = after.facts["offset_s"]
    assert len(after.question.positions_s) == len(before.question.positions_s)
    for span, moved in zip(before.question.positions_s, after.question.positions_s, strict=True):
        middle = (span[0] + span[1]) / 2
        assert moved[0] - span[0] == pytest.approx(offset_s) and moved[1] - span[1] == pytest.approx(offset_s)
        assert np.array_equal(source.frames([middle])[0], joined.frames([middle + offset_s])[0])
    lines = joined.subtitles.between(offset_s, offset_s + source.duration_s)
    expected = [(line.start_s + offset_s, line.text) for line in source.subtitles.lines]
    assert [(pytest.approx(line.start_s), line.text) for line in lines] == expected
    if before.question.kind == "when":
        assert after.question.answer == pytest.approx(tuple(t + offset_s for t in before.question.answer))  # type: ignore[union-attr]
    else:
        assert after.question.answer == before.question.answer


def test_a_seed_fixes_the_variant_and_frame_indices_become_seconds(worlds: list[World]) -> None:
    cases = [replace(case, facts={**case.facts, "position": (12, 24)}) for w in worlds for case in w.cases(drawn=True)]
    cases = [replace(case, question=replace(case.question, positions_s=())) for case in cases]
    first, again, other = (ak.benchmarks.ten_hour(cases, seed=seed, duration_s=600) for seed in (1, 1, 2))
    assert [case.facts for case in first] == [case.facts for case in again] != [case.facts for case in other]
    start_s, end_s = first[0].question.positions_s[1]
    assert start_s == pytest.approx(first[0].facts["offset_s"] + 2.0) and end_s - start_s == pytest.approx(1 / 12)
    assert first[0].video == cases[0].video and first[0].question.id == cases[0].question.id
    for of_a_table in ("left", 5):  # a column of that name in a table of the user's own
        named = [replace(case, facts={"position": of_a_table}) for case in cases]
        assert ak.benchmarks.ten_hour(named, duration_s=600)[0].question.positions_s == ()
