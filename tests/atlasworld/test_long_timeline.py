"""Long worlds and questions: clips and exact times, one true answer at any duration."""

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.asking import ask

import atlasworld as aw
from atlaskit.caching.cache import Cache
from atlaskit.environment.grid import sub_second_depth
from atlaskit.environment.question import Question
from atlaskit.errors import InputError
from atlaskit.video.video import Video
from atlasworld import Oracle, World
from atlasworld.long_timeline import BANK_CLIPS, OWN_CAST, OWN_CLIPS, LongTimeline, write_long_timeline
from atlasworld.questions import CATEGORIES
from atlasworld.timeline import Script, WorldEvent

HOUR = 3600
TINY: dict[str, Any] = {"size": (128, 72), "fps": 12}

timelines = st.builds(
    write_long_timeline,
    st.integers(-(2**40), 2**40),
    st.floats(9600, 36000),
    st.sampled_from([10, 17, 24, 60, 150, 300]),
    fps=st.sampled_from([12, 7, 25, 30]),
    size=st.just((640, 360)),
)


def long(seed: int, duration_s: float = 10 * HOUR, directory: Path = Path("unused"), **options: Any) -> World:
    return aw.world(seed, duration_s, directory=directory, **{**TINY, "questions": 40, **options})


@pytest.mark.long
@settings(max_examples=12)
@given(timelines)
def test_the_script_is_that_of_the_clips_one_after_another(timeline: LongTimeline) -> None:
    script, fps = timeline.script, timeline.script.fps
    starts = list(accumulate((timeline.clips[index].frame_count for index in timeline.order), initial=0))
    assert script.frame_count == starts[-1]
    for kind in ("scenes", "events", "lines"):
        joined = iter(getattr(script, kind))
        for start, index in zip(starts, timeline.order, strict=False):
            for part in getattr(timeline.clips[index], kind):
                moved = next(joined)
                for moved_s, time_s in ((moved.start_s, part.start_s), (moved.end_s, part.end_s)):
                    assert moved_s == (start + round(time_s * fps)) / fps
                if isinstance(part, WorldEvent):
                    assert (moved.name, moved.caption, moved.motion) == (part.name, part.caption, part.motion)
        assert next(joined, None) is None
    assert Script.from_json(script.to_json()) == script  # which checks the rules of a script


@settings(max_examples=30)
@given(timelines)
def test_own_clips_play_once_in_order_and_apart_and_bank_clips_equally_often(timeline: LongTimeline) -> None:
    own = [position for position, index in enumerate(timeline.order) if index < OWN_CLIPS]
    assert [timeline.order[position] for position in own] == list(range(OWN_CLIPS))
    assert all(b - a > 1 for a, b in pairwise(own))
    counts = [timeline.order.count(OWN_CLIPS + index) for index in range(BANK_CLIPS)]
    assert min(counts) >= 1 and max(counts) - min(counts) <= 1


def test_every_question_has_one_answer_in_the_whole_script() -> None:
    worlds = [long(seed, duration_s) for seed in range(4) for duration_s in (1350, 10 * HOUR)]
    for world in (*worlds, *(aw.world(seed, 600, questions=40, directory="unused") for seed in range(6))):
        assert {question.category for question in world.questions} == set(CATEGORIES)
        assert len({question.text for question in world.questions}) == len(world.questions) == 40
        assert any(question.misleading_subtitle for question in world.questions)
        for question in world.questions:
            targets = world.targets(question)
            check_truth(world.script, question, targets)
            assert world not in worlds or all((event.colour, event.shape) in OWN_CAST.objects for event in targets)


def test_questions_without_choices_have_their_answer_in_the_whole_script() -> None:
    kinds = Counter()
    for seed in range(6):
        world = aw.world(seed, HOUR, questions=18, categories=("OPEN", "TALLY", "SUM"), directory="unused")
        for question in world.questions:
            check_truth(world.script, question, world.targets(question))
            kinds[question.kind] += 1
    assert min(kinds[kind] for kind in ("open", "count", "summary")) > 10
    with pytest.raises(InputError, match="categories"):
        aw.world(1, 60, categories=("WHY",), directory="unused")


def check_truth(script: Script, question: Question, targets: list[WorldEvent]) -> None:
    """Check that whatever a question names is unique in the script and that its answer is true."""
    appearances = Counter(event.name for event in script.events)
    answer = question.choices[question.answer] if question.choices else ""  # type: ignore[index]
    first = targets[0]
    match question.category:
        case "S2O" | "S2A":
            (scene,) = (s for s in script.scenes if f"the {s.place} scene at {s.light}" in question.text)
            inside = [event for event in script.events if event.scene == scene.index]
            if question.category == "S2O":
                names = {event.name for event in inside}
                assert [choice for choice in question.choices if choice.split(" ", 1)[1] in names] == [answer]
            else:
                assert [event.colour for event in inside if f"the {event.shape} " in question.text] == [answer]
                lies = [line for line in script.lines if line.event == first.id and line.misleading]
                assert bool(lies) == question.misleading_subtitle
                assert all(any(f"{each} {first.shape}" in line.text for each in question.choices) for line in lies)
        case "OCR":
            assert f"the {first.name} is" in question.text and appearances[first.name] == 1
            assert [event for event in script.events if event.caption == answer] == [first]
        case "O3O":
            event, anchor = targets
            step = 1 if "right after" in question.text else -1
            assert appearances[anchor.name] == 1 and question.text.endswith(f"the {anchor.name}?")
            assert script.events[script.events.index(anchor) + step] == event and answer.endswith(event.name)
        case "SSS":
            assert all(appearances[event.name] == 1 and event.name in question.text for event in targets)
            assert len(targets) == 4 and min(targets, key=lambda event: event.start_s) == first
            assert answer.endswith(first.name)
        case "COUNT":
            assert f" {first.name} appear" in question.text
            assert answer == str(appearances[first.name]) == str(len(targets))
        case "T2O":
            (line,) = (line for line in script.lines if f"“{line.text}”" in question.text)
            assert [e for e in script.events if e.start_s < line.end_s and line.start_s < e.end_s] == [first]
            assert line.event == first.id and answer.endswith(first.name)
            assert (first.name in line.text) != line.misleading == question.misleading_subtitle
        case "WHEN":
            assert appearances[first.name] == 1 and question.answer == (first.start_s, first.end_s)
        case "OPEN":
            assert question.answer in (first.colour, first.caption)
        case "TALLY":
            assert question.answer == len(targets) == appearances[first.name]
            assert {event.name for event in targets} == {first.name}
        case "SUM":
            assert [event for event in script.events if event.scene == first.scene] == targets
            assert all(event.name in str(question.answer) for event in targets)
            assert question.score(" ".join(event.name for event in targets)) > 0.6 > question.score("A cat.")


@pytest.mark.parametrize("clip_s", [60, 150])
def test_a_seed_gives_the_same_questions_at_any_duration(clip_s: int) -> None:
    def without_times(world: World) -> list[Question]:
        return [replace(q, positions_s=(), answer=None if q.kind == "when" else q.answer) for q in world.questions]

    for seed in range(4):
        worlds = [long(seed, duration_s, clip_s=clip_s) for duration_s in (8 * clip_s, 4000, 5 * HOUR, 10 * HOUR)]
        assert all(without_times(world) == without_times(worlds[0]) for world in worlds)
        assert all(world.clips == worlds[0].clips for world in worlds)
        assert len({world.script.duration_s for world in worlds}) == len(worlds)


def check_frames(world: World, video: Video, clips: list[Video]) -> None:
    """Compare frames at the borders and middles of events with the frames of the separate clips."""
    assert video.duration_s == world.script.duration_s and video.size == world.script.size
    fps, length = world.script.fps, world.clips[0].script.frame_count
    own = [event for event in world.script.events if (event.colour, event.shape) in OWN_CAST.objects]
    for event in (*own, *world.script.events[::97]):
        first, last = round(event.start_s * fps), round(event.end_s * fps)
        for index in (first - 1, first, (first + last) // 2, last - 1, last):
            position, index_in_clip = divmod(index, length)
            expected = clips[world.order[position]].frames([index_in_clip / fps])
            assert np.array_equal(video.frames([index / fps]), expected)


@pytest.mark.long
def test_ten_hours_show_the_frames_of_the_clips(tmp_path: Path) -> None:
    drawn, encoded = long(3), long(3, clip_s=10, directory=tmp_path)
    check_frames(drawn, drawn.drawn, [clip.drawn() for clip in drawn.clips])
    check_frames(encoded, encoded.video, [clip.encoded() for clip in encoded.clips])


def test_two_worlds_share_the_files_of_the_bank(tmp_path: Path) -> None:
    one, two = (long(seed, 90, tmp_path, clip_s=10) for seed in (1, 2))
    assert one.video.duration_s == two.video.duration_s == 90
    written = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.mp4")}
    counts = Counter(path.relative_to(tmp_path).parts[0].split("-")[0] for path in written)
    assert counts == {"bank": BANK_CLIPS, "seed1": OWN_CLIPS, "seed2": OWN_CLIPS}
    assert long(2, 300, tmp_path, clip_s=10).video.duration_s == 300
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.mp4")} == written


def is_within_reach(event: WorldEvent, duration_s: float, k: int = 8) -> bool:
    """Return whether the midpoint of a cell of the finest grid lies in an event."""
    cell_s = Fraction(duration_s) / k ** (2 * sub_second_depth(duration_s, k) + 2)
    next_midpoint = (math.ceil(Fraction(event.start_s) / cell_s - Fraction(1, 2)) + Fraction(1, 2)) * cell_s
    return next_midpoint < Fraction(event.end_s)


@pytest.mark.long
@pytest.mark.parametrize("hours", [1, 10])
def test_a_perfect_oracle_answers_every_question_within_reach_of_the_finest_grid(hours: int, cache: Cache) -> None:
    out_of_reach = 0
    for seed in range(2):
        world = long(seed, hours * HOUR, questions=16)
        for question in world.questions:
            result = ask(world.drawn, question, vlm=Oracle(world), cache=cache, cell=64)
            if is_within_reach(world.targets(question)[0], world.script.duration_s):
                assert result.is_right, str(result)
            else:
                out_of_reach += 1
            for item in result.evidence:
                assert world.script.event_at(item.timestamp_s) in world.targets(question)
    # The finest cells span 0.88 s in one hour and 0.14 s in ten hours; events last at least 0.5 s.
    assert (out_of_reach > 0) == (hours == 1)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.floats(10, 1200))
def test_any_world_has_valid_questions(seed: int, duration_s: float) -> None:
    world = aw.world(seed, duration_s, questions=16, directory=Path("unused"))
    assert world.questions
    for question in world.questions:
        assert world.targets(question)
        assert question.kind == "when" or len(question.choices) >= 2
        assert question.is_right(question.answer)
        assert world.question(question.text) == question
