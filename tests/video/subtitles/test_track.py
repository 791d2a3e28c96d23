"""Lines and tracks."""

from __future__ import annotations

import math
import time
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlaskit.errors import InputError
from atlaskit.video.subtitles import Line, Subtitles


def test_lines_are_sorted_frozen_and_compared_by_value() -> None:
    a, b = Line(0.0, 9.0, "a"), Line(1.0, 2.0, "b")
    track = Subtitles((b, a))
    assert track.lines == (a, b) and track == Subtitles((a, b)) and hash(track) == hash(Subtitles((a, b)))
    assert track.between(1.5, 1.6) == (a, b) and track == Subtitles((a, b))  # `between` changes nothing
    assert len(track) == 2 and repr(track) == f"Subtitles(lines=({a!r}, {b!r}))"
    with pytest.raises(FrozenInstanceError):
        track.lines = ()  # type: ignore[misc]


LINES = st.lists(
    st.builds(
        lambda start, length, text: Line(start, start + length, text),
        st.integers(0, 40).map(float),
        st.sampled_from([0.0, 0.5, 1.0, 2.0, 7.0, 100.0]),
        st.sampled_from("abc"),
    ),
    max_size=30,
)


@given(LINES, st.integers(0, 90), st.integers(0, 90))
def test_between_returns_every_overlapping_line(lines: list[Line], start: int, length: int) -> None:
    track, start_s, end_s = Subtitles(tuple(lines)), start / 2, (start + length) / 2
    naive = [line for line in track.lines if line.start_s < end_s and start_s < line.end_s] if length else []
    assert list(track.between(start_s, end_s)) == naive


@pytest.mark.parametrize("interval", [(-1.0, 2.0), (3.0, 2.0), (math.nan, 2.0), (1.0, math.nan)])
def test_between_refuses_what_is_not_an_interval(interval: tuple[float, float]) -> None:
    with pytest.raises(InputError, match="not an interval"):
        Subtitles().between(*interval)


def test_between_is_fast_on_a_long_track() -> None:
    track = Subtitles(tuple(Line(i * 1.8, i * 1.8 + 2.5, "x") for i in range(20_000)))
    track.between(0.0, 1.0)
    start = time.perf_counter()
    found = [len(track.between(at, at + 9.4)) for at in range(0, 36_000, 36)]
    indexed_s = time.perf_counter() - start
    start = time.perf_counter()
    naive = [sum(line.start_s < at + 9.4 and at < line.end_s for line in track.lines) for at in range(0, 360, 36)]
    scanned_s = time.perf_counter() - start
    assert found[:10] == naive
    assert indexed_s < scanned_s * 10  # a thousand lookups against ten scans


def test_shifted_lines_are_cut_to_their_part() -> None:
    track = Subtitles((Line(0.0, 5.0, "a"), Line(4.0, 12.0, "b"), Line(10.0, 11.0, "c")))
    assert track.shifted(60.0).lines == (Line(60.0, 65.0, "a"), Line(64.0, 72.0, "b"), Line(70.0, 71.0, "c"))
    assert track.shifted(60.0, 70.0).lines == (Line(60.0, 65.0, "a"), Line(64.0, 70.0, "b"))
    assert track.shifted(-4.5).lines == (Line(0.0, 0.5, "a"), Line(0.0, 7.5, "b"), Line(5.5, 6.5, "c"))
    assert track.shifted(0.0) == track and track.shifted(60.0, 60.0) == Subtitles()
    for arguments in [(math.nan,), (math.inf,), (0.0, math.nan)]:
        with pytest.raises(InputError, match="finite"):
            track.shifted(*arguments)


def test_merged_joins_the_parts_of_a_playlist() -> None:
    one = Subtitles((Line(0.0, 2.0, "a"), Line(8.0, 99.0, "b")))
    joined = Subtitles.merged([one.shifted(10.0, 20.0), one.shifted(0.0, 10.0)])
    assert joined.lines == (Line(0, 2, "a"), Line(8, 10, "b"), Line(10, 12, "a"), Line(18, 20, "b"))
    assert Subtitles.merged([]) == Subtitles()
