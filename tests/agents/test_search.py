"""A search by an oracle ends with the right answer, one or several, and says why it ended."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError
from support.invariants import check_all
from support.model_doubles import Counting, Failing, Overruled
from support.searches import of_category, search, text_of

import atlaskit as ak
from atlaskit.agents.budget import Budget
from atlaskit.agents.schemas import review_schema
from atlaskit.agents.strategies import Assignment, Frontier
from atlaskit.agents.verbalize import ANSWER_FORMS
from atlaskit.caching.cache import Cache
from atlaskit.environment.grid import Grid
from atlaskit.errors import InputError
from atlaskit.models.prices import Prices
from atlaskit.models.protocol import ModelError, Request
from atlaskit.runs.result import Result
from atlasworld import Oracle, World
from atlasworld.questions import WRITERS

TRAVERSALS = ("dfs", "bfs", "beam", "auto")


@pytest.mark.family
@pytest.mark.parametrize(
    ("category", "traversal"),
    [(category, TRAVERSALS[(n + more) % 4]) for n, category in enumerate(WRITERS) for more in (0, 2)],
)
def test_every_category_is_answered_by_two_traversals(
    long_world: World, shared_cache: Cache, category: str, traversal: str
) -> None:
    """By "dfs" and "beam", or by "bfs" and "auto": each traversal has half of the categories."""
    questions = [question for question in long_world.questions if question.category == category]
    assert questions
    for question in questions:
        result = search(long_world, question, shared_cache, traversal=traversal)
        assert result.is_right and question.score(result.prediction) >= 0.99, str(result)
        assert result.stop == result.stops.master == "sufficient" and result.stops.overall is None
        check_all(result)


def test_searches_take_every_action(long_world: World, shared_cache: Cache) -> None:
    oracle = Oracle(long_world, miss=0.2)
    questions = [of_category(long_world, category) for category in ("OCR", "O3O", "S2A", "SSS")]
    for traversal, moves in (("dfs", {"Expand", "Backtrack"}), ("bfs", {"MarkPromising"})):
        taken = set[str]()
        for question in questions:
            result = search(long_world, question, shared_cache, oracle, traversal=traversal, k=4, max_rounds=5)
            taken.update(step.action.name for step in result.trace.of("step"))
            assert not any(step.problem for step in result.trace.of("step"))
        assert taken == {"Zoom", "Investigate", "AddToScratchpad", "Finished", *moves}


@pytest.mark.parametrize(("category", "chosen"), [("S2A", "dfs"), ("SSS", "bfs"), ("SUM", "bfs")])
def test_the_question_alone_decides_the_traversal(long_world: World, cache: Cache, category: str, chosen: str) -> None:
    """A summary leaves no choice: it needs what happens in order of time."""
    video = long_world.drawn
    decoded = {"before": video.frames_decoded}
    model = Counting(Oracle(long_world))
    result = search(
        long_world,
        of_category(long_world, category),
        cache,
        model,
        on_event=lambda event: decoded.setdefault(event.kind, video.frames_decoded),
    )
    task = model.requests[0]
    assert task.step == "task" and not task.images and decoded["task"] == decoded["before"]
    assert ("traversal" in task.schema.model_fields) == (category != "SUM")
    assert result.settings["traversal"] == "auto" and result.trace.of("task")[0].traversal == chosen
    assert {sortie.traversal for event in result.trace.of("assign") for sortie in event.sorties} == {chosen}


def test_a_second_visit_knows_the_evidence_of_the_first(long_world: World, cache: Cache) -> None:
    down = ModelError("the network is down")
    model = Failing(Oracle(long_world), lambda request, n: down if request.step == "step" and n in (2, 3) else None)
    question = of_category(long_world, "S2A")
    result = search(long_world, question, cache, model, workers=1, traversal="dfs", min_rounds=2)
    first, second = result.trace.of("assign")[:2]
    assert first.sorties[0].path == second.sorties[0].path
    assert second.sorties[0].had_evidence == ("A",) and result.trace.of("report")[0].is_open
    text = text_of([request for request in model.requests if request.step == "step"][3])
    assert "in order of time:\n[A]" in text
    assert result.is_right and len(result.evidence) == 1


@pytest.mark.parametrize(
    ("stop", "level", "miss", "options"),
    [
        ("sufficient", "master", 0.0, {}),
        ("depth", "master", 0.0, {"max_depth": 0}),
        ("explored", "worker", 1.0, {"k": 3, "budget": Budget()}),
        ("rounds", "global", 1.0, {"max_rounds": 2}),
        ("calls", "global", 1.0, {"budget": Budget(calls=20)}),
        ("tokens", "global", 1.0, {"budget": Budget(tokens=30_000)}),
        ("effective_tokens", "global", 1.0, {"budget": Budget(effective_tokens=30_000)}),
        ("usd", "global", 1.0, {"budget": Budget(usd=0.03, prices=Prices(prompt=1, completion=1))}),
    ],
)
def test_each_stop_of_a_run(
    long_world: World, shared_cache: Cache, stop: str, level: str, miss: float, options: dict[str, Any]
) -> None:
    oracle = Oracle(long_world, miss=miss)
    result = search(long_world, of_category(long_world, "T2O"), shared_cache, oracle, **options)
    assert result.stop == stop and result.prediction is not None
    assert (result.stops.master == stop, result.stops.overall == stop) == (level == "master", level == "global")
    stops = json.loads(result.to_json())["stops"]
    assert (stops["master"], stops["global"]) == (result.stops.master, result.stops.overall)
    assert f"stopped   {stop}" in str(result)


@pytest.mark.parametrize(
    ("stop", "options"),
    [
        ("finished", {}),
        ("plateau", {"plateau": 1, "k": 4}),
        ("steps", {"steps": 1}),
        ("budget", {"budget": Budget(calls=9)}),
    ],
)
def test_each_stop_of_a_worker(long_world: World, shared_cache: Cache, stop: str, options: dict[str, Any]) -> None:
    question = of_category(long_world, "O3O")
    result = search(long_world, question, shared_cache, traversal="dfs", max_rounds=2, **options)
    visits = str(result).partition("\n  visits    ")[2]
    assert f"{result.stops.worker[stop]} {stop}" in visits, "a worker of a round may make several"


Answer = dict[str, Any]


class TestReview:
    @pytest.fixture
    def searched(self, long_world: World, cache: Cache) -> Callable[..., Result]:
        """Search with an oracle whose reviews are changed."""

        def run(review: Callable[[Request, Answer], Answer], category: str = "S2A", **options: Any) -> Result:
            model = Overruled(Oracle(long_world), review=review)
            return search(long_world, of_category(long_world, category), cache, model, **options)

        return run

    def test_sufficiency_requires_supporting_labels_and_a_search_for_contradictions(self) -> None:
        schema = review_schema(2, 600.0, ("A", "C"), (3, 4))
        choices = [{"choice": i, "supporting": ["A"], "contradicting": [], "sufficient": i == 0} for i in range(2)]

        def check(**conclusion: Any) -> None:
            schema.model_validate({"reasoning": "", "choices": choices, "erase": [], "conclusion": conclusion})

        decide = {"action": "final_decision", "looked_for_to_contradict": "another colour", "supporting": ["A"]}
        go_on = {"action": "continue", "explore": [3], "intervals": [{"start_s": 5.0, "end_s": 2.0}]}
        check(**decide)
        check(**go_on)
        for whole, bad in (
            (decide, {"supporting": []}),
            (decide, {"looked_for_to_contradict": " "}),
            (decide, {"explore": [3]}),
            (go_on, {"explore": [5]}),
            (go_on, {"supporting": ["A"]}),
        ):
            with pytest.raises(ValidationError):
                check(**whole | bad)

    def test_a_conclusion_without_a_proven_choice_does_not_count(self, searched: Callable[..., Result]) -> None:
        def prove_nothing(request: Request, answer: Answer) -> Answer:
            return {**answer, "choices": [{**choice, "sufficient": False} for choice in answer["choices"]]}

        result = searched(prove_nothing, max_rounds=3)
        assert result.stop == "rounds" and not any(event.sufficient for event in result.trace.of("review"))

    def test_intervals_become_regions_that_are_explored_next(self, searched: Callable[..., Result]) -> None:
        """Reversed, crossing a cell border, a moment, or hours: each interval is followed."""
        spans = [(2008.0, 2000.0), (562.4, 562.6), (50.0, 50.0), (30_000.0, 36_000.0)]

        def name_intervals(request: Request, answer: Answer) -> Answer:
            intervals = [{"start_s": start_s, "end_s": end_s} for start_s, end_s in spans]
            return {**answer, "conclusion": {"action": "continue", "explore": [], "intervals": intervals}}

        result = searched(name_intervals, max_rounds=2, workers=3, traversal="dfs")
        queued = result.trace.of("review")[0].queued
        assert queued[:4] == ((3, 35), (3, 36), (0, 63), (1, 0)), "the smallest regions, on both sides of a cell border"
        assert queued[4:] == ((0, 5),), "a moment means its region, an interval of hours root cells"
        second = [sortie.path for sortie in result.trace.of("assign")[1].sorties]
        assert len(second) == 3 and all(path in queued or 53 <= path[0] <= 63 for path in second)
        assert len(set(second) & set(queued)) == 2, "not root cells alone"

    def test_a_region_whose_evidence_is_erased_becomes_dead(self, searched: Callable[..., Result]) -> None:
        def erase(request: Request, answer: Answer) -> Answer:
            go_on = {"action": "continue", "explore": [], "intervals": []}
            weighed = [{**choice, "supporting": []} for choice in answer["choices"]]
            erase = list(request.facts.sheet.scratchpad.labels)  # type: ignore[attr-defined]
            return {**answer, "choices": weighed, "erase": erase, "conclusion": go_on}

        result = searched(erase, max_rounds=1, traversal="dfs", max_depth=1)
        (review,) = result.trace.of("review")
        assert review.erased == ("A",) and "A" not in result.evidence.labels, "no label is given twice"
        assert review.dead_s == (result.trace.of("report")[0].interval_s,)

    def test_supporting_evidence_is_not_erased(self, searched: Callable[..., Result]) -> None:
        def erase(request: Request, answer: Answer) -> Answer:
            return {**answer, "erase": list(request.facts.sheet.scratchpad.labels)[:8]}  # type: ignore[attr-defined]

        result = searched(erase, "SSS")
        assert result.is_right and len(result.evidence) == 4


class TestCustomStrategies:
    def test_a_function_is_a_strategy(self, long_world: World, shared_cache: Cache) -> None:
        def from_the_end(frontier: Frontier, *, workers: int, steps: int) -> list[Assignment]:
            last = sorted((region.grid for region in frontier.open), key=lambda grid: -grid.start_s)
            return [ak.strategies.Assignment(grid, "dfs", steps) for grid in last[:workers]]

        question = of_category(long_world, "S2A")
        result = search(long_world, question, shared_cache, traversal=from_the_end, budget=Budget(calls=500))
        assert result.is_right and result.settings["traversal"] == "from_the_end"
        starts = [report.interval_s[0] for report in result.trace.of("report")]
        assert starts == sorted(starts, reverse=True)

    @pytest.mark.parametrize(
        ("message", "assign"),
        [
            ("at most 2 assignments; it returned 3", lambda cells: [Assignment(c, "dfs", 5) for c in cells[:3]]),
            ("different regions", lambda cells: [Assignment(cells[0], "dfs", 5)] * 2),
            ("regions of frontier.open", lambda cells: [Assignment(Grid(0.0, 36_000.0, 8), "dfs", 5)]),
            ("a list of assignments", lambda cells: cells),
        ],
    )
    def test_invalid_assignments_are_refused(
        self, long_world: World, shared_cache: Cache, message: str, assign: Any
    ) -> None:
        def invalid(frontier: Frontier, *, workers: int, steps: int) -> list[Assignment]:
            return assign([region.grid for region in frontier.open])  # type: ignore[no-any-return]

        with pytest.raises(InputError, match=f"invalid.*{message}"):
            search(long_world, of_category(long_world, "S2A"), shared_cache, traversal=invalid, workers=2)


def reversed_and_overlapping(request: Request, answer: dict[str, Any]) -> dict[str, Any]:
    spans = ((30.0, 20.0), (1.0, 2.0), (20.5, 41.0))
    return {**answer, "intervals": [{"start_s": start_s, "end_s": end_s} for start_s, end_s in spans]}


def test_the_words_reach_the_model_and_its_answer_is_put_in_order(world: World, cache: Cache) -> None:
    question, oracle = world.several[0], Counting(Oracle(world))
    result = search(world, question, cache, Overruled(oracle, decision=reversed_and_overlapping))
    (decision,) = [request for request in oracle.requests if request.step == "decision"]
    assert ANSWER_FORMS["when, several"] in text_of(decision) and ANSWER_FORMS["when"] not in text_of(decision)
    assert result.prediction == ((1.0, 2.0), (20.0, 41.0)) and not result.is_right
    right = search(world, question, cache)
    assert right.intervals == question.answer and len(right.intervals) == 3 and right.interval is None
