"""Video files and playlists: opening them, what they return, fingerprints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.media import frame_number, make_video
from support.stand_ins import Flat

import atlaskit as ak
from atlaskit.caching.cache import Cache
from atlaskit.errors import FrameError, InputError, VideoError
from atlaskit.video.names import file_fingerprint
from atlaskit.video.opening import open_video
from atlaskit.video.playlist import Playlist
from atlaskit.video.readers import CORES, LETTERBOX, Pixels, pyav
from atlaskit.video.subtitles import Line, Subtitles


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_video(tmp_path_factory.mktemp("clip") / "v.mp4", frames=30)


@pytest.mark.parametrize(
    ("sentence", "fails"),
    [
        ("A frame must be 1 to", lambda opened: opened("v.mp4").frames([0.5], (10**6, 10**6))),
        ("A size is", lambda opened: opened("v.mp4").frames([0.5], (64,))),
        ("Times are numbers", lambda opened: opened("v.mp4").frames(["1:05"])),
        ("Times are numbers", lambda opened: opened("v.mp4").frames(0.5)),
        (r"runs from 0 to 1\.200 s", lambda opened: opened("v.mp4").frames([1.2])),
        (r"runs from 0 to 1\.200 s", lambda opened: opened("v.mp4").frames([float("nan")])),
        ("Give a video file, a list", lambda opened: opened(None)),
        ("A video is a file, or a list", lambda opened: opened(b"v.mp4")),
        ("subtitles must be a file", lambda opened: opened("v.mp4", subtitles=5)),
        ("One video file takes one", lambda opened: opened("v.mp4", subtitles=["x.srt"])),
        ('reader must be "pyav" or "decord"', lambda opened: opened("v.mp4", reader="opencv")),
        ("at least one video", lambda opened: opened([])),
        ("as many subtitle files", lambda opened: opened(["v.mp4"], subtitles=["x.srt", "y.srt"])),
        ("is open already", lambda opened: opened(opened("v.mp4"), subtitles="x.srt")),
        ("is open already", lambda opened: opened([opened("v.mp4")], subtitles=["x.srt"])),
    ],
)
def test_a_wrong_argument_is_one_sentence(clip: Path, monkeypatch: Any, sentence: str, fails: Any) -> None:
    monkeypatch.chdir(clip.parent)
    with pytest.raises((InputError, VideoError), match=sentence):
        fails(open_video)


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three files of 3, 2 and 2 s that differ in container, codec, size and frame rate."""
    folder = tmp_path_factory.mktemp("clips")
    return [
        make_video(folder / "a clip.mp4", frames=75, gop=25),
        make_video(folder / "второй.webm", "libvpx", frames=60, fps=30, size=(240, 240)),
        make_video(folder / "c.ts", "mpeg4", frames=50, starts_at=200, size=(160, 90)),
    ]


def test_opening_writes_nothing_and_opens_repeated_files_once(clips: list[Path]) -> None:
    before = sorted(clips[0].parent.iterdir())
    video = open_video([*clips, clips[0]] * 300)
    assert isinstance(video, Playlist) and len({id(part) for part in video.parts}) == 3
    assert video.duration_s == pytest.approx(3000, abs=1)
    assert sorted(clips[0].parent.iterdir()) == before and video.frames_decoded == 0
    start_s = video.starts_s[-3]
    wide, narrow = video.frames([start_s - 2.0, start_s + 0.51])
    assert frame_number(wide[30:210]) == 25 and frame_number(narrow[:, 40:280]) == 15
    assert (wide[:30] == LETTERBOX).all() and (narrow[:, :40] == LETTERBOX).all(), "black would mark dead cells"


def test_few_files_of_a_long_playlist_stay_open(
    tmp_path: Path, clips: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pyav, "MOST_OPEN", 2)
    copies = [tmp_path / f"{number}.mp4" for number in range(6)]
    for copy in copies:
        copy.write_bytes(clips[0].read_bytes())
    videos = [open_video(copy) for copy in copies]
    assert sum(video._reader._source.is_open for video in videos) == 2  # type: ignore[attr-defined]
    times = [0.5 + 3 * part + second for part in range(6) for second in (0, 1)]
    assert [frame_number(frame) for frame in open_video(videos).frames(times)] == [12, 37] * 6
    assert sum(video._reader._source.is_open for video in videos) <= 2 + CORES  # type: ignore[attr-defined]


def test_clips_share_cached_frames_in_every_playlist(tmp_path: Path, cache: Cache, clips: list[Path]) -> None:
    a, b = open_video(clips[0]), open_video(make_video(tmp_path / "other.mp4", frames=75, bf="0"))
    how = {"k": 6, "cell": 64, "sampling": "midpoint", "cache": cache}
    ak.view(open_video([a, b]), **how).jpeg()
    decoded = a.frames_decoded + b.frames_decoded
    assert len(ak.view(open_video([b, a]), **how).jpeg()) > 1000
    assert a.frames_decoded + b.frames_decoded == decoded, "both show the same frames of the same clips"


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


class Numbered(Flat):
    """A video whose pixels all have one value."""

    def __init__(self, number: int, duration_s: float) -> None:
        super().__init__((4, 4))
        self.duration_s, self.number = duration_s, number

    def try_frames(self, times_s: Sequence[float], size: object = None) -> list[Pixels | FrameError]:
        for time_s in times_s:
            self.check_time(time_s)
        return [np.full((4, 4, 3), self.number, np.uint8) for _ in times_s]


@settings(max_examples=40)
@given(st.lists(st.fractions(min_value="1/100", max_value=1000), min_size=1, max_size=12), st.floats(0, 1))
def test_every_time_belongs_to_one_part(lengths: list[float], share: float) -> None:
    parts = [Numbered(number, float(length)) for number, length in enumerate(lengths)]
    video = Playlist(parts)
    start_s = 0.0
    for part in parts:
        inside_s = start_s + part.duration_s * share
        is_inside = start_s + 1e-5 < inside_s < start_s + part.duration_s - 1e-5
        for time_s in [start_s, *[inside_s] * is_inside]:
            assert (video.frames([time_s]) == part.number).all()
        start_s += part.duration_s


def test_equal_files_have_equal_fingerprints_of_which_a_bounded_part_is_read(tmp_path: Path, clip: Path) -> None:
    copy = tmp_path / "elsewhere.mp4"
    copy.write_bytes(clip.read_bytes())
    assert open_video(copy).fingerprint == open_video(clip).fingerprint
    assert open_video(make_video(tmp_path / "c.mp4", frames=31)).fingerprint != open_video(clip).fingerprint
    with (tmp_path / "large").open("wb") as file:
        file.truncate(50 << 30)  # a sparse file of 50 GB, which would take minutes to read
    assert len(file_fingerprint(tmp_path / "large")) == 64
