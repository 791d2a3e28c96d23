"""Promise: what is exported is read back: times right to a frame, texts of any characters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from runs.made_passages import DURATION_S, RATES, VARIABLE, Paced, of_rate, passages
from support.media import make_video

from atlaskit.runs.exporting.formats import FORMATS, Context, as_bytes, format_of, parse
from atlaskit.runs.exporting.passages import Passage
from atlaskit.runs.exporting.timecode import FrameClock, clock_of, rate_of
from atlaskit.video.opening import open_video
from atlaskit.video.playlist import Playlist

BEGAN = "2026-06-01T21:00:00+02:00"
COUNTING = {"edl", "otio", "label-studio"}
"""The formats that count frames."""
EXACT = {"csv", "tsv", "json", "otio", "losslesscut", "boris", "label-studio", "camtrap-dp"}
"""The formats that keep every digit of the seconds."""
MOST = ("kind", "label", "text", "confidence", "question", "video")
KEEPS = {
    "vtt": ("kind", "label", "text"),
    **dict.fromkeys(("edl", "boris"), ("kind", "label", "text", "video")),
    **dict.fromkeys(("losslesscut", "elan", "camtrap-dp"), MOST),
    **dict.fromkeys(("csv", "tsv", "json", "otio", "label-studio"), (*MOST, "fps", "at_s")),
}
"""The fields of a passage that each format keeps beside its times."""


def again(found: list[Passage], form: str, video: Paced | None) -> tuple[Passage, ...]:
    """Return passages after they were written and read in a format."""
    videos = {} if video is None else {video.name: video}
    data = as_bytes(found, format_of("", form), Context(videos, None, BEGAN))
    return parse(data, format_of("", form), "file", video=video)


def kept(passage: Passage, form: str) -> list[object]:
    return [getattr(passage, name) for name in KEEPS[form]]


def ordered(found: list[Passage] | tuple[Passage, ...], form: str) -> list[Passage]:
    return sorted(found, key=lambda each: (round(each.start_s, 1), repr(kept(each, form))))


@pytest.mark.parametrize("form", [each.name for each in FORMATS])
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(found=st.lists(passages(), min_size=1, max_size=4))
def test_any_passage_is_read_as_it_was(form: str, found: list[Passage]) -> None:
    read = again(found, form, None)
    assert len(read) == len(found)
    tolerance_s = 0.0 if form in EXACT else 1 / 25 if form in COUNTING else 1.6e-3
    left = list(read)
    for passage in found:
        match = next(
            each
            for each in left
            if kept(each, form) == kept(passage, form)
            and abs(each.start_s - passage.start_s) <= tolerance_s
            and abs(each.end_s - passage.end_s) <= tolerance_s
        )
        left.remove(match)


@pytest.mark.parametrize("rate", [*RATES, VARIABLE])
@pytest.mark.parametrize("form", sorted(COUNTING))
@settings(max_examples=30, deadline=None)
@given(start_s=st.floats(0, DURATION_S - 10), length_s=st.floats(1e-3, 5))
def test_times_are_right_to_a_frame(form: str, rate: str, start_s: float, length_s: float) -> None:
    """Also without the exact seconds that some formats keep beside their frames."""
    video = of_rate(rate)
    clock = clock_of(video, None)
    first, after = clock.span(start_s, start_s + length_s)
    (read,) = again([Passage(start_s, start_s + length_s, video=video.name)], form, video)
    frame_s = 1 / 24 if rate == VARIABLE else 1 / video.fps
    for told_s, true_s in ((clock.seconds(first), start_s), (clock.seconds(after), start_s + length_s)):
        assert abs(told_s - true_s) <= frame_s + 1e-6
        assert abs(first / float(clock.rate) - start_s) <= frame_s + 1e-6, "to whoever counts at a constant rate"
    assert abs(read.start_s - start_s) <= frame_s + 1e-6 and abs(read.end_s - start_s - length_s) <= frame_s + 1e-6


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


@pytest.mark.parametrize("codec_fps", [10, 25])
def test_a_file_has_its_own_frame_times(tmp_path: Path, codec_fps: int) -> None:
    """A real file whose frames come unevenly: each of its frames is found again."""
    steps = [0, 1, 2, 3, 4, 6, 8, 10, 12, 14, 15, 16, 17, 20, 23, 26, 27, 28]
    video = open_video(make_video(tmp_path / "v.mkv", "libx264", len(steps), codec_fps, times=steps))
    times_s = video.frame_times()
    assert times_s is not None and len(times_s) == len(steps)
    for index, time_s in enumerate(times_s[:-1]):
        passage = Passage(float(time_s), float(times_s[index + 1]), "x", video=video.name)
        for form in ("edl", "label-studio"):
            data = as_bytes([passage], format_of("", form), Context({video.name: video}))
            (read,) = parse(data, format_of("", form), "file", video=video)
            assert (read.start_s, read.end_s) == pytest.approx((passage.start_s, passage.end_s), abs=1e-6)


@given(tick=st.integers(0, 60 * 60 * 60 * 23), rate=st.sampled_from([*RATES.values(), rate_of(23.976), rate_of(10)]))
def test_timecode_counts_every_frame_once(tick: int, rate: object) -> None:
    clock = FrameClock(rate)  # type: ignore[arg-type]
    code = clock.timecode(tick)
    assert clock.tick(code) == tick and clock.timecode(tick + 1) > code


def test_drop_frame_is_that_of_smpte() -> None:
    ntsc, fast = FrameClock(rate_of(29.97)), FrameClock(rate_of(59.94))
    assert [ntsc.timecode(tick) for tick in (1799, 1800, 17_981, 17_982, 107_892)] == [
        "00:00:59;29", "00:01:00;02", "00:09:59;29", "00:10:00;00", "01:00:00;00",
    ]  # fmt: skip
    assert [fast.timecode(tick) for tick in (3599, 3600, 35_964)] == ["00:00:59;59", "00:01:00;04", "00:10:00;00"]
    assert FrameClock(rate_of(23.976)).timecode(24 * 3600) == "01:00:00:00"
    assert [rate_of(fps) for fps in (23.98, 29.97002997, 59.94, 12.5, 7)] == [
        *(rate_of(24_000 / 1001), rate_of(30_000 / 1001), rate_of(60_000 / 1001), 25, 7),
    ]  # fmt: skip


def test_a_stretch_of_a_playlist_is_an_event_of_each_file() -> None:
    video = Playlist([of_rate("25"), Paced(RATES["29.97"], name="second.mp4")])
    passage = Passage(DURATION_S - 1, DURATION_S + 1, "over the cut", video=video.name)
    (first, second) = again([passage], "edl", video)  # type: ignore[arg-type]
    assert [first.video, second.video] == ["second.mp4", "film.mp4"], "in order of time in their files"
    assert (first.start_s, first.end_s) == pytest.approx((0.0, 1.0), abs=1 / 29)
    assert (second.start_s, second.end_s) == pytest.approx((DURATION_S - 1, DURATION_S), abs=1e-6)
