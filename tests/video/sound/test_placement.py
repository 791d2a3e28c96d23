"""Decoded sound lies on the video's clock, also where its own clock is wrong."""

from __future__ import annotations

import pytest

from atlaskit.video.sound.placement import Placement

LENGTH_S = 0.02


def place(
    times: list[float | None], joints: list[tuple[int, float]] | None = None, limit_s: float = 1e9
) -> list[float]:
    """Return where frames of LENGTH_S start; a packet's byte is a million times its index."""
    placement = Placement(joints or [], limit_s)
    starts = [placement.place(at_s, LENGTH_S, index * 1_000_000) for index, at_s in enumerate(times)]
    return [start_s for start_s in starts if start_s is not None]


def steps(first: float, count: int, step: float = LENGTH_S) -> list[float | None]:
    return [first + step * index for index in range(count)]


def test_rounded_times_make_no_holes() -> None:
    rounded = [None if at_s is None else round(at_s, 2) for at_s in steps(5.0, 200, 0.0204)]
    starts = place(rounded)
    gaps = [later - earlier - LENGTH_S for earlier, later in zip(starts, starts[1:], strict=False)]
    assert starts[0] == 5.0 and all(gap == pytest.approx(0, abs=1e-9) or gap > 0.09 for gap in gaps)
    assert abs(starts[-1] - (5 + 199 * 0.0204)) < 0.1


def test_a_hole_is_kept() -> None:
    assert place([*steps(0, 3), *steps(7.0, 3), *steps(500.0, 2)]) == pytest.approx(
        [0, 0.02, 0.04, 7, 7.02, 7.04, 500, 500.02]
    )


def test_what_is_there_twice_is_heard_once() -> None:
    starts = place([*steps(0, 20), *steps(0.2, 20)])
    assert starts == pytest.approx([0.02 * index for index in range(len(starts))])
    assert starts[-1] == pytest.approx(0.2 + 19 * 0.02, abs=0.11)


def test_a_clock_that_starts_anew_goes_on() -> None:
    starts = place([*steps(100, 100), *steps(0, 100)])
    assert starts == pytest.approx([100 + 0.02 * index for index in range(200)])


def test_a_clock_that_jumps_past_the_end_of_the_video_goes_on() -> None:
    assert place([*steps(0, 3), *steps(95_000, 3)], limit_s=60.0) == pytest.approx([0.02 * index for index in range(6)])


def test_the_picture_says_where_a_further_part_lies() -> None:
    """The first part has less sound than picture: the second part waits for its own."""
    starts = place([*steps(0, 50), *steps(0, 50)], joints=[(50_000_000, 1.5)])
    assert starts[50] == pytest.approx(1.5) and starts[-1] == pytest.approx(1.5 + 49 * 0.02)


def test_what_a_part_has_too_much_delays_the_next_and_is_not_lost() -> None:
    starts = place([*steps(0, 50), *steps(0, 50)], joints=[(50_000_000, 0.8)])
    assert len(starts) == 100 and starts[50] == pytest.approx(1.0)


def test_a_frame_without_a_time_follows_the_one_before() -> None:
    assert place([None, 0.02, None, None, 0.08]) == pytest.approx([0, 0.02, 0.04, 0.06, 0.08])
