"""Captions of single frames: paid once, whichever method and question look at a frame."""

from __future__ import annotations

from support.model_doubles import Counting, Flaky

import atlaskit as ak
from atlaskit.benchmarks.atlasworld import World
from atlaskit.caching.cache import Cache
from atlaskit.methods.records import Album
from atlaskit.methods.run import MethodRun

TIMES_S = (12.5, 3.5, 77.25, 3.5)


def album_of(world: World, model: object, cache: Cache, number: int = 0, **settings) -> Album:  # type: ignore[no-untyped-def]
    run = MethodRun(world.drawn, world.questions[number], vlm=model, cache=cache, size=32, **settings)  # type: ignore[arg-type]
    return Album(run)


def test_a_frame_is_described_once_for_all_questions(world: World, cache: Cache) -> None:
    model = Counting(ak.Oracle(world))
    first = album_of(world, model, cache)
    notes = first.describe(TIMES_S)
    assert [note.time_s for note in notes] == [3.5, 12.5, 77.25] and model.calls == ["frame"] * 3
    assert first.describe([12.5, 20.0])[0] is notes[1] and len(model.calls) == 4
    other = album_of(world, model, cache, number=1)
    assert other.describe(TIMES_S) == notes and len(model.calls) == 4, "another question pays nothing"


def test_a_note_has_what_is_said_at_that_moment_alone(world: World, cache: Cache) -> None:
    line = world.drawn.subtitles.lines[0]
    time_s = (line.start_s + line.end_s) / 2
    (note,) = album_of(world, ak.Oracle(world), cache).describe([time_s])
    assert line in note.said and line.text in note.row and all(one.start_s <= time_s < one.end_s for one in note.said)
    (silent,) = album_of(world, ak.Oracle(world), cache, subtitles=False).describe([time_s])
    assert silent.said == () and line.text not in silent.row


def test_a_failed_caption_is_left_out(world: World, cache: Cache) -> None:
    flaky = Flaky(ak.Oracle(world), rate=0.5, steps=("frame",))
    album = album_of(world, flaky, cache)
    notes = album.describe(number + 0.5 for number in range(24))
    assert 0 < flaky.failed < 24 and len(notes) == 24 - flaky.failed
    assert album.run.failure == "the network is down"


def test_the_moment_of_a_frame_lies_in_the_video(world: World, cache: Cache) -> None:
    end_s = world.drawn.duration_s
    first, last = album_of(world, ak.Oracle(world), cache).describe([1.0, end_s - 0.001])
    assert first.span == (1.0, 1.0 + 1 / world.drawn.fps) and last.span == (end_s - 0.001, end_s)
