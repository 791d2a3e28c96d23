"""Frames of a script: where objects appear, and that any thread may request any frame."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from support.atlasworld import scripts, shows_object

from atlaskit.benchmarks.atlasworld.generator import write_script
from atlaskit.benchmarks.atlasworld.renderer import SceneRenderer
from atlaskit.benchmarks.atlasworld.timeline import LIGHTS, PLACES, Script


@settings(max_examples=25)
@given(scripts)
def test_objects_are_inside_the_frame_during_their_event(script: Script) -> None:
    renderer, (width, height) = SceneRenderer(script), script.size
    for event in script.events:
        first, last = round(event.start_s * script.fps), round(event.end_s * script.fps)
        for index in range(first, last):
            pose = renderer.pose(event, index)
            half = pose.diameter / 2
            assert min(pose.x + half, width) - max(pose.x - half, 0) >= 0.7 * pose.diameter
            top = 0.22 * height if event.caption_at == "top" else 0
            bottom = 0.78 * height if event.caption_at == "bottom" else height
            assert top <= pose.y - half and pose.y + half <= bottom
            assert pose.opacity >= 0.6 and 0.22 <= pose.diameter / height <= 0.45


def test_objects_are_drawn_on_the_frames_of_their_events_and_on_no_others() -> None:
    script = write_script(5, 90, size=(320, 180))
    renderer = SceneRenderer(script)
    empty = SceneRenderer(dataclasses.replace(script, events=(), lines=()))
    for index in range(0, script.frame_count, 3):
        event = script.event_at(index / script.fps)
        is_empty = renderer.frame(index).tobytes() == empty.frame(index).tobytes()
        assert is_empty == (event is None)
    for event in script.events:
        first, last = round(event.start_s * script.fps), round(event.end_s * script.fps)
        for index in {first, (first + last) // 2, last - 1}:
            assert renderer.frame(index).tobytes() != empty.frame(index).tobytes()
            opacity = renderer.pose(event, index).opacity
            assert shows_object(renderer.frame(index), script, event, index, 60 + 300 * (1 - opacity))
        for index in (first - 1, last):
            assert renderer.frame(index).tobytes() == empty.frame(index).tobytes()


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


def test_any_thread_may_request_any_frame() -> None:
    script = write_script(9, 60, size=(160, 90))
    shuffled = [index * 37 % script.frame_count for index in range(0, script.frame_count, 5)]
    renderer = SceneRenderer(script)
    with ThreadPoolExecutor(8) as pool:
        concurrent = list(pool.map(lambda index: renderer.frame(index).tobytes(), shuffled))
    assert concurrent == [SceneRenderer(script).frame(index).tobytes() for index in shuffled[:20]] + concurrent[20:]
    sequential = SceneRenderer(script)
    assert concurrent == [sequential.frame(index).tobytes() for index in shuffled]
