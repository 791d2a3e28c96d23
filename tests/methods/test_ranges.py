"""Ranges of clips: which are legal, how they are joined, and the sheets that show them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from atlaskit.environment.grid import Grid
from atlaskit.errors import InputError
from atlaskit.methods.controller import Outcome
from atlaskit.methods.ranges import (
    LARGEST_FRAMES,
    LEAST_FRAMES,
    MOST_RANGES,
    Ranges,
    by_ranges,
    check_frames,
    clip_range,
    sheets_over,
)
from atlaskit.methods.videoarm import FEWEST_FRAMES, MOST_FRAMES
from atlaskit.models.protocol import MOST_IMAGES

CLIPS = tuple((10.0 * number, 10.0 * number + 10) for number in range(3600))
GRIDS: Any = SimpleNamespace(view=lambda span, k: Grid(*span, k))
"""A run whose sheets are their grids."""
pairs = st.tuples(st.integers(0, 3599), st.integers(0, 3599)).map(lambda pair: (min(pair), max(pair)))


@given(st.lists(pairs, min_size=1, max_size=MOST_RANGES))
def test_merged_ranges_hold_the_same_clips_once(named: list[tuple[int, int]]) -> None:
    joined = Ranges.of(CLIPS, named).ends
    assert [n for a, b in joined for n in range(a, b + 1)] == sorted({n for a, b in named for n in range(a, b + 1)})
    assert all(b + 1 < c for (_, b), (c, _) in zip(joined, joined[1:], strict=False))


@given(st.lists(pairs, min_size=1, max_size=MOST_RANGES), st.integers(LEAST_FRAMES, LARGEST_FRAMES))
def test_sheets_tile_the_intervals_within_the_frames_and_images(named: list[tuple[int, int]], frames: int) -> None:
    spans = Ranges.of(CLIPS, named).spans
    grids: Any = sheets_over(GRIDS, spans, frames)
    assert len(grids) <= MOST_IMAGES and sum(grid.size for grid in grids) <= frames
    edges = [(grid.start_s, grid.end_s) for grid in grids]
    for start_s, end_s in spans:
        own = [(a, b) for a, b in edges if start_s <= a and b <= end_s]
        assert own[0][0] == start_s and own[-1][1] == end_s
        assert all(one[1] == other[0] for one, other in zip(own, own[1:], strict=False))
    assert sum(b - a for a, b in edges) == pytest.approx(sum(b - a for a, b in spans))


@pytest.mark.parametrize(
    ("spans", "frames", "expected"),
    [
        ([(0, 100)], 50, [4] * 3),
        ([(0, 10), (20, 30), (50, 60), (80, 90)], 50, [3] * 5),
        ([(20.0 * n, 20.0 * n + 10) for n in range(8)], 32, [2] * 8),
        ([(0, 36_000)], MOST_FRAMES, [4] * 9),
        ([(0, 10), (20, 110)], 144, [4] * 9),
    ],
)
def test_sheets_are_as_large_as_each_range_allows(
    spans: list[tuple[float, float]], frames: int, expected: list[int]
) -> None:
    assert [grid.k for grid in sheets_over(GRIDS, spans, frames)] == expected


def test_what_is_left_over_goes_where_frames_are_furthest_apart() -> None:
    starts = [grid.start_s for grid in sheets_over(GRIDS, [(0, 10), (20, 110)], 144)]
    assert starts == [0.0, *(20 + 90 * part / 8 for part in range(8))]


def test_every_snapshot_gives_every_range_a_sheet() -> None:
    assert FEWEST_FRAMES >= LEAST_FRAMES and MOST_FRAMES <= LARGEST_FRAMES


@pytest.mark.parametrize("frames", [LEAST_FRAMES - 1, 0, LARGEST_FRAMES + 1, 48.5, True])
def test_frames_that_fit_no_request_are_refused(frames: int) -> None:
    with pytest.raises(InputError):
        check_frames(frames)


def test_a_range_that_ends_before_it_begins_is_objected_to() -> None:
    use = by_ranges(CLIPS, lambda action, ranges: Outcome(str(ranges)))
    good, wrong = SimpleNamespace(first=2, last=2), SimpleNamespace(first=7, last=3)
    for action in (SimpleNamespace(ranges=[good]), SimpleNamespace(range=good)):
        assert use(action).text == "Clips 2 (0:20.0–0:30.0)"
    for action in (SimpleNamespace(ranges=[good, wrong]), SimpleNamespace(range=wrong)):
        assert "from clip 7 to clip 3 ends before it begins" in use(action).text


@pytest.mark.parametrize("wrong", [{"first": 0, "last": 12}, {"first": -1, "last": 3}, {"first": True, "last": 3}])
@pytest.mark.parametrize("extra", [{}, {"start_s": 3.0}])
def test_only_clips_of_the_video_can_be_named(wrong: dict[str, int], extra: dict[str, float]) -> None:
    shape = clip_range(12)
    assert shape.model_validate({"first": 0, "last": 11})
    for value in ({**wrong, **extra}, {"first": 1.5, "last": 2}, {"first": 1}, {"first": "1", "last": 2}):
        with pytest.raises(ValidationError):
            shape.model_validate(value)


def test_ranges_are_told_with_their_times() -> None:
    assert str(Ranges.of(CLIPS, [(9, 9), (3, 5)])) == "Clips 3–5 (0:30.0–1:00.0), 9 (1:30.0–1:40.0)"
