"""The laws of the one clock, on times alone."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlaskit.video.readers.clock import NO_TIME, SoundClock, Ticks, Timeline, continuous, ordered, paced

TICK, FRAME = Fraction(1, 90_000), 3600
LONGEST = 10 * 90_000

PART = st.tuples(st.integers(-(2**33), 2**33), st.lists(st.integers(1, LONGEST - FRAME), min_size=3, max_size=30))
"""For each part, the tick at which it starts, and the steps between its frames."""


def of_parts(parts: list[tuple[int, list[int]]]) -> tuple[Ticks, list[int]]:
    """Return the times of a file of parts, and the index at which each begins."""
    times: list[int] = []
    starts = []
    for start, steps in parts:
        starts.append(len(times))
        times += np.cumsum([start, *steps]).tolist()
    return np.array(times, np.int64), starts


def timeline_of(times: Ticks, *sounds: SoundClock) -> Timeline:
    return continuous(times, np.full(len(times), FRAME), sounds, TICK)


@given(st.lists(PART, min_size=1, max_size=5))
def test_a_part_plays_as_long_as_alone_and_begins_where_the_one_before_ends(parts: list[tuple[int, list[int]]]) -> None:
    apart = [(start + 2**40 * (number % 2), steps) for number, (start, steps) in enumerate(parts)]
    times, starts = of_parts(apart)
    timeline = timeline_of(times)
    assert [joint.picture for joint in timeline.joints] == starts[1:]
    assert timeline.times[0] == times[0] and timeline.end * 90_000 == timeline.times[-1] + FRAME
    for (_, steps), first in zip(apart, starts, strict=True):
        assert np.diff(timeline.times[first : first + len(steps) + 1]).tolist() == steps
    for first in starts[1:]:
        assert timeline.times[first] - timeline.times[first - 1] == FRAME


@given(st.integers(3, 40), st.integers(0, 2**33), st.data())
def test_one_wrong_time_is_corrected(count: int, wrong: int, data: st.DataObject) -> None:
    at = data.draw(st.integers(1, count - 2))
    times = 10**6 + np.arange(count, dtype=np.int64) * FRAME
    times[at] = wrong
    timeline = timeline_of(times)
    assert not timeline.joints
    assert (np.diff(timeline.times) >= 0).all()
    assert abs(int(timeline.times[at]) - (10**6 + at * FRAME)) <= LONGEST


@pytest.mark.parametrize("has_sound", [False, True])
def test_slides_are_no_joints(has_sound: bool) -> None:
    times, _ = of_parts([(0, [60 * 90_000] * 3)])
    sound = SoundClock()
    for slide in range(1, 4):
        for tenth in range(600):
            sound.add(Fraction(60 * (slide - 1)) + Fraction(tenth, 10), Fraction(1, 10), slide)
    assert timeline_of(times, *([sound] if has_sound else [])).times.tolist() == times.tolist()


def test_sound_that_outlasts_the_pictures_of_a_part_delays_the_next() -> None:
    times = list[int]()
    sound = SoundClock()
    for _ in range(2):
        for tenth in range(300):
            if tenth in (0, 10, 20, 30):
                times.append(tenth * 9_000)
            sound.add(Fraction(tenth, 10), Fraction(1, 10), len(times))
    timeline = timeline_of(np.array(times, np.int64), sound)
    assert timeline.times[4] == 30 * 90_000 and timeline.end == 60


@given(st.permutations(range(12)))
def test_times_of_other_pictures_are_put_in_order(order: list[int]) -> None:
    """Where times fall by less than a part does, each picture has the time of its place."""
    assert ordered(np.array(order) * FRAME, 16 * FRAME).tolist() == [at * FRAME for at in range(12)]


def test_a_time_of_another_picture_is_corrected_and_a_real_gap_is_not() -> None:
    dts = np.array([0, 1, 2, 1, 2, 5, 60, 61], np.int64) * FRAME
    assert paced(dts, np.full(8, FRAME), TICK).tolist() == [FRAME * at for at in (0, 1, 2, 3, 4, 5, 60, 61)]
    assert paced(np.array([0, NO_TIME], np.int64), np.full(2, FRAME), TICK).tolist() == [0, FRAME]
