"""Ten-hour variants: positions, frames and subtitle lines move with their video."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import atlaskit as ak
from atlaskit.benchmarks.atlasworld import World, atlasworld
from atlaskit.benchmarks.atlasworld.clip import DrawnVideo
from atlaskit.benchmarks.case import Case
from atlaskit.benchmarks.tenhour import JoinedVideo
from atlaskit.environment.question import Question
from atlaskit.errors import InputError
from atlaskit.video.subtitles import Line, Subtitles
from atlaskit.video.video import Video


@pytest.fixture(scope="module")
def worlds() -> list[World]:
    return [atlasworld(seed, 30 + 7 * seed, questions=4, size=(114, 64)) for seed in range(1, 6)]


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


class BlankVideo(DrawnVideo):
    """A video with a duration and one line, whose frames cannot be drawn."""

    def __init__(self, name: str, duration_s: float) -> None:
        self.name = self.fingerprint = name
        self.duration_s, self.fps, self.size = duration_s, 10.0, (16, 16)
        self.subtitles = Subtitles((Line(duration_s / 4, duration_s / 2, name),))


@dataclass(frozen=True)
class BlankSource:
    """Opens a blank video."""

    name: str
    duration_s: float

    def __call__(self) -> Video:
        return BlankVideo(self.name, self.duration_s)


@pytest.mark.long
@settings(max_examples=20)
@given(st.integers(1, 1000), st.integers(0, 10**6), st.floats(60, 10_000))
def test_lines_and_offsets_match_the_parts(many: int, seed: int, duration_s: float) -> None:
    lengths = [3.0 + (seed * 31 + number * 17) % 97 / 7 for number in range(many)]
    sources = [BlankSource(f"v{number}", length) for number, length in enumerate(lengths)]
    question = Question("Which?", ("a", "b"), answer=0, id="q", positions_s=((1.0, 2.0),))
    cases = [Case(replace(question, id=f"q{source.name}"), source.name, source) for source in sources]
    variant = ak.benchmarks.ten_hour(cases[:2], among=cases, seed=seed, duration_s=duration_s)
    for case, source in zip(variant, sources, strict=False):
        joined = case.opened()
        assert isinstance(case.opened, JoinedVideo)
        parts = [part() for part in case.opened.parts]
        start_s = 0.0
        for part in parts:
            lines = joined.subtitles.between(start_s, start_s + part.duration_s)
            assert [line.text for line in lines] == [part.name]
            assert lines[0].start_s == pytest.approx(start_s + part.duration_s / 4)
            if part.name == source.name:
                assert case.facts["offset_s"] == pytest.approx(start_s)
            start_s += part.duration_s
        assert [part.name for part in parts].count(source.name) == 1
        assert case.facts["parts"] == len(parts)
        shortest = min((other.duration_s for other in sources if other.name != source.name), default=np.inf)
        assert start_s <= max(duration_s, source.duration_s) + 1e-6
        assert start_s + shortest > duration_s - 1e-6


def test_a_seed_fixes_the_variant_and_frame_indices_become_seconds(worlds: list[World]) -> None:
    cases = [replace(case, facts={**case.facts, "position": (12, 24)}) for w in worlds for case in w.cases(drawn=True)]
    cases = [replace(case, question=replace(case.question, positions_s=())) for case in cases]
    first, again, other = (ak.benchmarks.ten_hour(cases, seed=seed, duration_s=600) for seed in (1, 1, 2))
    assert [case.facts for case in first] == [case.facts for case in again] != [case.facts for case in other]
    start_s, end_s = first[0].question.positions_s[1]
    assert start_s == pytest.approx(first[0].facts["offset_s"] + 2.0) and end_s - start_s == pytest.approx(1 / 12)
    assert first[0].video == cases[0].video and first[0].question.id == cases[0].question.id


@pytest.mark.parametrize(("cases", "duration_s"), [([], 600), (None, 0), (None, float("inf"))])
def test_no_cases_and_invalid_durations_are_rejected(
    worlds: list[World], cases: list[Case] | None, duration_s: float
) -> None:
    with pytest.raises(InputError):
        ak.benchmarks.ten_hour(worlds[0].cases(drawn=True) if cases is None else cases, duration_s=duration_s)
