"""Scripts: what the generator guarantees, their JSON form, and which scripts are rejected."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from support.atlasworld import scripts

from atlaskit.benchmarks.atlasworld.generator import write_script
from atlaskit.benchmarks.atlasworld.timeline import COLOURS, SHAPES, Script
from atlaskit.errors import InputError

OBJECT_NAME = re.compile(rf"\b({'|'.join(COLOURS)}) ({'|'.join(SHAPES)})\b")
HINT = re.compile(rf"\b({'|'.join((*COLOURS, *SHAPES))})s?\b")
EPS = 1e-9


@settings(max_examples=30)
@given(scripts)
def test_scenes_tile_the_video(script: Script) -> None:
    scenes = script.scenes
    assert scenes[0].start_s == 0 and scenes[-1].end_s == script.duration_s
    assert all(a.end_s == b.start_s and a.place != b.place for a, b in pairwise(scenes))
    shortest = 12 if script.duration_s >= 24 else 0.4 * script.duration_s - 1 / script.fps
    assert all(shortest - EPS <= scene.end_s - scene.start_s <= 40 + EPS for scene in scenes)
    occurrences = Counter(scene.name for scene in scenes)
    once = sum(times == 1 for times in occurrences.values())
    assert once == len(scenes) or once >= 16


@settings(max_examples=30)
@given(scripts)
def test_events_keep_their_distance_to_each_other_and_to_cuts(script: Script) -> None:
    assert len(script.events) >= 2
    assert max(Counter(event.scene for event in script.events).values()) <= 3
    assert all(b.start_s - a.end_s >= 0.7 - EPS for a, b in pairwise(script.events))
    for event in script.events:
        scene = script.scenes[event.scene]
        assert 0.5 - EPS <= event.end_s - event.start_s <= 30 + EPS
        assert event.start_s - scene.start_s >= 0.3 and scene.end_s - event.end_s >= 0.3


@settings(max_examples=30)
@given(scripts)
def test_few_objects_recur_and_no_caption_does(script: Script) -> None:
    recurring = [times for times in Counter(event.name for event in script.events).values() if times > 1]
    assert len(recurring) in ((1, 2) if script.duration_s >= 120 else (0,))
    assert all(times <= 6 for times in recurring)
    assert len({event.name for event in script.events}) <= len(COLOURS) * len(SHAPES) - 5
    captions = [event.caption for event in script.events if event.caption]
    assert len(captions) == (len(script.events) + 1) // 2
    assert len({caption.split()[0] for caption in captions}) == len(captions)


@settings(max_examples=30)
@given(scripts)
def test_all_times_are_frame_times(script: Script) -> None:
    for span in (*script.scenes, *script.events, *script.lines):
        for t in (span.start_s, span.end_s):
            assert t == round(t * script.fps) / script.fps
    for index in {0, script.frame_count // 2, script.frame_count - 1}:
        assert script.frame_at(index / script.fps) == index
        assert script.frame_at((index + 0.999) / script.fps) == index


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
def test_a_script_round_trips_through_json(script: Script) -> None:
    row = json.loads(json.dumps(script.to_json()))
    assert row == script.to_json()
    assert Script.from_json(row) == script


def test_a_seed_gives_one_script() -> None:
    assert write_script(7, 300) == write_script(7, 300)
    assert write_script(7, 300) != write_script(8, 300)


def test_event_at_and_scene_at_use_half_open_intervals() -> None:
    script = write_script(1, 60)
    event = script.events[1]
    assert script.event_at(event.start_s) is event
    assert script.event_at(event.end_s - 1e-6) is event
    assert script.event_at(event.end_s) is None
    assert script.scene_at(script.scenes[1].start_s) is script.scenes[1]
    with pytest.raises(InputError, match="must lie in .0, 60"):
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
def test_invalid_durations_rates_and_sizes_are_rejected(duration_s: float, options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        write_script(0, duration_s, **options)


CORRUPTIONS: dict[str, Any] = {
    "an unknown version": lambda row: row.update(atlasworld=99),
    "a missing field": lambda row: row.pop("events"),
    "an extra field": lambda row: row.update(extra=1),
    "text for a number": lambda row: row.update(duration_s="60"),
    "a number for a scene": lambda row: row["scenes"].append(3),
    "no scenes": lambda row: row.update(scenes=[], events=[], lines=[]),
    "a gap between scenes": lambda row: row["scenes"][1].update(start_s=59.0),
    "an unknown place": lambda row: row["scenes"][0].update(place="moon"),
    "an unknown colour": lambda row: row["events"][0].update(colour="black"),
    "a time that is not finite": lambda row: row["events"][0].update(start_s=float("nan")),
    "an infinite end of a line": lambda row: row["lines"][0].update(end_s=float("inf")),
    "a time between frames": lambda row: row["events"][0].update(end_s=row["events"][0]["end_s"] + 0.01),
    "an event outside its scene": lambda row: row["events"][0].update(scene=1),
    "an event in no scene": lambda row: row["events"][0].update(scene=-1),
    "events out of order": lambda row: row["events"].reverse(),
    "a motion outside the frame": lambda row: row["events"][0]["motion"].update(x0=3.0),
    "an object larger than the frame": lambda row: row["events"][0]["motion"].update(size=1e9),
    "a missing motion": lambda row: row["events"][0].pop("motion"),
    "a line about an unknown event": lambda row: row["lines"][0].update(event="e999"),
    "a size of three numbers": lambda row: row.update(size=[640, 360, 3]),
    "a number for a size": lambda row: row.update(size=640),
}


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_a_corrupt_manifest_is_rejected(name: str) -> None:
    row = json.loads(json.dumps(write_script(3, 60).to_json()))
    CORRUPTIONS[name](row)
    with pytest.raises(InputError):
        Script.from_json(row)


@pytest.mark.parametrize("row", [None, [], "text", {}, {"atlasworld": 1}])
def test_other_json_is_rejected_as_a_manifest(row: Any) -> None:
    with pytest.raises(InputError):
        Script.from_json(row)
