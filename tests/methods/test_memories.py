"""`mapreduce` and `worldmm`: what they make once per video, and what a question takes from it."""

import math
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.model_doubles import Counting, Overruled
from support.searches import paid_steps, text_of

import atlasworld as aw
from atlaskit.caching.cache import Cache
from atlaskit.evaluation.baselines import mapreduce, mapreduce_clips, worldmm
from atlaskit.methods.controller import ControllerCall
from atlaskit.methods.mapreduce import PER_CHUNK, MapCall, SceneLookCall
from atlaskit.methods.records import Clip
from atlaskit.methods.run import EvidenceCall, MethodRun, TextCall
from atlaskit.methods.scenes import clips_as_scenes, with_names
from atlaskit.methods.worldmm import SummaryCall, as_parts, facts, summaries
from atlaskit.models.protocol import MOST_IMAGES, Request
from atlasworld import Oracle, World


@pytest.fixture(scope="module")
def short() -> World:
    """A world of twenty clips."""
    return aw.world(3, 200, questions=11, size=(160, 90))


def greedy(oracle: Oracle) -> Overruled:
    """Return a model that names and chooses as many scenes as a reply may hold, globally."""

    def all_of(request: Request, answer: dict[str, Any]) -> dict[str, Any]:
        (_, scenes), *_ = request.schema.values  # type: ignore[union-attr]
        return {**answer, "segments": list(scenes[:10])}

    return Overruled(oracle, map=all_of, reduce=lambda request, answer: {**all_of(request, answer), "scope": "global"})


def clip(index: int, *subjects: tuple[str, str], caption: str = "A place.") -> Clip:
    return Clip(index, index * 10.0, index * 10.0 + 10, caption, subjects, "", ())


def run_of(world: World, vlm: Any, threads: int = 4) -> MethodRun:
    run = MethodRun(world.drawn, "What?", vlm=vlm, threads=threads, cache=Cache(None))
    run.begin("a method", {})
    return run


def test_a_question_costs_its_chunks_and_fourteen_calls_at_most(short: World, cache: Cache) -> None:
    model, question = greedy(Oracle(short)), short.questions[0]
    first = mapreduce_clips(short.drawn, question, vlm=model, cache=cache, size=32, clip_s=5)
    assert {"clip", "characters"} <= paid_steps(first).keys()
    again = mapreduce_clips(short.drawn, short.questions[1], vlm=model, cache=cache, size=32, clip_s=5)
    chunks = math.ceil(40 / PER_CHUNK)
    assert paid_steps(again) == {"map": chunks, "reduce": 1, "goal": 1, "look": 10, "overview": 1, "decision": 1}
    assert again.spent.calls == chunks + 14


def test_scenes_end_where_the_scene_of_the_video_does(short: World, cache: Cache) -> None:
    oracle = Counting(Oracle(short))
    mapreduce(short.drawn, short.questions[0], vlm=oracle, cache=cache, size=32)
    (read,) = oracle.of(MapCall)
    spans = sorted((item.start_s, item.end_s) for sheet in read.sheets for item in sheet.scratchpad)
    assert spans[0][0] == 0 and spans[-1][1] == short.drawn.duration_s
    assert all(one[1] == other[0] for one, other in pairwise(spans))
    scene_at = short.script.scene_at  # beside a cut: the middles of cells of 2.5 s
    changes = {cut_s for cut_s in range(10, 200, 10) if scene_at(cut_s - 1.25) != scene_at(cut_s + 1.25)}
    assert 1 < len(changes) < 19 and changes == {end_s for _, end_s in spans[:-1]}


SUBJECTS = st.sampled_from([("circle", "red"), ("circle", "blue"), ("star", "red"), ("star", "blue")])


@given(st.lists(st.lists(SUBJECTS, max_size=3, unique=True), min_size=1, max_size=13))
def test_each_character_has_one_name_in_all_scenes(film: World, subjects: list[list[tuple[str, str]]]) -> None:
    scenes = clips_as_scenes([clip(index, *each) for index, each in enumerate(subjects)])
    run = run_of(film, Oracle(film))
    names = list[tuple[Any, str]]()
    for scene in with_names(run, scenes):
        names += zip(scene.characters, scene.names, strict=True)
    assert len(dict(names)) == len({name for _, name in names}) == len(set(names)), "one name each, and no other's"
    assert len(run.model.calls) <= max(0, len(scenes) - 1)


def test_what_is_seen_reaches_the_answer(short: World, cache: Cache) -> None:
    oracle = Counting(Oracle(short))
    told = Overruled(
        greedy(oracle),
        look=lambda request, answer: {"seen": f"A look at {request.facts.row.partition(' (')[0]}!"},  # type: ignore[attr-defined]
        overview=lambda request, answer: {"seen": "The view across."},
    )
    mapreduce_clips(short.drawn, short.questions[0], vlm=told, cache=cache, size=32)
    looks = sorted(oracle.of(SceneLookCall), key=lambda call: call.views[0].grid.start_s)  # threads race
    last = oracle.requests[-1]
    assert isinstance(last.facts, TextCall) and not last.images
    assert all(f"A look at Scene {number}!" in text_of(last) for number in range(10)) and len(looks) == 10
    assert "The view across." in text_of(last)
    shown = [view.grid for view in looks[0].views]
    assert sum(grid.size for grid in shown) == 32 and (shown[0].start_s, shown[1].end_s) == (0, 10)


def test_each_level_is_made_from_the_level_below(film: World) -> None:
    oracle = Counting(Oracle(film))
    clips = as_parts([clip(index, caption=f"Caption {index}.") for index in range(130)])
    levels = summaries(run_of(film, oracle), clips)
    assert [len(level) for level in levels] == [130, 44, 8, 3], "of 10 s, 30 s, 3 min and 10 min"
    for below, level in zip(levels, levels[1:], strict=False):
        for part in level:
            inside = [each for each in below if part.stretch.span[0] <= each.stretch.span[0] < part.stretch.span[1]]
            assert part.stretch.span == (inside[0].stretch.span[0], inside[-1].stretch.span[1])
        assert [part.stretch.span[1] for part in level[:-1]] == [part.stretch.span[0] for part in level[1:]]
    read = {call.rows for call in oracle.of(SummaryCall)}  # threads ask in any order
    # The first half minute, and the parts of 3 min that begin in the second ten minutes.
    assert {tuple(each.row for each in clips[:3]), tuple(part.row for part in levels[2][4:7])} <= read
    assert "clips 0–2, 0:00.0–0:30.0" in levels[1][0].row


def test_a_repeated_fact_is_dropped_and_the_newer_one_knows_its_clips(film: World) -> None:
    def replace_the_last(request: Request, answer: dict[str, Any]) -> dict[str, Any]:
        count = len(request.facts.earlier)  # type: ignore[attr-defined]
        return {"replaced": [{"earlier": count - 1, "by": count}]}

    clips = as_parts([clip(index, caption="A dog.") for index in range(30)])
    gathered = iter([["The dog is brown.", "Snow lies."], ["The dog is brown and old."], ["The dog is dead."]])
    model = Overruled(Oracle(film), facts=lambda *_: {"facts": next(gathered)}, consolidate=replace_the_last)
    found = facts(run_of(film, model, threads=1), clips)
    assert [fact.words for fact in found] == ["Snow lies.", "The dog is dead."]
    assert found[0].row == "Fact from clips 0–9, 0:00.0–1:40.0: Snow lies."
    assert [stretch.first for stretch in found[1].stretches] == [0, 10, 20]


def test_it_ends_after_five_rounds_with_all_that_was_found(short: World, cache: Cache) -> None:
    oracle, places = Counting(Oracle(short)), iter(range(0, 20, 4))

    def look(request: Request, answer: dict[str, Any]) -> dict[str, Any]:
        first = next(places)
        return {"thought": "", "action": {"action": "visual_by_range", "first": first, "last": first + 3}}

    result = worldmm(short.drawn, short.questions[0], vlm=Overruled(oracle, worldmm=look), cache=cache, size=32)
    assert len(oracle.of(ControllerCall)) == 5 and result.stop == "answered"
    last = oracle.requests[-1]
    assert isinstance(last.facts, EvidenceCall) and len(last.images) == 15 <= MOST_IMAGES
    grids = [view.grid for view in last.facts.views]
    assert [grid.start_s for grid in grids] == sorted(grid.start_s for grid in grids)
    assert (grids[0].start_s, grids[-1].end_s) == (0, short.drawn.duration_s)
    assert all(one.end_s == other.start_s for one, other in zip(grids, grids[1:], strict=False))
    assert all(f"Frames of clips {first} to {first + 3}." in text_of(last) for first in range(0, 20, 4))
