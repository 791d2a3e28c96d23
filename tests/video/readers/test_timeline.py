"""The laws of the one clock, on times alone."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from atlaskit.video.readers.timeline import (
    NO_TIME,
    PacketTimes,
    SoundClock,
    continuous,
    decoded,
    in_slots,
    paced,
    presented,
)

TICK, FRAME = Fraction(1, 90_000), 3600
LONGEST = 10 * 90_000

parts = st.lists(
    st.tuples(st.integers(-(2**33), 2**33), st.lists(st.integers(1, LONGEST - FRAME), min_size=3, max_size=30)),
    min_size=1,
    max_size=5,
)
"""For each part, the tick at which it starts, and the steps between its frames."""


def of_parts(parts: list[tuple[int, list[int]]]) -> tuple[PacketTimes, list[int]]:
    """Return the times of a file of parts, and the index at which each begins."""
    times, starts = PacketTimes(), []
    for start, steps in parts:
        starts.append(len(times))
        for at in np.cumsum([start, *steps]).tolist():
            times.add(at, at, FRAME)
    return times, starts


@given(parts)
def test_the_clock_never_goes_back_and_has_no_long_gap(parts: list[tuple[int, list[int]]]) -> None:
    times, _ = of_parts(parts)
    timeline = continuous(times, [], TICK, FRAME)
    steps = np.diff(timeline.pts)
    assert (steps >= 0).all() and (steps <= LONGEST + FRAME).all()
    assert timeline.end * 90_000 == timeline.pts[-1] + FRAME


@given(st.integers(-(2**33), 2**33), st.lists(st.integers(1, LONGEST - FRAME), min_size=1, max_size=60))
def test_a_clock_that_runs_on_is_left_alone(start: int, steps: list[int]) -> None:
    times, _ = of_parts([(start, steps)])
    timeline = continuous(times, [], TICK, FRAME)
    assert timeline.pts.tolist() == list(times.pts) and not timeline.joints


@given(parts)
def test_a_part_plays_as_long_as_alone(parts: list[tuple[int, list[int]]]) -> None:
    ordered = [(start + sum(2**40 for _ in range(number % 2)), steps) for number, (start, steps) in enumerate(parts)]
    times, starts = of_parts(ordered)
    timeline = continuous(times, [], TICK, FRAME)
    assert [joint.packet for joint in timeline.joints] == starts[1:]
    for (_, steps), first in zip(ordered, starts, strict=True):
        assert timeline.pts[first + len(steps)] - timeline.pts[first] == sum(steps)
    for first in starts[1:]:
        assert timeline.pts[first] - timeline.pts[first - 1] == FRAME, "it begins where the one before ends"


@given(st.integers(3, 40), st.integers(0, 2**33), st.data())
def test_one_wrong_time_is_corrected(count: int, wrong: int, data: st.DataObject) -> None:
    at = data.draw(st.integers(1, count - 2))
    times = PacketTimes()
    for index in range(count):
        tick = wrong if index == at else 10**6 + index * FRAME
        times.add(tick, tick, FRAME)
    timeline = continuous(times, [], TICK, FRAME)
    assert not timeline.joints
    assert (np.diff(timeline.dts) >= 0).all()
    assert abs(int(timeline.pts[at]) - (10**6 + at * FRAME)) <= LONGEST


def test_a_picture_that_stands_while_sound_goes_on_is_no_joint() -> None:
    times, sound = PacketTimes(), SoundClock()
    for slide in range(4):
        for tenth in range(600 * bool(slide)):
            sound.add(Fraction(60 * (slide - 1)) + Fraction(tenth, 10), Fraction(1, 10), slide)
        times.add(slide * 60 * 90_000, slide * 60 * 90_000, FRAME)
    assert continuous(times, [sound], TICK, FRAME).pts.tolist() == list(times.pts)


def test_slides_without_sound_are_no_joints() -> None:
    times, _ = of_parts([(0, [60 * 90_000] * 5)])
    assert continuous(times, [], TICK, FRAME).pts.tolist() == list(times.pts)


def test_sound_that_outlasts_the_pictures_of_a_part_delays_the_next() -> None:
    times, sound = PacketTimes(), SoundClock()
    for _ in range(2):
        for tenth in range(300):
            if tenth in (0, 10, 20, 30):
                times.add(tenth * 9_000, tenth * 9_000, FRAME)
            sound.add(Fraction(tenth, 10), Fraction(1, 10), len(times))
    timeline = continuous(times, [sound], TICK, FRAME)
    assert timeline.pts[4] == 30 * 90_000 and timeline.end == 60


@given(st.lists(st.sampled_from("IPB"), min_size=1, max_size=60).map(lambda letters: ["I", *letters]))
def test_pictures_by_type_get_each_time_once(letters: list[str]) -> None:
    times = np.arange(len(letters), dtype=np.int64) * FRAME
    pts = presented("".join(letters).encode(), times)
    assert sorted(pts.tolist()) == [int(time) + FRAME for time in times]


@given(st.permutations(range(24)))
def test_decoding_times_are_ordered_and_never_after_the_frame_is_shown(order: list[int]) -> None:
    pts = np.array([place * FRAME for place in order], np.int64)
    dts = decoded(pts, 40 * FRAME)  # so long a frame that nothing here is a new part
    assert (np.diff(dts) > 0).all() and (dts <= pts).all()


def test_a_time_of_another_picture_is_corrected_and_a_real_gap_is_not() -> None:
    dts = np.array([0, 1, 2, 1, 2, 5, 60, 61], np.int64) * FRAME
    assert paced(dts, np.full(8, FRAME), TICK).tolist() == [FRAME * at for at in (0, 1, 2, 3, 4, 5, 60, 61)]
    assert paced(np.array([0, NO_TIME], np.int64), np.full(2, FRAME), TICK).tolist() == [0, FRAME]


def test_slots_beyond_the_end_follow_it() -> None:
    assert in_slots(np.array([1, 3, 2]), np.array([0, 10, 20]), 10).tolist() == [10, 30, 20]
