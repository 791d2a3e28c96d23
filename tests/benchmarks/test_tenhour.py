"""Ten-hour variants: the moved positions show the source's own frames, and what is said moves with them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import atlaskit as ak
from atlaskit.benchmarks.atlasworld import World, atlasworld
from atlaskit.benchmarks.atlasworld.world import DrawnVideo
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
    place = data.draw(st.integers(0, len(cases) - 1))
    before, after = cases[place], variant[place]
    source, joined = before.opened(), after.opened()
    assert joined.duration_s == pytest.approx(after.facts["duration_s"])
    assert joined.duration_s <= max(duration_s, source.duration_s) + 1e-6
    offset_s = after.facts["offset_s"]
    assert len(after.question.positions_s) == len(before.question.positions_s)
    for here, there in zip(before.question.positions_s, after.question.positions_s, strict=True):
        middle = (here[0] + here[1]) / 2
        assert there[0] - here[0] == pytest.approx(offset_s) and there[1] - here[1] == pytest.approx(offset_s)
        assert np.array_equal(source.frames([middle])[0], joined.frames([middle + offset_s])[0])
    said = joined.subtitles.between(offset_s, offset_s + source.duration_s)
    expected = [(line.start_s + offset_s, line.text) for line in source.subtitles.lines]
    assert [(pytest.approx(line.start_s), line.text) for line in said] == expected
    if before.question.kind == "when":
        assert after.question.answer == pytest.approx(tuple(t + offset_s for t in before.question.answer))  # type: ignore[union-attr]
    else:
        assert after.question.answer == before.question.answer


class Blank(DrawnVideo):
    """A video of a length, with one line in it, and no pictures."""

    def __init__(self, name: str, duration_s: float) -> None:
        self.name = self.fingerprint = name
        self.duration_s, self.fps, self.size = duration_s, 10.0, (16, 16)
        self.subtitles = Subtitles((Line(duration_s / 4, duration_s / 2, name),))


@dataclass(frozen=True)
class Opened:
    name: str
    duration_s: float

    def __call__(self) -> Video:
        return Blank(self.name, self.duration_s)


@settings(max_examples=20)
@given(st.integers(1, 1000), st.integers(0, 10**6), st.floats(60, 10_000))
def test_order_and_offsets_are_right_for_any_number_of_clips(many: int, seed: int, duration_s: float) -> None:
    lengths = [3.0 + (seed * 31 + number * 17) % 97 / 7 for number in range(many)]
    films = [Opened(f"v{number}", length) for number, length in enumerate(lengths)]
    asked = Question("Which?", ("a", "b"), answer=0, id="q", positions_s=((1.0, 2.0),))
    cases = [Case(replace(asked, id=f"q{film.name}"), film.name, film) for film in films]
    variant = ak.benchmarks.ten_hour(cases[:2], among=cases, seed=seed, duration_s=duration_s)
    for case, film in zip(variant, films, strict=False):
        joined = case.opened()
        assert isinstance(case.opened, JoinedVideo)
        parts = [part() for part in case.opened.parts]
        before = 0.0
        for part in parts:
            lines = joined.subtitles.between(before, before + part.duration_s)
            assert [line.text for line in lines] == [part.name]
            assert lines[0].start_s == pytest.approx(before + part.duration_s / 4)
            if part.name == film.name:
                assert case.facts["offset_s"] == pytest.approx(before)
            before += part.duration_s
        assert [part.name for part in parts].count(film.name) == 1
        assert case.facts["parts"] == len(parts)
        shortest = min((other.duration_s for other in films if other.name != film.name), default=np.inf)
        assert before <= max(duration_s, film.duration_s) + 1e-6
        assert before + shortest > duration_s - 1e-6


def test_a_seed_gives_one_variant_and_frame_indices_become_seconds(worlds: list[World]) -> None:
    cases = [replace(case, facts={**case.facts, "position": (12, 24)}) for w in worlds for case in w.cases(drawn=True)]
    cases = [replace(case, question=replace(case.question, positions_s=())) for case in cases]
    first, again, other = (ak.benchmarks.ten_hour(cases, seed=seed, duration_s=600) for seed in (1, 1, 2))
    assert [case.facts for case in first] == [case.facts for case in again] != [case.facts for case in other]
    start_s, end_s = first[0].question.positions_s[1]
    assert start_s == pytest.approx(first[0].facts["offset_s"] + 2.0) and end_s - start_s == pytest.approx(1 / 12)
    assert first[0].video == cases[0].video and first[0].question.id == cases[0].question.id


@pytest.mark.parametrize(("cases", "duration_s"), [([], 600), (None, 0), (None, float("inf"))])
def test_what_cannot_be_moved_is_refused(worlds: list[World], cases: list[Case] | None, duration_s: float) -> None:
    with pytest.raises(InputError):
        ak.benchmarks.ten_hour(worlds[0].cases(drawn=True) if cases is None else cases, duration_s=duration_s)
