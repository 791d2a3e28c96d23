"""AtlasWorlds of hours: own clips between those of a bank, one exact timeline, the same questions at any length."""

from __future__ import annotations

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

from atlaskit.agents.search import ask
from atlaskit.benchmarks.atlasworld import Oracle, World, atlasworld
from atlaskit.benchmarks.atlasworld.generator import EVERYTHING
from atlaskit.benchmarks.atlasworld.long_timeline import BANK, BANK_CAST, OWN, OWN_CAST, write_reel
from atlaskit.benchmarks.atlasworld.questions import CATEGORIES
from atlaskit.benchmarks.atlasworld.timeline import Script, WorldEvent
from atlaskit.caching.cache import Cache
from atlaskit.environment.grid import sub_second_depth
from atlaskit.environment.question import Question
from atlaskit.environment.render import view
from atlaskit.errors import InputError
from atlaskit.video.video import Video

HOUR = 3600
TINY: dict[str, Any] = {"size": (128, 72), "fps": 12}

reels = st.builds(
    write_reel,
    st.integers(-(2**40), 2**40),
    st.floats(9600, 36000),
    st.sampled_from([10, 17, 24, 60, 150, 300]),
    fps=st.sampled_from([12, 7, 25, 30]),
    size=st.just((640, 360)),
)


def long(seed: int, duration_s: float = 10 * HOUR, directory: Path = Path("unused"), **options: Any) -> World:
    return atlasworld(seed, duration_s, directory=directory, **{**TINY, "questions": 40, **options})


# --- the timeline -------------------------------------------------------------------------------------


def test_a_seed_gives_one_world() -> None:
    assert long(7).script == long(7).script and long(7).questions == long(7).questions
    assert long(7).order != long(8).order
    assert long(7).clips[:OWN] != long(8).clips[:OWN]
    assert long(7).clips[OWN:] == long(8).clips[OWN:]


@settings(max_examples=12)
@given(reels)
def test_the_timeline_is_that_of_the_clips_one_after_another(reel: Any) -> None:
    script, fps = reel.script, reel.script.fps
    starts = list(accumulate((reel.clips[index].frame_count for index in reel.order), initial=0))
    assert script.frame_count == starts[-1]
    for kind in ("scenes", "events", "lines"):
        here = iter(getattr(script, kind))
        for start, index in zip(starts, reel.order, strict=False):
            for part in getattr(reel.clips[index], kind):
                moved = next(here)
                for there, time_s in ((moved.start_s, part.start_s), (moved.end_s, part.end_s)):
                    assert there == (start + round(time_s * fps)) / fps
                if isinstance(part, WorldEvent):
                    assert (moved.name, moved.caption, moved.motion) == (part.name, part.caption, part.motion)
        assert next(here, None) is None
    assert Script.from_json(script.to_json()) == script  # which checks the laws


@settings(max_examples=30)
@given(reels)
def test_own_clips_come_once_in_order_and_apart_and_the_bank_all_the_time(reel: Any) -> None:
    own = [place for place, index in enumerate(reel.order) if index < OWN]
    assert [reel.order[place] for place in own] == list(range(OWN))
    assert all(b - a > 1 for a, b in pairwise(own))
    times = [reel.order.count(OWN + index) for index in range(BANK)]
    assert min(times) >= 1 and max(times) - min(times) <= 1


def test_bank_and_own_share_nothing_and_each_has_some_of_everything() -> None:
    for kind in ("objects", "settings", "words", "event_lines"):
        bank, own, whole = (set(getattr(cast, kind)) for cast in (BANK_CAST, OWN_CAST, EVERYTHING))
        assert not bank & own and bank | own == whole
        if kind in ("objects", "settings"):
            for side in (0, 1):
                assert {pair[side] for pair in bank} == {pair[side] for pair in own}


@settings(max_examples=20)
@given(reels)
def test_clips_keep_to_their_cast(reel: Any) -> None:
    for index, clip in enumerate(reel.clips):
        cast = OWN_CAST if index < OWN else BANK_CAST
        assert {(scene.place, scene.light) for scene in clip.scenes} <= set(cast.settings)
        assert {(event.colour, event.shape) for event in clip.events} <= set(cast.objects)
        assert {event.caption.split()[0] for event in clip.events if event.caption} <= set(cast.words)
        for line in clip.lines:
            said = {pair for pair in EVERYTHING.objects if " ".join(pair) in line.text}
            assert len(said) == (line.event is not None) and said <= set(cast.objects)


def test_some_objects_are_never_seen() -> None:
    for seed in range(20):
        assert len({event.name for event in long(seed).script.events}) <= len(EVERYTHING.objects) - 4


@pytest.mark.parametrize(
    ("duration_s", "clip_s", "sentence"),
    [
        (36001, None, "last 10 to 36000 s"),
        (float("nan"), 150, "last 10 to 36000 s"),
        (1190, 150, "at least 8 clips, 1200 s here"),
        (79, 10, "at least 8 clips"),
        (3600, 9, "a whole 10 to 300 s"),
        (3600, 301, "a whole 10 to 300 s"),
        (3600, 12.5, "a whole 10 to 300 s"),
    ],
)
def test_what_cannot_be_joined_is_refused(duration_s: float, clip_s: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        long(0, duration_s, clip_s=clip_s)


def test_a_duration_is_rounded_down_to_whole_clips() -> None:
    assert long(0, 1201).script.duration_s == 1200 and len(long(0, 1201).order) == 8
    assert long(0, 1234.5, clip_s=100).script.duration_s == 1200
    assert len(long(0, 1200).order) == 1


# --- the questions ------------------------------------------------------------------------------------


def test_every_question_has_one_answer_on_the_whole_timeline() -> None:
    for world in (long(seed, duration_s) for seed in range(6) for duration_s in (1350, HOUR, 10 * HOUR)):
        assert {question.category for question in world.questions} == set(CATEGORIES)
        for question in world.questions:
            check_truth(world.script, question, world.targets(question))


def test_what_has_no_choices_has_its_answer_on_the_whole_timeline() -> None:
    kinds = Counter()
    for seed in range(6):
        world = atlasworld(seed, HOUR, questions=18, categories=("OPEN", "TALLY", "SUM"), directory="unused")
        for question in world.questions:
            targets, script = world.targets(question), world.script
            kinds[question.kind] += 1
            match question.category:
                case "OPEN":
                    assert question.answer in (targets[0].colour, targets[0].caption)
                case "TALLY":
                    (name,) = {event.name for event in targets}
                    assert question.answer == len(targets) == [event.name for event in script.events].count(name)
                case "SUM":
                    assert [event for event in script.events if event.scene == targets[0].scene] == targets
                    assert all(event.name in str(question.answer) for event in targets)
                    assert question.score(" ".join(event.name for event in targets)) > 0.6 > question.score("A cat.")
    assert min(kinds[kind] for kind in ("open", "count", "summary")) > 10
    with pytest.raises(InputError, match="categories"):
        atlasworld(1, 60, categories=("WHY",), directory="unused")


def check_truth(script: Script, question: Question, targets: list[WorldEvent]) -> None:
    """Judge a question over all of a script: what it names as unique is there once, and the answer is true."""
    seen = Counter(event.name for event in script.events)
    assert all((event.colour, event.shape) in OWN_CAST.objects for event in targets)
    answer = question.choices[question.answer] if isinstance(question.answer, int) else ""
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
        case "OCR":
            assert f"the {first.name} is" in question.text and seen[first.name] == 1
            assert [event for event in script.events if event.caption == answer] == [first]
        case "O3O":
            event, anchor = targets
            step = 1 if "right after" in question.text else -1
            assert seen[anchor.name] == 1 and question.text.endswith(f"the {anchor.name}?")
            assert script.events[script.events.index(anchor) + step] == event and answer.endswith(event.name)
        case "SSS":
            assert all(seen[event.name] == 1 and event.name in question.text for event in targets)
            assert len(targets) == 4 and min(targets, key=lambda event: event.start_s) == first
            assert answer.endswith(first.name)
        case "COUNT":
            assert f" {first.name} appear" in question.text and answer == str(seen[first.name]) == str(len(targets))
        case "T2O":
            (line,) = (line for line in script.lines if f"“{line.text}”" in question.text)
            assert [e for e in script.events if e.start_s < line.end_s and line.start_s < e.end_s] == [first]
            assert line.event == first.id and answer.endswith(first.name)
        case "WHEN":
            assert seen[first.name] == 1 and question.answer == (first.start_s, first.end_s)


@pytest.mark.parametrize("clip_s", [60, 150])
def test_a_seed_asks_the_same_at_any_duration(clip_s: int) -> None:
    def asked(world: World) -> list[Question]:
        """The questions without their times."""
        return [replace(q, positions_s=(), answer=None if q.kind == "when" else q.answer) for q in world.questions]

    for seed in range(4):
        worlds = [long(seed, duration_s, clip_s=clip_s) for duration_s in (8 * clip_s, 4000, 5 * HOUR, 10 * HOUR)]
        assert all(asked(world) == asked(worlds[0]) for world in worlds)
        assert all(world.clips == worlds[0].clips for world in worlds)
        assert len({world.script.duration_s for world in worlds}) == len(worlds)


def test_what_comes_back_is_spread_over_the_hours() -> None:
    counted = [q for world in map(long, range(8)) for q in world.questions if q.category == "COUNT"]
    assert len({len(question.positions_s) for question in counted}) > 3
    assert sum(question.positions_s[-1][0] - question.positions_s[0][1] > HOUR for question in counted) > 8


# --- the pictures -------------------------------------------------------------------------------------


def check_frames(world: World, video: Video, alone: list[Video]) -> None:
    """Compare frames around the borders of events, and in their middles, with those of the clips by themselves."""
    assert video.duration_s == world.script.duration_s and video.size == world.script.size
    fps, length = world.script.fps, world.clips[0].script.frame_count
    own = [event for event in world.script.events if (event.colour, event.shape) in OWN_CAST.objects]
    for event in (*own, *world.script.events[::97]):
        first, last = round(event.start_s * fps), round(event.end_s * fps)
        for index in (first - 1, first, (first + last) // 2, last - 1, last):
            place, inside = divmod(index, length)
            shown = alone[world.order[place]].frames([inside / fps])
            assert np.array_equal(video.frames([index / fps]), shown)


def test_ten_hours_show_the_clips_own_frames(tmp_path: Path) -> None:
    drawn, filmed = long(3), long(3, clip_s=10, directory=tmp_path)
    check_frames(drawn, drawn.drawn, [clip.drawn() for clip in drawn.clips])
    check_frames(filmed, filmed.video, [clip.filmed() for clip in filmed.clips])


def test_a_time_finds_its_frame_though_it_was_rounded() -> None:
    script, fps = long(0).script, TINY["fps"]
    for index in (1, 12345, script.frame_count - 1):
        assert script.frame_at(math.nextafter(index / fps, 0)) == script.frame_at(index / fps) == index
    assert script.frame_at(math.nextafter(script.duration_s, 0)) == script.frame_count - 1


def test_the_drawn_lines_are_those_of_the_script() -> None:
    world = long(3)
    heard = world.drawn.subtitles.lines
    assert [line.text for line in heard] == [line.text for line in world.script.lines]
    for line, said in zip(heard, world.script.lines, strict=True):
        assert (line.start_s, line.end_s) == pytest.approx((said.start_s, said.end_s), abs=1e-6)


def test_two_worlds_share_their_films(tmp_path: Path) -> None:
    one, two = (long(seed, 90, tmp_path, clip_s=10) for seed in (1, 2))
    assert one.video.duration_s == two.video.duration_s == 90
    films = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.mp4"))
    assert Counter(film.parts[0].split("-")[0] for film in films) == {"bank": BANK, "seed1": OWN, "seed2": OWN}
    made = {film: (tmp_path / film).stat().st_mtime_ns for film in films}
    longer = long(2, 300, tmp_path, clip_s=10)
    assert longer.video.duration_s == 300
    assert {path.relative_to(tmp_path): path.stat().st_mtime_ns for path in tmp_path.rglob("*.mp4")} == made


def test_the_films_show_the_script(tmp_path: Path) -> None:
    world = long(4, 120, tmp_path, clip_s=10)
    middles = [(event.start_s + event.end_s) / 2 for event in world.script.events]
    filmed, drawn = (video.frames(middles).astype(int) for video in (world.video, world.drawn))
    for place, frame in enumerate(filmed):
        differences = np.abs(drawn - frame).mean(axis=(1, 2, 3))
        assert differences[place] == differences.min() < 10
    said = [(line.start_s, line.end_s, line.text) for line in world.script.lines]
    heard = [(line.start_s, line.end_s, line.text) for line in world.video.subtitles.lines]
    assert [text for *_, text in heard] == [text for *_, text in said]
    assert [time for line in heard for time in line[:2]] == pytest.approx([t for s in said for t in s[:2]], abs=1e-3)


def test_two_root_grids_of_ten_hours_share_their_frames(cache: Cache) -> None:
    one, two = long(1), long(2)
    first = view(one.drawn, cell=64, cache=cache).jpeg()
    assert view(two.drawn, cell=64, cache=cache).jpeg() != first
    assert two.drawn.frames_decoded < 16  # the grids meet the bank's clips at the same few moments


# --- the search ---------------------------------------------------------------------------------------


def is_within_reach(event: WorldEvent, duration_s: float, k: int = 8) -> bool:
    """Tell whether a cell of the finest grid that a search opens has its midpoint in an event."""
    cell_s = Fraction(duration_s) / k ** (2 * sub_second_depth(duration_s, k) + 2)
    next_midpoint = (math.ceil(Fraction(event.start_s) / cell_s - Fraction(1, 2)) + Fraction(1, 2)) * cell_s
    return next_midpoint < Fraction(event.end_s)


@pytest.mark.parametrize("hours", [1, 10])
def test_a_perfect_oracle_finds_what_lasts_as_long_as_the_finest_cell(hours: int, cache: Cache) -> None:
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
    # One hour is cut into cells of 0.88 s, which are not opened any more; ten hours into cells of 0.14 s.
    assert (out_of_reach > 0) == (hours == 1)
