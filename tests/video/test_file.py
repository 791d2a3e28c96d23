"""Video files: opening them, and the frames they return."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.media import SIZE, make_sound_file, make_video, numbered_frame

from atlaskit.errors import InputError, VideoError
from atlaskit.video.file import VideoFile
from atlaskit.video.opening import open_video


@pytest.mark.parametrize(
    ("times", "size"),
    [
        ([0.5], (0, 0)),
        ([0.5], (64,)),
        ([0.5], (-1, 5)),
        ([0.5], (10**6, 10**6)),
        (["a"], None),
        (0.5, None),
        (None, None),
    ],
)
def test_an_invalid_request_raises_one_sentence(tmp_path: Path, times: object, size: object) -> None:
    video = open_video(make_video(tmp_path / "v.mp4", frames=30))
    with pytest.raises(InputError, match="times_s must be|A frame must be 1 to"):
        video.frames(times, size)  # type: ignore[arg-type]
    assert video.frames(index / 25 for index in range(3)).shape[0] == 3  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "options", "sentence"),
    [
        (None, {}, "Give a video file, a list"),
        ([3], {}, "A video is a file, or a list"),
        ("v.mp4", {"subtitles": 5}, "subtitles must be a file"),
        ("v.mp4", {"reader": "opencv"}, 'reader must be "pyav" or "decord"'),
    ],
)
def test_invalid_arguments_raise_one_sentence(
    tmp_path: Path, source: object, options: dict[str, object], sentence: str
) -> None:
    path = make_video(tmp_path / "v.mp4", frames=30)
    with pytest.raises(InputError, match=sentence):
        open_video(path if source == "v.mp4" else source, **options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="is open already"):
        open_video(open_video(path), subtitles="x.srt")


def test_shapes_and_types_of_frames(tmp_path: Path) -> None:
    video = open_video(make_video(tmp_path / "v.mp4", frames=30))
    frames = video.frames([0.5, 0.1], size=(64, 48))
    assert (frames.shape, frames.dtype) == ((2, 48, 64, 3), np.uint8)
    assert video.frame(0.5).size == SIZE
    assert video.frames([]).shape == (0, 180, 320, 3)


@pytest.mark.parametrize("time_s", [-0.1, 10.0, 1e9, float("nan")])
def test_a_time_outside_the_video_raises_one_sentence(tmp_path: Path, time_s: float) -> None:
    video = open_video(make_video(tmp_path / "v.mp4", frames=30))
    with pytest.raises(InputError, match="runs from 0 to 1.200 s"):
        video.frame(time_s)


def test_opening_decodes_nothing(tmp_path: Path) -> None:
    assert open_video(make_video(tmp_path / "v.mp4", frames=60)).frames_decoded == 0


def bad_files(folder: Path) -> dict[str, tuple[Path, str]]:
    whole = make_video(folder / "whole.mp4")
    (folder / "empty.mp4").write_bytes(b"")
    (folder / "text.mp4").write_text("this is a letter, not a video\n" * 50)
    (folder / "text.txt").write_text("this is a letter, not a video\n" * 50)
    (folder / "head.mp4").write_bytes(whole.read_bytes()[:500])
    make_sound_file(folder / "sound.m4a")
    numbered_frame(1).to_image().save(folder / "still.png")
    return {
        "missing": (folder / "missing.mp4", "There is no file"),
        "directory": (folder, "is a directory"),
        "empty": (folder / "empty.mp4", "is empty"),
        "text": (folder / "text.mp4", "not a video"),
        "text file": (folder / "text.txt", "not a video"),
        "still": (folder / "still.png", "is a PNG picture"),
        "sound": (folder / "sound.m4a", "only sound"),
        "truncated header": (folder / "head.mp4", "truncated"),
    }


@pytest.mark.parametrize(
    "kind",
    [
        "missing",
        "directory",
        "empty",
        "text",
        "text file",
        "still",
        "sound",
        "truncated header",
    ],
)
def test_a_bad_file_raises_one_sentence(tmp_path: Path, kind: str) -> None:
    path, sentence = bad_files(tmp_path)[kind]
    with pytest.raises(VideoError, match=sentence) as caught:
        open_video(path)
    assert "\n" not in str(caught.value) and str(path) in str(caught.value)


def test_repr_of_a_video_file(tmp_path: Path) -> None:
    video = open_video(make_video(tmp_path / "v.mp4", frames=30))
    assert isinstance(video, VideoFile)
    assert repr(video) == "<v.mp4: 1.2 s, 320×180, 25 fps, 0 lines>"
