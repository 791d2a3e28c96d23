"""Scripts, their frames and their files: what is guaranteed, and where objects appear."""

import dataclasses
import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import av
import numpy as np
import pysubs2
import pytest
from hypothesis import given, settings
from support.worlds import scripts, shows_object

from atlaskit.errors import InputError
from atlasworld.encoder import EncodedFiles, encode_script
from atlasworld.generator import write_script
from atlasworld.renderer import SceneRenderer
from atlasworld.timeline import COLOURS, LIGHTS, PLACES, SHAPES, Script

OBJECT_NAME = re.compile(rf"\b({'|'.join(COLOURS)}) ({'|'.join(SHAPES)})\b")
HINT = re.compile(rf"\b({'|'.join((*COLOURS, *SHAPES))})s?\b")
EPS = 1e-9


@settings(max_examples=30)
@given(scripts)
def test_scenes_tile_the_video_and_events_keep_their_distance(script: Script) -> None:
    scenes = script.scenes
    assert scenes[0].start_s == 0 and scenes[-1].end_s == script.duration_s
    assert all(a.end_s == b.start_s and a.place != b.place for a, b in pairwise(scenes))
    shortest = 12 if script.duration_s >= 24 else 0.4 * script.duration_s - 1 / script.fps
    assert all(shortest - EPS <= scene.end_s - scene.start_s <= 40 + EPS for scene in scenes)
    occurrences = Counter(scene.name for scene in scenes)
    once = sum(times == 1 for times in occurrences.values())
    assert once == len(scenes) or once >= 16
    assert len(script.events) >= 2
    assert max(Counter(event.scene for event in script.events).values()) <= 3
    assert all(b.start_s - a.end_s >= 0.7 - EPS for a, b in pairwise(script.events))
    for event in script.events:
        scene = script.scenes[event.scene]
        assert 0.5 - EPS <= event.end_s - event.start_s <= 30 + EPS
        assert event.start_s - scene.start_s >= 0.3 and scene.end_s - event.end_s >= 0.3


@settings(max_examples=30)
@given(scripts)
def test_spoken_lines_are_true_or_marked_as_misleading(script: Script) -> None:
    assert all(a.end_s <= b.start_s for a, b in pairwise(script.lines))
    events = {event.id: event for event in script.events}
    texts = [line.text for line in script.lines if line.event]
    assert len(set(texts)) == len(texts) == max(1, round(0.4 * len(events)))
    for line in script.lines:
        if line.event is None:
            assert not line.misleading and not HINT.search(line.text)
            continue
        event, named = events[line.event], OBJECT_NAME.search(line.text)
        assert named and named[2] == event.shape
        assert (named[1] != event.colour) == line.misleading
        assert line.start_s < event.end_s and event.start_s < line.end_s
        others = [other for other in script.events if other is not event]
        assert all(line.end_s <= other.start_s or other.end_s <= line.start_s for other in others)


@settings(max_examples=40)
@given(scripts)
def test_a_script_round_trips_through_json_and_counts_frames(script: Script) -> None:
    assert Script.from_json(json.loads(json.dumps(script.to_json()))) == script
    for index in {0, script.frame_count // 2, script.frame_count - 1}:
        assert script.frame_at(index / script.fps) == script.frame_at((index + 0.999) / script.fps) == index


def test_a_corrupt_manifest_is_rejected() -> None:
    """Of another version, with a colour, a time, a motion or an event that cannot be."""
    whole = json.dumps(write_script(3, 60).to_json())
    corruptions: list[Any] = [
        lambda row: row.update(atlasworld=99),
        lambda row: row["events"][0].update(colour="black"),
        lambda row: row["events"][0].update(start_s=float("nan")),
        lambda row: row["events"][0]["motion"].update(x0=3.0),
        lambda row: row["lines"][0].update(event="e999"),
    ]
    for corrupt in corruptions:
        row = json.loads(whole)
        corrupt(row)
        with pytest.raises(InputError):
            Script.from_json(row)


def test_objects_are_drawn_on_the_frames_of_their_events_and_on_no_others() -> None:
    script = write_script(5, 90, size=(320, 180))
    renderer = SceneRenderer(script)
    empty = SceneRenderer(dataclasses.replace(script, events=(), lines=()))

    def is_bare(index: int) -> bool:
        return renderer.frame(index).tobytes() == empty.frame(index).tobytes()

    for index in range(0, script.frame_count, 3):
        assert is_bare(index) == (script.event_at(index / script.fps) is None)
    for event in script.events:
        first, last = round(event.start_s * script.fps), round(event.end_s * script.fps)
        assert is_bare(first - 1) and is_bare(last)
        for index in {first, (first + last) // 2, last - 1}:
            opacity = renderer.pose(event, index).opacity
            assert not is_bare(index)
            assert shows_object(renderer.frame(index), script, event, index, 60 + 300 * (1 - opacity))


@pytest.mark.family
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("light", LIGHTS)
def test_no_scene_is_black_at_any_size(place: str, light: str) -> None:
    for size in ((64, 64), (160, 90), (640, 360)):
        script = write_script(2, 10, size=size)
        scenes = tuple(dataclasses.replace(scene, place=place, light=light) for scene in script.scenes)
        frame = SceneRenderer(dataclasses.replace(script, scenes=scenes)).at(0.0)
        assert frame.mode == "RGB" and frame.size == size
        assert np.asarray(frame).max(axis=-1).mean() > 30


@pytest.fixture(scope="module")
def short() -> Script:
    return write_script(11, 16, size=(320, 180))


@pytest.fixture(scope="module")
def encoded(short: Script, tmp_path_factory: pytest.TempPathFactory) -> EncodedFiles:
    return encode_script(short, tmp_path_factory.mktemp("encoded"))


def test_the_video_shows_the_script(short: Script, encoded: EncodedFiles) -> None:
    with av.open(str(encoded.video)) as container:
        frames = list(container.decode(video=0))
    assert [round(frame.time * short.fps) for frame in frames] == list(range(short.frame_count))
    keyframes = [index for index, frame in enumerate(frames) if frame.key_frame]
    assert all(b - a <= 4 * short.fps for a, b in pairwise([*keyframes, len(frames)]))
    for index, frame in enumerate(frames):
        image = frame.to_image()
        assert image.size == short.size
        event = short.event_at(index / short.fps)
        if event is not None and SceneRenderer(short).pose(event, index).opacity == 1:
            assert shows_object(image, short, event, index, 75)


def test_the_other_files_match_the_script_and_are_always_the_same(
    short: Script, encoded: EncodedFiles, tmp_path: Path
) -> None:
    lines = [(line.start, line.end, line.plaintext) for line in pysubs2.load(str(encoded.subtitles))]
    expected = [(round(line.start_s * 1000), round(line.end_s * 1000), line.text) for line in short.lines]
    assert lines == expected
    assert Script.from_json(json.loads(encoded.manifest.read_text())) == short

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
