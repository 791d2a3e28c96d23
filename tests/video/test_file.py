"""Video files and playlists: opening them, what they return, fingerprints."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.media import SIZE, frame_number, make_video

import atlaskit as ak
from atlaskit.caching.cache import Cache
from atlaskit.environment.render import View
from atlaskit.environment.tiles import Look
from atlaskit.errors import FrameError, InputError, VideoError
from atlaskit.video.names import file_fingerprint
from atlaskit.video.opening import open_video
from atlaskit.video.playlist import Playlist
from atlaskit.video.readers import CORES, LETTERBOX, Pixels, pyav
from atlaskit.video.readers.container import Distrust
from atlaskit.video.subtitles import Line, Subtitles
from atlaskit.video.video import Video


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_video(tmp_path_factory.mktemp("clip") / "v.mp4", frames=30)


def refuse(*_: object) -> None:
    raise Distrust("is not believed in this test")


@pytest.mark.parametrize("is_trusted", [True, False])
@pytest.mark.parametrize("suffix", ["mp4", "mov"])
def test_the_last_pictures_at_uneven_times_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, is_trusted: bool
) -> None:
    """FFmpeg declares the end by the times of decoding, before the last pictures are shown."""
    times = [*range(20), *(20 + 7 * step for step in range(24))]
    settings = {"bf": "2", "x264-params": "b-adapt=0"}
    path = make_video(tmp_path / f"v.{suffix}", frames=len(times), times=times, gop=250, **settings)  # type: ignore[arg-type]
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert stream.duration and stream.time_base and stream.duration * stream.time_base < times[-1] / 25
    if not is_trusted:
        monkeypatch.setattr(pyav, "check_account", refuse)
    video = open_video(path, cache=Cache(tmp_path / "cache"))
    assert video.duration_s == pytest.approx(times[-1] / 25 + 0.04, abs=0.001)
    assert [frame_number(frame) for frame in video.frames([at / 25 + 0.01 for at in times[-3:]])] == [41, 42, 43]


@pytest.mark.parametrize(
    ("times", "size"),
    [
        *(([0.5], (0, 0)), ([0.5], (64,)), ([0.5], (-1, 5)), ([0.5], (10**6, 10**6)), (["1:05"], None), (0.5, None)),
        *((None, None), ([-0.1], None), ([10.0], None), ([1e9], None), ([float("nan")], None)),
    ],
)
def test_an_invalid_request_raises_one_sentence(clip: Path, times: object, size: object) -> None:
    with pytest.raises(InputError, match=r"Times are numbers|A size is|A frame must be 1 to|runs from 0 to 1\.200 s"):
        open_video(clip).frames(times, size)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "options", "sentence"),
    [
        (None, {}, "Give a video file, a list"),
        ([3], {}, "A video is a file, or a list"),
        (b"v.mp4", {}, "A video is a file, or a list"),
        ("v.mp4", {"subtitles": 5}, "subtitles must be a file"),
        ("v.mp4", {"subtitles": ["x.srt"]}, "One video file takes one"),
        ("v.mp4", {"reader": "opencv"}, 'reader must be "pyav" or "decord"'),
        ("open", {"subtitles": "x.srt"}, "is open already"),
        (["open"], {"subtitles": ["x.srt"]}, "is open already"),
        ([], {}, "at least one video"),
        (["v.mp4"], {"subtitles": ["x.srt", "y.srt"]}, "as many subtitle files"),
        (["v.mp4", "nowhere.mp4"], {}, "There is no file"),
    ],
)
def test_invalid_arguments_raise_one_sentence(
    clip: Path, monkeypatch: pytest.MonkeyPatch, source: object, options: dict[str, object], sentence: str
) -> None:
    monkeypatch.chdir(clip.parent)
    source = open_video(clip) if source == "open" else [open_video(clip)] if source == ["open"] else source
    with pytest.raises((InputError, VideoError), match=sentence):
        open_video(source, **options)  # type: ignore[arg-type]


def test_shapes_and_types_of_frames(clip: Path) -> None:
    video = open_video(clip)
    frames = video.frames([0.5, 0.1], size=(64, 48))
    assert (frames.shape, frames.dtype) == ((2, 48, 64, 3), np.uint8)
    assert video.frame(0.5).size == SIZE
    assert video.frames([]).shape == (0, 180, 320, 3)
    assert video.frames(index / 25 for index in range(3)).shape[0] == 3  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three files of 3, 2 and 2 s that differ in container, codec, size and frame rate."""
    folder = tmp_path_factory.mktemp("clips")
    return [
        make_video(folder / "a clip.mp4", frames=75, gop=25),
        make_video(folder / "второй.webm", "libvpx", frames=60, fps=30, size=(240, 240)),
        make_video(folder / "c.ts", "mpeg4", frames=50, starts_at=200, size=(160, 90)),
    ]


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
    monkeypatch.setattr(pyav, "MOST_OPEN", 2)
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
    ak.view(open_video([a, c]), k=6, cell=64, sampling="midpoint", cache=cache).jpeg()
    decoded = a.frames_decoded + c.frames_decoded
    swapped = ak.view(open_video([c, a]), k=6, cell=64, sampling="midpoint", cache=cache)
    alone = View(a, ak.view(a, k=6).grid, Look(64), cache=cache)
    assert len(swapped.jpeg()) > 1000
    assert a.frames_decoded + c.frames_decoded == decoded, "both show the same frames of the same clips"
    assert alone.jpeg() != swapped.jpeg()


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


@settings(max_examples=40)
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


def test_equal_files_have_equal_fingerprints(tmp_path: Path) -> None:
    first = make_video(tmp_path / "a b ü.mp4", frames=30)
    copy = tmp_path / "elsewhere.mp4"
    copy.write_bytes(first.read_bytes())
    assert open_video(first).fingerprint == open_video(copy).fingerprint
    assert open_video(make_video(tmp_path / "c.mp4", frames=31)).fingerprint != open_video(first).fingerprint


def test_a_fingerprint_reads_a_bounded_part_of_the_file(tmp_path: Path) -> None:
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(50 << 30)  # a sparse file of 50 GB, which would take minutes to read
    assert len(file_fingerprint(large)) == 64
