"""Playlists: several files as one video."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.media import frame_number, make_video

import atlaskit as ak
from atlaskit.caching.cache import Cache
from atlaskit.environment.render import View
from atlaskit.environment.tiles import Look
from atlaskit.errors import FrameError, InputError, VideoError
from atlaskit.video.opening import open_video
from atlaskit.video.playlist import Playlist
from atlaskit.video.readers import CORES, LETTERBOX, Pixels, open_files
from atlaskit.video.subtitles import Line, Subtitles
from atlaskit.video.video import Video

SIZE = (320, 180)


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three files of 3, 2 and 2 s that differ in container, codec, size and frame rate."""
    folder = tmp_path_factory.mktemp("clips")
    return [
        make_video(folder / "a clip.mp4", frames=75, gop=25),
        make_video(folder / "второй.webm", "libvpx", frames=60, fps=30, size=(240, 240)),
        make_video(folder / "c.ts", "mpeg4", frames=50, starts_at=200, size=(160, 90)),
    ]


def expected(time_s: float) -> int:
    """Return the index that the three clips, one after the other, show at a second."""
    for length_s, fps in ((3, 25), (2, 30), (2, 25)):
        if time_s < length_s:
            return int(time_s * fps + 1e-6)
        time_s -= length_s
    raise AssertionError(time_s)


@pytest.mark.long
def test_files_of_different_formats_form_one_video(clips: list[Path]) -> None:
    video = open_video(clips)
    assert video.duration_s == pytest.approx(7.0, abs=1e-3)
    assert (video.size, video.fps) == ((320, 240), 30)
    rng = random.Random(0)
    times = [0.0, 2.99, 3.0, 4.99, 5.0, 6.99, *(rng.uniform(0, 6.99) for _ in range(30))]
    for (part, _), frame, time_s in zip(map(video.locate, times), video.try_frames(times), times, strict=True):
        assert not isinstance(frame, FrameError) and frame.shape == (240, 320, 3)
        assert frame_number(without_letterbox(frame, part, video)) == expected(time_s), time_s


def without_letterbox(frame: Pixels, part: Video, video: Video) -> Pixels:
    """Return the part's frame without the grey beside it; check that it is grey."""
    scale = min(video.size[0] / part.size[0], video.size[1] / part.size[1])
    width, height = round(part.size[0] * scale), round(part.size[1] * scale)
    left, top = (video.size[0] - width) // 2, (video.size[1] - height) // 2
    border = np.delete(frame, slice(left, left + width), 1) if left else np.delete(frame, slice(top, top + height), 0)
    assert (border == LETTERBOX).all(), "the border is grey, since black marks dead cells"
    return frame[top : top + height, left : left + width]


def test_opening_writes_nothing_and_opens_repeated_files_once(clips: list[Path]) -> None:
    before = sorted(clips[0].parent.iterdir())
    video = open_video([*clips, clips[0]] * 300)
    assert isinstance(video, Playlist) and len({id(part) for part in video.parts}) == 3
    assert video.duration_s == pytest.approx(3000, abs=1)
    assert sorted(clips[0].parent.iterdir()) == before and video.frames_decoded == 0
    assert frame_number(without_letterbox(video.frames([2991.0])[0], video.locate(2991.0)[0], video)) == 25


def test_few_files_of_a_long_playlist_stay_open(
    tmp_path: Path, clips: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_files, "MOST_OPEN", 2)
    copies = [tmp_path / f"{number}.mp4" for number in range(6)]
    for copy in copies:
        copy.write_bytes(clips[0].read_bytes())
    videos = [open_video(copy) for copy in copies]
    assert sum(video._reader._source.is_open for video in videos) == 2  # type: ignore[attr-defined]
    times = [0.5 + 3 * part + second for part in range(6) for second in (0, 1)]
    assert [frame_number(frame) for frame in open_video(videos).frames(times)] == [12, 37] * 6
    assert sum(video._reader._source.is_open for video in videos) <= 2 + CORES  # type: ignore[attr-defined]


def test_clips_share_cached_frames_in_every_playlist(tmp_path: Path, clips: list[Path]) -> None:
    a, c = open_video(clips[0]), open_video(make_video(tmp_path / "other.mp4", frames=75, fps=25, bf="0"))
    cache = Cache(tmp_path / "cache")
    ak.view(open_video([a, c]), k=6, cell=64, cache=cache).jpeg()
    decoded = a.frames_decoded + c.frames_decoded
    swapped = ak.view(open_video([c, a]), k=6, cell=64, cache=cache)
    alone = View(a, ak.view(a, k=6).grid, Look(64), cache=cache)
    assert len(swapped.jpeg()) > 1000
    assert a.frames_decoded + c.frames_decoded == decoded, "both show the same frames of the same clips"
    assert alone.jpeg() != swapped.jpeg()


def test_the_fingerprint_depends_on_the_parts_and_their_order(clips: list[Path]) -> None:
    a, b, c = map(open_video, clips)
    assert open_video([a, b]).fingerprint == open_video(clips[:2]).fingerprint
    assert len({open_video(parts).fingerprint for parts in ([a, b], [b, a], [a, b, c], [a], [a, a])}) == 5


def test_subtitles_of_parts_are_shifted_and_merged(tmp_path: Path, clips: list[Path]) -> None:
    srt = tmp_path / "lines.srt"
    srt.write_text("1\n00:00:00,500 --> 00:00:01,000\nHello\n\n2\n00:00:01,500 --> 00:00:09,000\nThere\n")
    video = open_video(clips, subtitles=[srt, None, srt])
    texts = [(round(line.start_s, 2), round(line.end_s, 2), line.text) for line in video.subtitles.lines]
    assert texts == [(0.5, 1.0, "Hello"), (1.5, 3.0, "There"), (5.5, 6.0, "Hello"), (6.5, 7.0, "There")]
    opened = open_video([open_video(clips[0], srt), clips[1]])
    assert [line.text for line in opened.subtitles.between(1.6, 4.0)] == ["There"]
    whole = open_video(clips, subtitles=Subtitles((Line(4.0, 6.0, "over both"),)))
    assert [line.text for line in whole.subtitles.between(5.5, 5.6)] == ["over both"]


@pytest.mark.parametrize(
    ("sources", "subtitles", "error", "sentence"),
    [
        ([], None, InputError, "at least one video"),
        (["a clip.mp4"], ["x.srt", "y.srt"], InputError, "as many subtitle files"),
        (["a clip.mp4", "nowhere.mp4"], None, VideoError, "There is no file"),
    ],
)
def test_wrong_sources_raise_one_sentence(
    clips: list[Path], sources: list[str], subtitles: list[str] | None, error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        open_video([clips[0].parent / name for name in sources], subtitles)


def test_subtitles_are_refused_for_an_open_video(clips: list[Path]) -> None:
    with pytest.raises(InputError, match="is open already"):
        open_video([open_video(clips[0])], ["x.srt"])
    with pytest.raises(InputError, match="One video file takes one"):
        open_video(clips[0], ["x.srt"])


class ConstantVideo(Video):
    """A video whose pixels all have one value."""

    def __init__(self, number: int, duration_s: float) -> None:
        self.name = self.fingerprint = f"constant {number}"
        self.duration_s, self.fps, self.size, self.number = duration_s, 25.0, (4, 4), number
        self.subtitles = Subtitles()

    def try_frames(self, times_s: object, size: object = None) -> list[Pixels | FrameError]:
        for time_s in times_s:  # type: ignore[attr-defined]
            self.check_time(time_s)
        return [np.full((4, 4, 3), self.number, np.uint8) for _ in times_s]  # type: ignore[attr-defined]


@given(st.lists(st.fractions(min_value="1/100", max_value=1000), min_size=1, max_size=12), st.floats(0, 1))
def test_every_time_belongs_to_one_part(lengths: list[float], share: float) -> None:
    parts = [ConstantVideo(number, float(length)) for number, length in enumerate(lengths)]
    video = Playlist(parts)
    start_s = 0.0
    for part in parts:
        assert value_at(video, start_s) == part.number
        inside_s = start_s + part.duration_s * share
        if start_s + 1e-5 < inside_s < start_s + part.duration_s - 1e-5:
            assert value_at(video, inside_s) == part.number
        start_s += part.duration_s


def value_at(video: Video, time_s: float) -> int:
    return int(video.frames([time_s])[0, 0, 0, 0])
