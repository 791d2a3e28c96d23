"""Promise: what is exported is read back: times right to a frame, texts of any characters."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from runs.made_passages import DURATION_S, RATES, VARIABLE, Paced, of_rate, passages

from atlaskit.runs.exporting.formats import FORMATS, Context, as_bytes, format_of, parse
from atlaskit.runs.exporting.passages import Passage
from atlaskit.runs.exporting.timecode import FrameClock, clock_of, rate_of
from atlaskit.video.playlist import Playlist
from atlaskit.video.video import Video

COUNTING = ("edl", "label-studio", "otio")
"""The formats that count frames."""
ROUNDED_S = {"vtt": 1.6e-3, "elan": 1.6e-3, "edl": 1 / 25}
"""Formats that do not keep every digit of the seconds, and by how much they round."""
MOST = ("kind", "label", "text", "confidence", "question", "video")
KEEPS = {
    "vtt": MOST[:3],
    **dict.fromkeys(("edl", "boris"), (*MOST[:3], "video")),
    **dict.fromkeys(("losslesscut", "elan", "camtrap-dp"), MOST),
    **dict.fromkeys(("csv", "tsv", "json", "otio", "label-studio"), (*MOST, "fps", "at_s")),
}
"""The fields of a passage that each format keeps beside its times."""


def again(found: list[Passage], form: str, video: Video | None = None) -> list[Passage]:
    """Return passages after they were written and read in a format."""
    videos = {} if video is None else {video.name: video}
    data = as_bytes(found, format_of("", form), Context(videos, None, "2026-06-01T21:00:00+02:00"))
    return list(parse(data, format_of("", form), "file", video=video))


@pytest.mark.parametrize("form", [each.name for each in FORMATS])
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(found=st.lists(passages(), min_size=1, max_size=4))
def test_any_passage_is_read_as_it_was(form: str, found: list[Passage]) -> None:
    def is_same(one: Passage, other: Passage) -> bool:
        apart_s = max(abs(one.start_s - other.start_s), abs(one.end_s - other.end_s))
        is_kept = all(getattr(one, name) == getattr(other, name) for name in KEEPS[form])
        return is_kept and apart_s <= ROUNDED_S.get(form, 0.0)

    left = again(found, form)
    assert len(left) == len(found)
    for passage in found:
        left.remove(next(each for each in left if is_same(each, passage)))


@pytest.mark.parametrize("rate", [*RATES, VARIABLE])
@settings(max_examples=30, deadline=None)
@given(start_s=st.floats(0, DURATION_S - 10), length_s=st.floats(1e-3, 5))
def test_times_are_right_to_a_frame(rate: str, start_s: float, length_s: float) -> None:
    """Also without the exact seconds that some formats keep beside their frames."""
    video, end_s = of_rate(rate), start_s + length_s
    clock = clock_of(video, None)
    first, after = clock.span(start_s, end_s)
    frame_s = 1e-6 + (1 / 24 if rate == VARIABLE else 1 / video.fps)
    assert (clock.seconds(first), clock.seconds(after)) == pytest.approx((start_s, end_s), abs=frame_s)
    assert first / float(clock.rate) == pytest.approx(start_s, abs=frame_s), "to whoever counts at a constant rate"
    for form in COUNTING:
        (read,) = again([Passage(start_s, end_s, video=video.name)], form, video)
        assert (read.start_s, read.end_s) == pytest.approx((start_s, end_s), abs=frame_s)


@pytest.mark.parametrize("rate", [*RATES, VARIABLE])
def test_the_frames_are_those_on_the_screen(rate: str) -> None:
    """From the frame shown at the start to the last that appears before the end."""
    video = of_rate(rate)
    times_s = video.times_s if video.times_s is not None else np.arange(100_000) / video.fps
    clock = clock_of(video, None)
    ticks = [clock.span(float(time_s), float(time_s) + 1e-4)[0] for time_s in times_s[:600]]
    assert len({*ticks}) == 600, "every frame has its own number"
    assert np.abs(np.array([clock.seconds(tick) for tick in ticks]) - times_s[:600]).max() < 1e-6
    for index in (0, 7, 23, 24, 100, 101, 590):
        inside_s = float(times_s[index] + times_s[index + 1]) / 2
        assert clock.span(inside_s, float(times_s[index + 3])) == (ticks[index], ticks[index + 3])


@given(st.integers(0, 60 * 60 * 60 * 23), st.sampled_from([*RATES.values(), rate_of(23.976), rate_of(10)]))
def test_timecode_counts_every_frame_once(tick: int, rate: Fraction) -> None:
    clock = FrameClock(rate)
    code = clock.timecode(tick)
    assert clock.tick(code) == tick and clock.timecode(tick + 1) > code


@pytest.mark.parametrize(
    ("fps", "tick", "code"),
    [
        (29.97, 1799, "00:00:59;29"),
        (29.97, 1800, "00:01:00;02"),
        (29.97, 17_982, "00:10:00;00"),
        (59.94, 3600, "00:01:00;04"),
        (23.976, 24 * 3600, "01:00:00:00"),
    ],
)
def test_drop_frame_is_that_of_smpte(fps: float, tick: int, code: str) -> None:
    assert FrameClock(rate_of(fps)).timecode(tick) == code


def test_a_stretch_of_a_playlist_is_an_event_of_each_file() -> None:
    video = Playlist([of_rate("25"), Paced(RATES["29.97"], name="second.mp4")])
    first, second = again([Passage(DURATION_S - 1, DURATION_S + 1, "over the cut", video=video.name)], "edl", video)
    assert [first.video, second.video] == ["second.mp4", "film.mp4"], "in order of time in their files"
    assert (first.start_s, first.end_s) == pytest.approx((0.0, 1.0), abs=1 / 29)
    assert (second.start_s, second.end_s) == pytest.approx((DURATION_S - 1, DURATION_S), abs=1e-6)
