"""Whole searches by oracles: every category of question, traversal, action and depth."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Unpack

import pytest
from pydantic import ValidationError
from support.asking import ask
from support.invariants import check_books, check_grounded, check_memory, check_search
from support.model_doubles import Babbler, Overruled, Slow
from support.searches import RecordingOracle, of_category, search, text_of

from atlaskit.agents.budget import Budget
from atlaskit.agents.strategies import Assignment, Frontier
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.benchmarks.atlasworld.questions import WRITERS
from atlaskit.caching.cache import Cache
from atlaskit.environment.grid import Grid, deepest
from atlaskit.errors import InputError
from atlaskit.models.errors import ModelError
from atlaskit.models.protocol import CallControl, Request
from atlaskit.runs import replay

TRAVERSALS = ("dfs", "bfs", "beam", "auto")


@pytest.mark.family
@pytest.mark.parametrize("traversal", TRAVERSALS)
@pytest.mark.parametrize("category", WRITERS)
def test_every_category_is_answered_by_every_traversal(
    long_world: World, shared_cache: Cache, category: str, traversal: str
) -> None:
    questions = [question for question in long_world.questions if question.category == category]
    assert questions
    for question in questions:
        result = search(long_world, question, shared_cache, traversal=traversal)
        assert result.is_right and question.score(result.prediction) >= 0.99, str(result)
        assert result.stop == result.stops.master == "sufficient" and result.stops.overall is None
        check_grounded(result)
        check_books(result, Budget(calls=200))
        check_memory(result)
        check_search(result)


def test_choice_questions_are_answered_without_their_choices(long_world: World, shared_cache: Cache) -> None:
    kinds = Counter()
    for question in long_world.questions:
        if question.kind == "choice":
            result = search(long_world, question.without_choices(), shared_cache)
            assert result.is_right and result.choice is None, str(result)
            kinds[result.question.kind] += 1
    assert kinds["open"] > kinds["count"] > 0


def test_searches_take_every_action(long_world: World, shared_cache: Cache) -> None:
    taken: dict[str, Counter[str]] = {}
    for traversal in ("dfs", "bfs"):
        for question in long_world.questions:
            oracle = Oracle(long_world, miss=0.2)
            result = search(long_world, question, shared_cache, oracle, traversal=traversal, k=4, max_rounds=5)
            taken.setdefault(traversal, Counter()).update(step.action.name for step in result.trace.of("step"))
            assert all(not step.problem for step in result.trace.of("step"))
    both = {"Zoom", "Investigate", "AddToScratchpad", "Finished"}
    assert set(taken["dfs"]) == {"Expand", "Backtrack", *both}
    assert set(taken["bfs"]) == {"MarkPromising", *both}


def test_the_traversal_is_chosen_from_the_question_alone(long_world: World, cache: Cache) -> None:
    video, decoded, requests = long_world.drawn, [], []

    class Recording(Oracle):
        def complete(self, request: Request, **control: Unpack[CallControl]):  # type: ignore[no-untyped-def]
            requests.append(request)
            decoded.append(video.frames_decoded)
            return super().complete(request, **control)

    before = video.frames_decoded
    for category, chosen in (("S2A", "dfs"), ("SSS", "bfs")):
        requests.clear()
        decoded.clear()
        result = ask(video, of_category(long_world, category), vlm=Recording(long_world), cache=cache, cell=32)
        assert requests[0].step == "task" and not requests[0].images and decoded[0] == before
        before = video.frames_decoded
        assert result.settings["traversal"] == "auto" and result.trace.of("task")[0].traversal == chosen
        assert {sortie.traversal for event in result.trace.of("assign") for sortie in event.sorties} == {chosen}
    fixed = search(long_world, of_category(long_world, "S2A"), cache, traversal="bfs")
    assert fixed.trace.of("task")[0].traversal == "bfs"
    with pytest.raises(ValidationError):
        requests[0].schema.model_validate({"search_task": "Find it.", "traversal": "beam"})


def test_a_summary_is_always_searched_breadth_first(long_world: World, cache: Cache) -> None:
    oracle = RecordingOracle(long_world)
    result = search(long_world, of_category(long_world, "SUM"), cache, oracle)
    assert "traversal" not in oracle.requests[0].schema.model_fields and oracle.requests[0].step == "task"
    assert result.trace.of("task")[0].traversal == "bfs" and len(result.evidence) > 1
    assert result.answer and result.answer.startswith("There is a")


def test_max_depth_bounds_every_search(long_world: World, shared_cache: Cache) -> None:
    bottom = deepest(36_000, long_world.drawn.fps, 8)
    for depth in range(bottom + 1):
        result = search(long_world, of_category(long_world, "S2O"), shared_cache, max_depth=depth)
        assert max((step.depth for step in result.trace.of("step")), default=0) <= depth
        assert (result.stop == "depth") == (depth == 0) and (depth < 2 or result.is_right)
    with pytest.raises(InputError, match=rf"max_depth.* 0 to .*\b{bottom}\b"):
        search(long_world, of_category(long_world, "S2O"), shared_cache, max_depth=bottom + 1)


def test_a_second_visit_knows_the_evidence_of_the_first(long_world: World, cache: Cache) -> None:
    requests: list[Request] = []

    class FailsTwice(Oracle):
        def complete(self, request: Request, **control: Unpack[CallControl]):  # type: ignore[no-untyped-def]
            if request.step == "step":
                requests.append(request)
                if 2 <= len(requests) <= 3:
                    raise ModelError("the network is down")
            return super().complete(request, **control)

    question = of_category(long_world, "S2A")
    result = search(long_world, question, cache, FailsTwice(long_world), workers=1, traversal="dfs", min_rounds=2)
    first, second = result.trace.of("assign")[:2]
    assert first.sorties[0].path == second.sorties[0].path
    assert second.sorties[0].had_evidence == ("A",) and result.trace.of("report")[0].is_open
    text = text_of(requests[3])
    assert "Evidence kept, in order of time:\n[A]" in text
    assert result.is_right and len(result.evidence) == 1


def test_workers_see_the_dead_zones_of_earlier_visits(long_world: World, shared_cache: Cache) -> None:
    """Dead cells are black in their views, and not in their legal sets."""
    root = Grid(0.0, 36_000.0, 8)
    inside, whole = root.expand(5).expand(7), root.expand(5)

    def inner_first(frontier: Frontier, *, workers: int, steps: int) -> list[Assignment]:
        (region,) = [inside] if not frontier.visited else [whole]
        return [Assignment(region, "dfs", steps)] if len(frontier.visited) < 2 else []

    begin = Frontier.__init__

    def begin_with_inside(self: Frontier, cells: Any) -> None:
        begin(self, cells)
        self.suggest([inside])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Frontier, "__init__", begin_with_inside)
        oracle, question = Oracle(long_world, miss=1.0), of_category(long_world, "S2A")
        result = search(long_world, question, shared_cache, oracle, workers=1, traversal=inner_first)
    steps = [step for step in result.trace.of("step") if step.view.path == (5,)]
    assert steps and all(step.view.dead == (7,) for step in steps)


def test_the_timing_of_replies_does_not_matter_with_many_workers(long_world: World, tmp_path: Path) -> None:
    """Promise 8, on ten hours, while regions of all depths are explored."""
    question = of_category(long_world, "SUM")
    for traversal in ("dfs", "bfs"):
        results = [
            search(
                long_world,
                question,
                Cache(tmp_path / f"{traversal}{number}"),
                Slow(Oracle(long_world, 0.4, 0.1), number),
                workers=16,
                threads=threads,
                traversal=traversal,
            )
            for number, threads in enumerate((1, 5, 16))
        ]
        assert len({result.to_json() for result in results}) == 1


def test_the_sheet_shows_the_most_confident_evidence(
    world: World, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scratchpad may have any size, but a prompt may not."""
    monkeypatch.setattr("atlaskit.environment.atlas.MAX_SHEET_ITEMS", 64)
    sheets: list[int] = []

    def add_everything(request: Request, answer: dict[str, Any]) -> dict[str, Any]:
        cells = request.facts.observation.legal["add_to_scratchpad"][:8]  # type: ignore[attr-defined]
        items = [{"cell": cell, "description": "this too", "confidence": cell / 64} for cell in cells]
        return {"thought": "", "action": {"action": "add_to_scratchpad", "items": items}}

    class RecordingSheets(Overruled):
        def complete(self, request: Request, **control: Unpack[CallControl]):  # type: ignore[no-untyped-def]
            if request.step == "decision":
                sheets.append(len(request.facts.sheet.scratchpad))  # type: ignore[attr-defined]
            return super().complete(request, **control)

    question = of_category(world, "S2A")
    result = search(
        world, question, cache, RecordingSheets(Babbler(1), step=add_everything), min_rounds=3, max_rounds=3, steps=8
    )
    assert len(result.evidence) > 64 == sheets[0]
    assert len(result.sheet.scratchpad) == len(result.evidence), "the result has all evidence"
    list(replay.pictures(result.trace, world.drawn, cache))


def test_notes_carry_what_a_zoom_showed_to_the_next_view(long_world: World, cache: Cache) -> None:
    requests: list[Request] = []

    def look_then_open(request: Request, answer: dict[str, Any]) -> dict[str, Any]:
        requests.append(request)
        legal, done = request.facts.observation.legal, len(request.facts.actions)  # type: ignore[attr-defined]
        if done == 0:
            return {"thought": "I look.", "action": {"action": "zoom", "cell": legal["zoom"][0]}}
        if done == 1 and legal["expand"]:
            return {"thought": "The sign reads EXIT 7.", "action": {"action": "expand", "cell": legal["expand"][0]}}
        return {"thought": "", "action": {"action": "finished"}}

    model = Overruled(Oracle(long_world), step=look_then_open)
    search(long_world, of_category(long_world, "S2A"), cache, model, traversal="dfs", workers=1, max_rounds=1)
    text = text_of(requests[2])
    assert "looked closely at" in text and "EXIT 7" in text
