"""`mapreduce`: scenes and names once per video, then read, choose, look, and answer."""

import math
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from support.model_doubles import Counting, Overruled
from support.searches import paid_steps, text_of

from atlaskit.caching.cache import Cache
from atlaskit.evaluation.baselines import mapreduce, mapreduce_clips
from atlaskit.methods.mapreduce import PER_CHUNK, MapCall, OverviewCall, ReduceCall, SceneLookCall
from atlaskit.methods.records import Clip
from atlaskit.methods.run import MethodRun, TextCall
from atlaskit.methods.scenes import Scene, clips_as_scenes, with_names
from atlaskit.models.protocol import Request
from atlasworld import Oracle, World

PER_VIDEO = {"clip", "continues", "scene", "characters"}


def greedy(oracle: Oracle) -> Overruled:
    """Return a model that names and chooses as many scenes as a reply may hold, globally."""

    def all_of(request: Request, answer: dict[str, Any]) -> dict[str, Any]:
        (_, scenes), *_ = request.schema.values  # type: ignore[union-attr]
        return {**answer, "segments": list(scenes[:10])}

    return Overruled(oracle, map=all_of, reduce=lambda request, answer: {**all_of(request, answer), "scope": "global"})


def clip(index: int, *subjects: tuple[str, str], caption: str = "A place.") -> Clip:
    return Clip(index, index * 10.0, index * 10.0 + 10, caption, subjects, "", ())


def named(world: World, cache: Cache, scenes: list[Scene], vlm: Any = None) -> tuple[list[Scene], MethodRun]:
    run = MethodRun(world.drawn, "What?", vlm=vlm or Oracle(world), cache=cache)
    run.begin("mapreduce", {})
    return with_names(run, scenes), run


def test_a_question_costs_its_chunks_and_fourteen_calls_at_most(short: World, cache: Cache) -> None:
    model, question = greedy(Oracle(short)), short.questions[0]
    first = mapreduce_clips(short.drawn, question, vlm=model, cache=cache, size=32, clip_s=5)
    assert PER_VIDEO - {"continues", "scene"} <= paid_steps(first).keys()
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
    beside_s = 1.25  # the frames next to a cut: the middles of cells of 2.5 s
    changes = {
        cut_s
        for cut_s in range(10, 200, 10)
        if short.script.scene_at(cut_s - beside_s) != short.script.scene_at(cut_s + beside_s)
    }
    assert 1 < len(changes) < 19 and changes == {end_s for _, end_s in spans[:-1]}


def test_a_scene_has_a_bounded_length(short: World, cache: Cache) -> None:
    always = Overruled(Oracle(short), continues=lambda request, answer: {**answer, "continues": True})
    oracle = Counting(Oracle(short))
    always.model = oracle
    mapreduce(short.drawn, short.questions[0], vlm=always, cache=cache, size=32, longest=8)
    (read,) = oracle.of(MapCall)
    lengths = [item.end_s - item.start_s for sheet in read.sheets for item in sheet.scratchpad]
    assert lengths == pytest.approx([80, 80, 40])


@given(
    st.lists(
        st.lists(
            st.tuples(st.sampled_from(["circle", "star"]), st.sampled_from(["red", "blue"])), max_size=3, unique=True
        ),
        min_size=1,
        max_size=13,
    )
)
def test_each_character_has_one_name_in_all_scenes(film: World, subjects: list[list[tuple[str, str]]]) -> None:
    scenes = clips_as_scenes([clip(index, *each) for index, each in enumerate(subjects)])
    found, run = named(film, Cache(None), scenes)
    names = [
        (character, name) for scene in found for character, name in zip(scene.characters, scene.names, strict=True)
    ]
    assert len(dict(names)) == len({name for _, name in names}) == len(set(names)), "one name each, and no other's"
    assert len(run.model.calls) <= max(0, len(scenes) - 1)


def test_only_scenes_that_were_shown_can_be_named(short: World, cache: Cache) -> None:
    oracle = Counting(Oracle(short))
    mapreduce_clips(short.drawn, short.questions[0], vlm=greedy(oracle), cache=cache, size=32, clip_s=5)
    parts = {min(request.facts.scenes): request for request in oracle.requests if isinstance(request.facts, MapCall)}
    second = parts[sorted(parts)[1]]  # threads ask in any order
    (choose,) = (request for request in oracle.requests if isinstance(request.facts, ReduceCall))
    for request, wrong in ((second, 3), (second, 40), (choose, 20), (choose, -1)):
        answer = {"reasoning": "", "segments": [wrong], "confidence": 3, "scope": "local"}
        del answer["scope" if request is second else "confidence"]
        with pytest.raises(ValidationError):
            request.schema.model_validate(answer)
        request.schema.model_validate({**answer, "segments": [min(request.facts.scenes)]})  # type: ignore[attr-defined]


def test_what_is_seen_reaches_the_answer(short: World, cache: Cache) -> None:
    oracle = Counting(Oracle(short))
    told = Overruled(
        greedy(oracle),
        look=lambda request, answer: {"seen": f"A look at {request.facts.row.partition(' (')[0]}!"},  # type: ignore[attr-defined]
        overview=lambda request, answer: {"seen": "The view across."},
    )
    mapreduce_clips(short.drawn, short.questions[0], vlm=told, cache=cache, size=32)
    looks = [request for request in oracle.requests if isinstance(request.facts, SceneLookCall)]
    looks.sort(key=lambda request: request.facts.views[0].grid.start_s)  # type: ignore[attr-defined]  # threads race
    (across,) = (request for request in oracle.requests if isinstance(request.facts, OverviewCall))
    last = oracle.requests[-1]
    assert isinstance(last.facts, TextCall) and not last.images
    assert all(f"A look at Scene {number}!" in text_of(last) for number in range(10)) and len(looks) == 10
    assert "The view across." in text_of(last)
    shown = [view.grid for view in looks[0].facts.views]  # type: ignore[attr-defined]
    assert sum(grid.size for grid in shown) == 32 and (shown[0].start_s, shown[1].end_s) == (0, 10)
    assert len(across.images) == 1 and len(across.facts.sheet.scratchpad) == 10  # type: ignore[attr-defined]
