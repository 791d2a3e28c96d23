"""`worldmm`: three memories of a video, and a controller that recalls from them."""

from typing import Any

from support.model_doubles import Counting, Overruled
from support.searches import text_of

from atlaskit.caching.cache import Cache
from atlaskit.evaluation.baselines import worldmm
from atlaskit.methods.controller import ControllerCall
from atlaskit.methods.records import Clip
from atlaskit.methods.run import EvidenceCall, MethodRun
from atlaskit.methods.worldmm import SummaryCall, as_parts, facts, summaries
from atlaskit.models.protocol import MOST_IMAGES, Request
from atlasworld import Oracle, World

PER_VIDEO = {"clip", "summary", "facts", "consolidate"}


def clip(index: int, caption: str) -> Clip:
    return Clip(index, index * 10.0, index * 10.0 + 10, caption, (), "", ())


def run_of(world: World, vlm: Any, threads: int = 4) -> MethodRun:
    run = MethodRun(world.drawn, "What?", vlm=vlm, threads=threads, cache=Cache(None))
    run.begin("worldmm", {})
    return run


def turns_of(oracle: Counting) -> list[Request]:
    return [request for request in oracle.requests if isinstance(request.facts, ControllerCall)]


def test_each_level_is_made_from_the_level_below(film: World) -> None:
    oracle = Counting(Oracle(film))
    clips = as_parts([clip(index, f"Caption {index}.") for index in range(130)])
    levels = summaries(run_of(film, oracle), clips)
    assert [len(level) for level in levels] == [130, 44, 8, 3]
    for below, level in zip(levels, levels[1:], strict=False):
        for part in level:
            inside = [each for each in below if part.stretch.span[0] <= each.stretch.span[0] < part.stretch.span[1]]
            assert part.stretch.span == (inside[0].stretch.span[0], inside[-1].stretch.span[1])
        assert [part.stretch.span[1] for part in level[:-1]] == [part.stretch.span[0] for part in level[1:]]
    calls = oracle.of(SummaryCall)
    read = {call.rows for call in calls}  # threads ask in any order
    assert {tuple(each.row for each in clips[:3]), tuple(part.row for part in levels[2][4:7])} <= read
    assert "clips 0–2, 0:00.0–0:30.0" in levels[1][0].row


def test_a_repeated_fact_is_dropped_and_the_newer_one_knows_its_clips(film: World) -> None:
    clips = as_parts([clip(index, "A dog.") for index in range(30)])
    gathered = iter([["The dog is brown.", "Snow lies."], ["The dog is brown and old."], ["The dog is dead."]])
    model = Overruled(
        Oracle(film),
        facts=lambda request, answer: {"facts": next(gathered)},
        consolidate=lambda request, answer: {
            "replaced": [{"earlier": len(request.facts.earlier) - 1, "by": len(request.facts.earlier)}]
        },  # type: ignore[attr-defined]
    )
    run = run_of(film, model, threads=1)
    found = facts(run, clips)
    assert [fact.words for fact in found] == ["Snow lies.", "The dog is dead."]
    assert found[0].row == "Fact from clips 0–9, 0:00.0–1:40.0: Snow lies."
    assert [stretch.first for stretch in found[1].stretches] == [0, 10, 20]


def test_it_ends_after_five_rounds_with_all_that_was_found(short: World, cache: Cache) -> None:
    oracle, places = Counting(Oracle(short)), iter(range(0, 20, 4))

    def look(request: Request, answer: dict[str, Any]) -> dict[str, Any]:
        first = next(places)
        return {"thought": "", "action": {"action": "visual_by_range", "first": first, "last": first + 3}}

    result = worldmm(short.drawn, short.questions[0], vlm=Overruled(oracle, worldmm=look), cache=cache, size=32)
    assert len(turns_of(oracle)) == 5 and result.stop == "answered"
    last = oracle.requests[-1]
    assert isinstance(last.facts, EvidenceCall) and len(last.images) == 15 <= MOST_IMAGES
    grids = [view.grid for view in last.facts.views]
    assert [grid.start_s for grid in grids] == sorted(grid.start_s for grid in grids)
    assert (grids[0].start_s, grids[-1].end_s) == (0, short.drawn.duration_s)
    assert all(one.end_s == other.start_s for one, other in zip(grids, grids[1:], strict=False))
    assert all(f"Frames of clips {first} to {first + 3}." in text_of(last) for first in range(0, 20, 4))
