"""The files of a script: video, subtitles and manifest, complete or not there at all."""

import dataclasses
import json
from itertools import pairwise
from pathlib import Path

import av
import pysubs2
import pytest
from support.worlds import shows_object

from atlasworld.encoder import EncodedFiles, encode_script
from atlasworld.generator import write_script
from atlasworld.renderer import SceneRenderer
from atlasworld.timeline import Script


@pytest.fixture(scope="module")
def short() -> Script:
    return write_script(11, 16, size=(320, 180))


@pytest.fixture(scope="module")
def encoded(short: Script, tmp_path_factory: pytest.TempPathFactory) -> EncodedFiles:
    return encode_script(short, tmp_path_factory.mktemp("encoded"))


def test_the_video_shows_the_script(short: Script, encoded: EncodedFiles) -> None:
    with av.open(str(encoded.video)) as container:
        frames = list(container.decode(video=0))
    assert len(frames) == short.frame_count
    assert [round(frame.time * short.fps) for frame in frames] == list(range(short.frame_count))
    keyframes = [index for index, frame in enumerate(frames) if frame.key_frame]
    assert all(b - a <= 4 * short.fps for a, b in pairwise([*keyframes, len(frames)]))
    for index, frame in enumerate(frames):
        image = frame.to_image()
        assert image.size == short.size
        event = short.event_at(index / short.fps)
        if event is not None and SceneRenderer(short).pose(event, index).opacity == 1:
            assert shows_object(image, short, event, index, 75)


def test_the_subtitles_and_the_manifest_match_the_script(short: Script, encoded: EncodedFiles) -> None:
    lines = [(line.start, line.end, line.plaintext) for line in pysubs2.load(str(encoded.subtitles))]
    expected = [(round(line.start_s * 1000), round(line.end_s * 1000), line.text) for line in short.lines]
    assert lines == expected
    assert Script.from_json(json.loads(encoded.manifest.read_text())) == short


def test_encoding_a_script_twice_gives_the_same_bytes(short: Script, encoded: EncodedFiles, tmp_path: Path) -> None:
    again = encode_script(short, tmp_path)
    for name in ("video", "subtitles", "manifest"):
        assert getattr(again, name).read_bytes() == getattr(encoded, name).read_bytes()
        assert getattr(again, name).name == getattr(encoded, name).name


def test_a_video_is_reused_until_its_manifest_differs(short: Script, encoded: EncodedFiles) -> None:
    frames: list[int] = []
    assert encode_script(short, encoded.video.parent, on_frame=frames.append) == encoded
    assert frames == []
    other = dataclasses.replace(short, lines=())
    assert encode_script(other, encoded.video.parent, on_frame=frames.append) == encoded
    assert frames == list(range(short.frame_count))
    assert encode_script(short, encoded.video.parent) == encoded


def test_an_interrupted_encoding_leaves_no_files(short: Script, tmp_path: Path) -> None:
    def stop(index: int) -> None:
        if index == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encode_script(short, tmp_path, on_frame=stop)
    assert list(tmp_path.iterdir()) == []
