"""The laws of AtlasWorld: its timelines, its pictures, and the films made of them."""

from __future__ import annotations

import dataclasses
import json
import re
import statistics
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import av
import numpy as np
import pysubs2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from atlaskit.benchmarks.atlasworld import timeline as world
from atlaskit.benchmarks.atlasworld.encoder import FilmPaths, film
from atlaskit.benchmarks.atlasworld.generator import write_script
from atlaskit.benchmarks.atlasworld.renderer import SceneRenderer
from atlaskit.benchmarks.atlasworld.timeline import Script, WorldEvent
from atlaskit.errors import InputError

NAMES = re.compile(rf"\b({'|'.join(world.COLOURS)}) ({'|'.join(world.SHAPES)})\b")
HINTS = re.compile(rf"\b({'|'.join((*world.COLOURS, *world.SHAPES))})s?\b")
EPS = 1e-9

scripts = st.builds(
    write_script,
    st.integers(-(2**40), 2**40),
    st.one_of(st.floats(10, 130), st.floats(10, 1200), st.sampled_from([10, 11, 24, 40, 41, 120, 600, 1200])),
    fps=st.sampled_from([12, 12, 2, 5, 25, 30]),
    size=st.sampled_from([(640, 360), (320, 180), (480, 480), (1280, 544)]),
)


# --- the timeline -------------------------------------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(scripts)
def test_scenes_tile_the_video(script: Script) -> None:
    scenes = script.scenes
    assert scenes[0].start_s == 0 and scenes[-1].end_s == script.duration_s
    assert all(a.end_s == b.start_s and a.place != b.place for a, b in pairwise(scenes))
    shortest = 12 if script.duration_s >= 24 else 0.4 * script.duration_s - 1 / script.fps
    assert all(shortest - EPS <= scene.end_s - scene.start_s <= 40 + EPS for scene in scenes)
    settings_seen = Counter(scene.name for scene in scenes)
    once = sum(times == 1 for times in settings_seen.values())
    assert once == len(scenes) or once >= 16


@settings(max_examples=80, deadline=None)
@given(scripts)
def test_events_keep_apart_from_one_another_and_from_cuts(script: Script) -> None:
    assert len(script.events) >= 2
    assert max(Counter(event.scene for event in script.events).values()) <= 3
    assert all(b.start_s - a.end_s >= 0.7 - EPS for a, b in pairwise(script.events))
    for event in script.events:
        scene = script.scenes[event.scene]
        assert 0.5 - EPS <= event.end_s - event.start_s <= 30 + EPS
        assert event.start_s - scene.start_s >= 0.3 and scene.end_s - event.end_s >= 0.3


@settings(max_examples=80, deadline=None)
@given(scripts)
def test_few_objects_recur_and_captions_do_not(script: Script) -> None:
    again = [times for times in Counter(event.name for event in script.events).values() if times > 1]
    assert len(again) in ((1, 2) if script.duration_s >= 120 else (0,))
    assert all(times <= 6 for times in again)
    assert len({event.name for event in script.events}) <= len(world.COLOURS) * len(world.SHAPES) - 5
    captions = [event.caption for event in script.events if event.caption]
    assert len(captions) == (len(script.events) + 1) // 2
    assert len({caption.split()[0] for caption in captions}) == len(captions)


@settings(max_examples=80, deadline=None)
@given(scripts)
def test_all_times_are_frame_times(script: Script) -> None:
    for span in (*script.scenes, *script.events, *script.lines):
        for t in (span.start_s, span.end_s):
            assert t == round(t * script.fps) / script.fps
    for index in {0, script.frame_count // 2, script.frame_count - 1}:
        assert script.frame_at(index / script.fps) == index
        assert script.frame_at((index + 0.999) / script.fps) == index


@settings(max_examples=80, deadline=None)
@given(scripts)
def test_spoken_lines_are_true_or_known_to_mislead(script: Script) -> None:
    assert all(a.end_s <= b.start_s for a, b in pairwise(script.lines))
    events = {event.id: event for event in script.events}
    told = [line.text for line in script.lines if line.event]
    assert len(set(told)) == len(told) == max(1, round(0.4 * len(events)))
    for line in script.lines:
        if line.event is None:
            assert not line.misleading and not HINTS.search(line.text)
            continue
        event, named = events[line.event], NAMES.search(line.text)
        assert named and named[2] == event.shape
        assert (named[1] != event.colour) == line.misleading
        assert line.start_s < event.end_s and event.start_s < line.end_s
        others = [other for other in script.events if other is not event]
        assert all(line.end_s <= other.start_s or other.end_s <= line.start_s for other in others)


@settings(max_examples=25, deadline=None)
@given(scripts)
def test_objects_are_in_the_picture_on_every_frame_of_their_event(script: Script) -> None:
    painter, (width, height) = SceneRenderer(script), script.size
    for event in script.events:
        first, last = round(event.start_s * script.fps), round(event.end_s * script.fps)
        for index in range(first, last):
            pose = painter.pose(event, index)
            half = pose.diameter / 2
            assert min(pose.x + half, width) - max(pose.x - half, 0) >= 0.7 * pose.diameter
            top = 0.22 * height if event.caption_at == "top" else 0
            bottom = 0.78 * height if event.caption_at == "bottom" else height
            assert top <= pose.y - half and pose.y + half <= bottom
            assert pose.opacity >= 0.6 and 0.22 <= pose.diameter / height <= 0.45


@settings(max_examples=40, deadline=None)
@given(scripts)
def test_a_script_survives_json(script: Script) -> None:
    row = json.loads(json.dumps(script.to_json()))
    assert row == script.to_json()
    assert Script.from_json(row) == script


def test_a_seed_gives_one_script() -> None:
    assert write_script(7, 300) == write_script(7, 300)
    assert write_script(7, 300) != write_script(8, 300)


def test_many_events_are_short() -> None:
    spans = [event.end_s - event.start_s for seed in range(20) for event in write_script(seed, 600).events]
    assert 2 < statistics.median(spans) < 5
    assert min(spans) < 0.7 and max(spans) > 15


def test_what_is_on_at_a_time() -> None:
    script = write_script(1, 60)
    event = script.events[1]
    assert script.event_at(event.start_s) is event
    assert script.event_at(event.end_s - 1e-6) is event
    assert script.event_at(event.end_s) is None
    assert script.scene_at(script.scenes[1].start_s) is script.scenes[1]
    with pytest.raises(InputError, match="outside the video"):
        script.event_at(60.0)


@pytest.mark.parametrize(
    ("duration_s", "options"),
    [
        (9.9, {}),
        (1201, {}),
        (float("nan"), {}),
        (60, {"fps": 0}),
        (60, {"fps": 12.5}),
        (60, {"size": (641, 360)}),
        (60, {"size": (360, 640)}),
        (60, {"size": (0, 0)}),
    ],
)
def test_what_cannot_be_filmed_is_refused(duration_s: float, options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        write_script(0, duration_s, **options)


MANGLERS: dict[str, Any] = {
    "an unknown version": lambda row: row.update(atlasworld=99),
    "a missing field": lambda row: row.pop("events"),
    "an extra field": lambda row: row.update(extra=1),
    "text for a number": lambda row: row.update(duration_s="60"),
    "a scene that is no object": lambda row: row["scenes"].append(3),
    "no scenes": lambda row: row.update(scenes=[], events=[], lines=[]),
    "a gap between scenes": lambda row: row["scenes"][1].update(start_s=59.0),
    "an unknown place": lambda row: row["scenes"][0].update(place="moon"),
    "an unknown colour": lambda row: row["events"][0].update(colour="black"),
    "a time that is not finite": lambda row: row["events"][0].update(start_s=float("nan")),
    "an endless line": lambda row: row["lines"][0].update(end_s=float("inf")),
    "a time between frames": lambda row: row["events"][0].update(end_s=row["events"][0]["end_s"] + 0.01),
    "an event out of its scene": lambda row: row["events"][0].update(scene=1),
    "an event in no scene": lambda row: row["events"][0].update(scene=-1),
    "events out of order": lambda row: row["events"].reverse(),
    "a motion off the picture": lambda row: row["events"][0]["motion"].update(x0=3.0),
    "an object as large as a house": lambda row: row["events"][0]["motion"].update(size=1e9),
    "a motion that is missing": lambda row: row["events"][0].pop("motion"),
    "a line about nothing": lambda row: row["lines"][0].update(event="e999"),
    "a size of three": lambda row: row.update(size=[640, 360, 3]),
    "a size that is a number": lambda row: row.update(size=640),
}


@pytest.mark.parametrize("name", MANGLERS)
def test_a_malformed_manifest_is_refused(name: str) -> None:
    row = json.loads(json.dumps(write_script(3, 60).to_json()))
    MANGLERS[name](row)
    with pytest.raises(InputError):
        Script.from_json(row)


@pytest.mark.parametrize("row", [None, [], "text", {}, {"atlasworld": 1}])
def test_what_is_no_manifest_is_refused(row: Any) -> None:
    with pytest.raises(InputError):
        Script.from_json(row)


# --- the picture --------------------------------------------------------------------------------------


def shows(picture: Image.Image, script: Script, event: WorldEvent, index: int, tolerance: float = 60) -> bool:
    """Tell whether the middle of the event's object, where it should be, has the object's colour."""
    pose = SceneRenderer(script).pose(event, index)
    reach = pose.diameter / 12
    box = (pose.x - reach, pose.y - reach, pose.x + reach, pose.y + reach)
    patch = np.asarray(picture.crop(tuple(round(side) for side in box)), float)
    inside = patch[:, : max(1, round(min(patch.shape[1], script.size[0] - box[0])))]
    return bool(np.linalg.norm(np.median(inside, axis=(0, 1)) - world.COLOURS[event.colour]) < tolerance)


def test_objects_are_painted_on_the_frames_of_their_events_and_on_no_other() -> None:
    script = write_script(5, 90, size=(320, 180))
    painter = SceneRenderer(script)
    bare = SceneRenderer(dataclasses.replace(script, events=(), lines=()))
    for index in range(0, script.frame_count, 3):
        event = script.event_at(index / script.fps)
        same = painter.frame(index).tobytes() == bare.frame(index).tobytes()
        assert same == (event is None)
    for event in script.events:
        first, last = round(event.start_s * script.fps), round(event.end_s * script.fps)
        for index in {first, (first + last) // 2, last - 1}:
            assert painter.frame(index).tobytes() != bare.frame(index).tobytes()
            opacity = painter.pose(event, index).opacity
            assert shows(painter.frame(index), script, event, index, 60 + 300 * (1 - opacity))
        for index in (first - 1, last):
            assert painter.frame(index).tobytes() == bare.frame(index).tobytes()


@pytest.mark.parametrize("place", world.PLACES)
@pytest.mark.parametrize("light", world.LIGHTS)
def test_no_place_is_black_at_any_size(place: str, light: str) -> None:
    for size in ((64, 64), (160, 90), (640, 360)):
        script = write_script(2, 10, size=size)
        scenes = tuple(dataclasses.replace(scene, place=place, light=light) for scene in script.scenes)
        picture = SceneRenderer(dataclasses.replace(script, scenes=scenes)).at(0.0)
        assert picture.mode == "RGB" and picture.size == size
        assert np.asarray(picture).max(axis=-1).mean() > 30


def test_any_thread_may_ask_for_any_frame() -> None:
    script = write_script(9, 60, size=(160, 90))
    shuffled = [index * 37 % script.frame_count for index in range(0, script.frame_count, 5)]
    painter = SceneRenderer(script)
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda index: painter.frame(index).tobytes(), shuffled))
    assert together == [SceneRenderer(script).frame(index).tobytes() for index in shuffled[:20]] + together[20:]
    alone = SceneRenderer(script)
    assert together == [alone.frame(index).tobytes() for index in shuffled]


# --- the film -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def short() -> Script:
    return write_script(11, 16, size=(320, 180))


@pytest.fixture(scope="module")
def filmed(short: Script, tmp_path_factory: pytest.TempPathFactory) -> FilmPaths:
    return film(short, tmp_path_factory.mktemp("film"))


def test_the_film_shows_the_script(short: Script, filmed: FilmPaths) -> None:
    with av.open(str(filmed.video)) as container:
        frames = list(container.decode(video=0))
    assert len(frames) == short.frame_count
    assert [round(frame.time * short.fps) for frame in frames] == list(range(short.frame_count))
    keys = [index for index, frame in enumerate(frames) if frame.key_frame]
    assert all(b - a <= 4 * short.fps for a, b in pairwise([*keys, len(frames)]))
    for index, frame in enumerate(frames):
        picture = frame.to_image()
        assert picture.size == short.size
        event = short.event_at(index / short.fps)
        if event is not None and SceneRenderer(short).pose(event, index).opacity == 1:
            assert shows(picture, short, event, index, 75)


def test_the_subtitles_and_the_manifest_say_what_the_script_says(short: Script, filmed: FilmPaths) -> None:
    heard = [(line.start, line.end, line.plaintext) for line in pysubs2.load(str(filmed.subtitles))]
    said = [(round(line.start_s * 1000), round(line.end_s * 1000), line.text) for line in short.lines]
    assert heard == said
    assert Script.from_json(json.loads(filmed.manifest.read_text())) == short


def test_two_films_of_one_script_have_the_same_bytes(short: Script, filmed: FilmPaths, tmp_path: Path) -> None:
    again = film(short, tmp_path)
    for name in ("video", "subtitles", "manifest"):
        assert getattr(again, name).read_bytes() == getattr(filmed, name).read_bytes()
        assert getattr(again, name).name == getattr(filmed, name).name


def test_a_film_is_reused_until_its_manifest_differs(short: Script, filmed: FilmPaths) -> None:
    shot: list[int] = []
    assert film(short, filmed.video.parent, on_frame=shot.append) == filmed
    assert shot == []
    other = dataclasses.replace(short, lines=())
    assert film(other, filmed.video.parent, on_frame=shot.append) == filmed
    assert shot == list(range(short.frame_count))
    assert film(short, filmed.video.parent) == filmed


def test_a_run_that_dies_leaves_no_film(short: Script, tmp_path: Path) -> None:
    def stop(index: int) -> None:
        if index == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        film(short, tmp_path, on_frame=stop)
    assert list(tmp_path.iterdir()) == []
