"""Video-RLM, whole: each action, stop, traversal and kind of question, driven by oracles in known worlds."""

from __future__ import annotations

import re
import threading
from collections import Counter
from pathlib import Path
from typing import Any, Unpack

import pytest
from pydantic import ValidationError
from support.invariants import check_books, check_grounded, check_memory, check_search
from support.model_doubles import Babbler, Flaky, Overruled, Slow
from support.paths import ROOT

from atlaskit.agents.budget import Budget
from atlaskit.agents.frontier import Frontier
from atlaskit.agents.schemas import review_schema
from atlaskit.agents.search import ask
from atlaskit.agents.strategies import STRATEGIES, Assignment, beam
from atlaskit.benchmarks.atlasworld import Oracle, World, atlasworld
from atlaskit.benchmarks.atlasworld.questions import CATEGORIES, WRITERS
from atlaskit.caching.cache import Cache
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.grid import Grid, deepest
from atlaskit.environment.mdp import AddToScratchpad, Claim
from atlaskit.environment.memory import DeadZones, Evidence, Scratchpad, gaps
from atlaskit.environment.question import Question
from atlaskit.errors import IllegalAction, InputError
from atlaskit.models.errors import ModelError, Refused, Unreachable
from atlaskit.models.protocol import CallControl, Request
from atlaskit.runs import replay
from atlaskit.runs.result import Result

CELL = Grid(0.0, 36_000.0, 8, (3,))
TRAVERSALS = ("dfs", "bfs", "beam", "auto")


@pytest.fixture(scope="module")
def long_world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Ten hours, three levels deep, with a few questions of each category."""
    folder = tmp_path_factory.mktemp("long")
    return atlasworld(11, 36_000, questions=33, categories=tuple(WRITERS), size=(128, 72), directory=folder)


def run(world: World, question: Question, cache: Cache, vlm: Any = None, **options: Any) -> Result:
    return ask(world.drawn, question, vlm=vlm or Oracle(world), cache=cache, **{"cell": 32, **options})


def of_category(world: World, category: str) -> Question:
    return next(question for question in world.questions if question.category == category)


@pytest.mark.parametrize("traversal", TRAVERSALS)
@pytest.mark.parametrize("category", WRITERS)
def test_every_kind_of_question_by_every_traversal(
    long_world: World, shared_cache: Cache, category: str, traversal: str
) -> None:
    asked = [question for question in long_world.questions if question.category == category]
    assert asked
    for question in asked:
        result = run(long_world, question, shared_cache, traversal=traversal)
        assert result.is_right and question.score(result.prediction) >= 0.99, str(result)
        assert result.stop == result.stops.master == "sufficient" and result.stops.overall is None
        check_grounded(result)
        check_books(result, Budget(calls=200))
        check_memory(result)
        check_search(result)


def test_every_question_with_choices_can_be_asked_without(long_world: World, shared_cache: Cache) -> None:
    kinds = Counter()
    for question in long_world.questions:
        if question.kind == "choice":
            result = run(long_world, question.without_choices(), shared_cache)
            assert result.is_right and result.choice is None, str(result)
            kinds[result.question.kind] += 1
    assert kinds["open"] > kinds["count"] > 0


def test_a_count_is_of_what_was_found(long_world: World, shared_cache: Cache) -> None:
    """An oracle that misses some counts too few, not the truth."""
    question = max((q for q in long_world.questions if q.kind == "count"), key=lambda q: int(q.answer or 0))  # type: ignore[arg-type]
    counts = set()
    for seed in range(6):
        result = run(long_world, question, shared_cache, Oracle(long_world, 0.5, seed=seed), max_rounds=3)
        found = {long_world.script.event_at(item.timestamp_s) for item in result.evidence}
        assert result.prediction == len(found) if found else result.prediction is not None
        counts.add(result.prediction)
    assert len(counts) > 1


def test_every_action_is_taken(long_world: World, shared_cache: Cache) -> None:
    taken: dict[str, Counter[str]] = {}
    for traversal in ("dfs", "bfs"):
        for question in long_world.questions:
            oracle = Oracle(long_world, miss=0.2)
            result = run(long_world, question, shared_cache, oracle, traversal=traversal, k=4, max_rounds=5)
            taken.setdefault(traversal, Counter()).update(step["action"]["name"] for step in result.trace.of("step"))
            assert all(not step["problem"] for step in result.trace.of("step"))
    both = {"Zoom", "Investigate", "AddToScratchpad", "Finished"}
    assert set(taken["dfs"]) == {"Expand", "Backtrack", *both}
    assert set(taken["bfs"]) == {"MarkPromising", *both}


def test_the_master_chooses_by_the_words_before_any_frame_is_decoded(long_world: World, cache: Cache) -> None:
    video, decoded, asked = long_world.drawn, [], []

    class Listening(Oracle):
        def complete(self, request: Request, **control: Unpack[CallControl]):  # type: ignore[no-untyped-def]
            asked.append(request)
            decoded.append(video.frames_decoded)
            return super().complete(request, **control)

    before = video.frames_decoded
    for category, chosen in (("S2A", "dfs"), ("SSS", "bfs")):
        asked.clear()
        decoded.clear()
        result = ask(video, of_category(long_world, category), vlm=Listening(long_world), cache=cache, cell=32)
        assert asked[0].step == "task" and not asked[0].images and decoded[0] == before
        before = video.frames_decoded
        assert result.settings["traversal"] == "auto" and result.trace.of("task")[0]["traversal"] == chosen
        assert {sortie["traversal"] for event in result.trace.of("assign") for sortie in event["sorties"]} == {chosen}
    fixed = run(long_world, of_category(long_world, "S2A"), cache, traversal="bfs")
    assert fixed.trace.of("task")[0]["traversal"] == "bfs"
    with pytest.raises(ValidationError):
        asked[0].schema.model_validate({"search_task": "Find it.", "traversal": "beam"})


def test_a_summary_is_searched_breadth_first_without_asking(long_world: World, cache: Cache) -> None:
    asked: list[Request] = []

    class Listening(Oracle):
        def complete(self, request: Request, **control: Unpack[CallControl]):  # type: ignore[no-untyped-def]
            asked.append(request)
            return super().complete(request, **control)

    result = run(long_world, of_category(long_world, "SUM"), cache, Listening(long_world))
    assert "traversal" not in asked[0].schema.model_fields and asked[0].step == "task"
    assert result.trace.of("task")[0]["traversal"] == "bfs" and len(result.evidence) > 1
    assert result.answer and result.answer.startswith("There is a")


@pytest.mark.parametrize(
    ("stop", "level", "options"),
    [
        ("sufficient", "master", {}),
        ("depth", "master", {"max_depth": 0}),
        ("explored", "worker", {"miss": 1.0, "k": 3, "budget": Budget()}),
        ("rounds", "global", {"miss": 1.0, "max_rounds": 2}),
        ("calls", "global", {"miss": 1.0, "budget": Budget(calls=20)}),
        ("tokens", "global", {"miss": 1.0, "budget": Budget(tokens=30_000)}),
        ("effective_tokens", "global", {"miss": 1.0, "budget": Budget(effective_tokens=30_000)}),
    ],
)
def test_every_stop_of_a_run(
    long_world: World, shared_cache: Cache, stop: str, level: str, options: dict[str, Any]
) -> None:
    options = dict(options)
    oracle = Oracle(long_world, miss=options.pop("miss", 0.0))
    result = run(long_world, of_category(long_world, "T2O"), shared_cache, oracle, **options)
    assert result.stop == stop and result.prediction is not None
    named = {"master": result.stops.master, "global": result.stops.overall}
    assert named.get(level, stop) == stop and [n for n in named.values() if n] == ([stop] if level in named else [])
    assert f'"{level}":' in result.to_json() and f"stopped   {stop}" in str(result)


def test_the_stop_of_a_model_that_only_answers_the_master(long_world: World, cache: Cache) -> None:
    result = run(long_world, of_category(long_world, "T2O"), cache, Flaky(Oracle(long_world), 1.0))
    assert result.stop == result.stops.overall == "model" and set(result.stops.worker) == {"failed"}
    assert result.rounds <= 6 and result.dead_zones.intervals == ()
    assert len({tuple(report["path"]) for report in result.trace.of("report")}) >= 3, "one region does not show it"


def test_a_region_that_alone_is_refused_does_not_end_the_run(long_world: World, cache: Cache) -> None:
    question = of_category(long_world, "SSS")
    (region,) = {event.start_s // 562.5 for event in long_world.targets(question)[:1]}

    class Filtered(Oracle):
        def complete(self, request: Request, **control: Unpack[CallControl]):  # type: ignore[no-untyped-def]
            if request.step == "step" and request.facts.observation.state.region.path[0] == region:  # type: ignore[attr-defined]
                raise ModelError("content filter")
            return super().complete(request, **control)

    result = run(long_world, question, cache, Filtered(long_world), workers=1, budget=Budget(calls=60))
    assert result.stop in ("calls", "explored") and result.stops.worker["failed"] == 2
    assert len(result.evidence) == 3, "the other three are found"
    check_memory(result)


@pytest.mark.parametrize(
    ("stop", "options"),
    [
        ("finished", {}),
        ("plateau", {"plateau": 2, "k": 4}),
        ("steps", {"steps": 1}),
        ("budget", {"budget": Budget(calls=9)}),
    ],
)
def test_every_stop_of_a_worker(long_world: World, shared_cache: Cache, stop: str, options: dict[str, Any]) -> None:
    question = of_category(long_world, "O3O")
    result = run(long_world, question, shared_cache, traversal="dfs", max_rounds=2, **options)
    assert stop in result.stops.worker and f"{result.stops.worker[stop]} {stop}" in str(result)


def test_a_plateau_is_steps_without_new_evidence(long_world: World, cache: Cache) -> None:
    """What it ends is dead if it found nothing, and is not if it did."""

    def wander(request: Request, answer: dict[str, Any]) -> dict[str, Any]:
        zoom = request.facts.observation.legal.zoom[0]  # type: ignore[attr-defined]
        keep = request.facts.observation.legal.add[0]  # type: ignore[attr-defined]
        region = request.facts.observation.state.region.path[0]  # type: ignore[attr-defined]
        if region % 2 and len(request.facts.actions) == 1:  # type: ignore[attr-defined]
            item = {"cell": keep, "description": "something", "confidence": 0.5}
            return {"thought": "", "action": {"action": "add_to_scratchpad", "items": [item]}}
        return {"thought": "", "action": {"action": "zoom", "cell": zoom}}

    model = Overruled(Babbler(3), step=wander)
    result = run(long_world, of_category(long_world, "S2A"), cache, model, plateau=3, max_rounds=2, workers=6)
    assert set(result.stops.worker) == {"plateau"}
    for report in result.trace.of("report"):
        steps = [s for s in result.trace.of("step") if (s.round, s.worker) == (report.round, report.worker)]
        is_odd = report["path"][0] % 2
        assert len(steps) == (5 if is_odd else 3) and bool(report["dead_s"]) != bool(is_odd)
    for plateau, sentence in ((0, "at least 1"), (12, "less than the 12 steps")):
        with pytest.raises(InputError, match=sentence):
            run(long_world, of_category(long_world, "S2A"), cache, model, plateau=plateau)


def test_every_depth_from_the_composite_grid_to_single_frames(long_world: World, shared_cache: Cache) -> None:
    bottom = deepest(36_000, long_world.drawn.fps, 8)
    for depth in range(bottom + 1):
        result = run(long_world, of_category(long_world, "S2O"), shared_cache, max_depth=depth)
        assert max((step["depth"] for step in result.trace.of("step")), default=0) <= depth
        assert (result.stop == "depth") == (depth == 0) and (depth < 2 or result.is_right)
    with pytest.raises(InputError, match=f"0 to D_max, which is {bottom}"):
        run(long_world, of_category(long_world, "S2O"), shared_cache, max_depth=bottom + 1)


def test_one_worker_is_a_normal_case(long_world: World, shared_cache: Cache) -> None:
    for question in long_world.questions[::4]:
        result = run(long_world, question, shared_cache, workers=1)
        assert result.is_right and {len(event["sorties"]) for event in result.trace.of("assign")} == {1}


class TestLookingAhead:
    def test_the_next_probe_is_made_while_workers_are_under_way(self, long_world: World, cache: Cache) -> None:
        """Neither goes on before the other has begun: without overlap, this would never end."""
        meeting, met = threading.Barrier(2), threading.Event()

        class Meets(Oracle):
            def complete(self, request: Request, **control: Unpack[CallControl]):  # type: ignore[no-untyped-def]
                is_second_probe = request.step == "probe" and seen.append("probe") is None and len(seen) == 2
                is_first_step = request.step == "step" and not met.is_set()
                if is_second_probe or is_first_step:
                    meeting.wait(60)
                    met.set()
                return super().complete(request, **control)

        seen: list[str] = []
        question = of_category(long_world, "S2A")
        result = run(long_world, question, cache, Meets(long_world), workers=1, min_rounds=2)
        assert met.is_set() and [event["ahead"] for event in result.trace.of("probe")][:2] == [False, True]

    def test_it_does_not_offer_what_is_being_explored(self, long_world: World, shared_cache: Cache) -> None:
        result = run(long_world, of_category(long_world, "SSS"), shared_cache, Oracle(long_world, 0.6), traversal="dfs")
        events, ahead = list(result.trace), 0
        for place, event in enumerate(events):
            if event.kind == "probe" and event["ahead"]:
                ahead += 1
                sent = next(e for e in reversed(events[:place]) if e.kind == "assign")
                assert sent.round == event.round
                assert not {sortie["path"][0] for sortie in sent["sorties"]} & set(event["offered"])
                black = {cell for span in sent["dead_zones_s"] for cell in covered(span)}
                assert set(event["view"]["dead"]) == black, "it sees what the workers were told"
        assert ahead > 1 and ahead + 1 >= result.rounds > 2

    def test_only_where_nothing_is_short(self, long_world: World, shared_cache: Cache) -> None:
        question, oracle = of_category(long_world, "SSS"), Oracle(long_world, 0.6)
        for options in ({"look_ahead": False}, {"budget": Budget(tokens=10**6)}, {"budget": Budget(calls=15)}):
            result = run(long_world, question, shared_cache, oracle, max_rounds=3, **options)
            assert not any(event["ahead"] for event in result.trace.of("probe"))
            assert len(result.trace.of("probe")) == result.rounds
        last = run(long_world, question, shared_cache, oracle, max_rounds=2)
        assert [event["ahead"] for event in last.trace.of("probe")] == [False, True], "never for a round too many"

    def test_one_that_fails_costs_a_call_and_is_made_again(self, long_world: World, cache: Cache) -> None:
        probes: list[Request] = []

        class FailsOnce(Oracle):
            def complete(self, request: Request, **control: Unpack[CallControl]):  # type: ignore[no-untyped-def]
                if request.step == "probe":
                    probes.append(request)
                    if len(probes) == 2:
                        raise ModelError("the network is down")
                return super().complete(request, **control)

        result = run(long_world, of_category(long_world, "S2A"), cache, FailsOnce(long_world), min_rounds=2)
        assert [event["step"] for event in result.trace.of("failure")] == ["probe"]
        assert [event["ahead"] for event in result.trace.of("probe")][:2] == [False, False] and result.is_right


def covered(span: list[float]) -> list[int]:
    root = Grid(0.0, 36_000.0, 8)
    return [cell.index for cell in root.cells if span[0] <= cell.start_s and cell.end_s <= span[1]]


class TestUncertaintyAnalysis:
    QUESTION = Question("Which?", ("a", "b"))

    def answer(self, **conclusion: Any) -> dict[str, Any]:
        choices = [{"choice": i, "supporting": ["A"], "contradicting": [], "sufficient": i == 0} for i in range(2)]
        return {"reasoning": "", "choices": choices, "erase": [], "conclusion": conclusion}

    def test_sufficiency_names_its_proof_and_what_was_looked_for_against_it(self) -> None:
        schema = review_schema(len(self.QUESTION.choices), 600.0, ("A", "C"), (3, 4))
        whole = {"action": "final_decision", "looked_for_to_contradict": "another colour", "supporting": ["A"]}
        schema.model_validate(self.answer(**whole))
        for bad in (
            {"supporting": []},
            {"supporting": ["B"]},
            {"looked_for_to_contradict": " "},
            {"looked_for_to_contradict": ""},
            {"explore": [3]},
        ):
            with pytest.raises(ValidationError):
                schema.model_validate(self.answer(**{**whole, **bad}))
        go_on = {"action": "continue", "explore": [3], "intervals": [{"start_s": 5.0, "end_s": 2.0}]}
        schema.model_validate(self.answer(**go_on))
        for bad in ({"explore": [5]}, {"intervals": [{"start_s": -1.0, "end_s": 2.0}]}, {"supporting": ["A"]}):
            with pytest.raises(ValidationError):
                schema.model_validate(self.answer(**{**go_on, **bad}))

    def test_a_conclusion_that_no_choice_bears_out_does_not_count(self, long_world: World, cache: Cache) -> None:
        def waver(request: Request, answer: dict[str, Any]) -> dict[str, Any]:
            return {**answer, "choices": [{**choice, "sufficient": False} for choice in answer["choices"]]}

        model = Overruled(Oracle(long_world), review=waver)
        result = run(long_world, of_category(long_world, "S2A"), cache, model, max_rounds=3)
        assert result.stop == "rounds" and not any(event["sufficient"] for event in result.trace.of("review"))

    def test_there_can_be_a_least_number_of_rounds(self, long_world: World, shared_cache: Cache) -> None:
        for least in (1, 3):
            result = run(long_world, of_category(long_world, "S2A"), shared_cache, min_rounds=least)
            assert (result.stop, result.rounds) == ("sufficient", least) and len(result.trace.of("review")) == 1

    def test_gaps_lie_between_the_evidence(self) -> None:
        pad = Scratchpad().add(Evidence(t, t - 5, t + 5, "", 1.0) for t in (300.0, 100.0, 110.0))
        zones = DeadZones().add(0, 95).add(400, 500)
        found = [(gap.start_s, gap.end_s, gap.after, gap.before) for gap in gaps(pad, zones, 600.0)]
        assert found == [(115.0, 295.0, "C", "A"), (305.0, 400.0, "A", ""), (500.0, 600.0, "A", "")]

    def test_bounds_become_regions_and_are_explored_next(self, long_world: World, cache: Cache) -> None:
        """Backwards, beyond a cell's border, of no length, ruled out: each is made the best of."""
        spans = [(2008.0, 2000.0), (562.4, 562.6), (50.0, 50.0), (30_000.0, 36_000.0)]

        def bound(request: Request, answer: dict[str, Any]) -> dict[str, Any]:
            intervals = [{"start_s": start_s, "end_s": end_s} for start_s, end_s in spans]
            return {**answer, "conclusion": {"action": "continue", "explore": [], "intervals": intervals}}

        model = Overruled(Oracle(long_world), review=bound)
        result = run(long_world, of_category(long_world, "S2A"), cache, model, max_rounds=2, workers=3, traversal="dfs")
        queued = result.trace.of("review")[0]["queued"]
        assert queued[:4] == [[3, 35], [3, 36], [0, 63], [1, 0]], "as small as they can be, on both sides of a border"
        assert len(queued) == 4, "a bound of hours is a word on the cells of the root, not a region"
        second = [sortie["path"] for sortie in result.trace.of("assign")[1]["sorties"]]
        assert len(second) == 3 and all(path in queued or 53 <= path[0] <= 63 for path in second)

    def test_erasing_all_that_a_region_gave_rules_it_out(self, long_world: World, cache: Cache) -> None:
        def erase(request: Request, answer: dict[str, Any]) -> dict[str, Any]:
            go_on = {"action": "continue", "explore": [], "intervals": []}
            weighed = [{**choice, "supporting": []} for choice in answer["choices"]]
            erase = list(request.facts.sheet.scratchpad.labels)  # type: ignore[attr-defined]
            return {**answer, "choices": weighed, "erase": erase, "conclusion": go_on}

        model = Overruled(Oracle(long_world), review=erase)
        result = run(long_world, of_category(long_world, "S2A"), cache, model, max_rounds=1, traversal="dfs")
        (review,) = result.trace.of("review")
        assert review["erased"] == ["A"] and "A" not in result.evidence.labels, "a label is not given twice"
        assert review["dead_s"] == [result.trace.of("report")[0]["interval_s"]]

    def test_what_is_needed_is_not_erased(self, long_world: World, cache: Cache) -> None:
        def erase(request: Request, answer: dict[str, Any]) -> dict[str, Any]:
            return {**answer, "erase": list(request.facts.sheet.scratchpad.labels)[:8]}  # type: ignore[attr-defined]

        model = Overruled(Oracle(long_world), review=erase)
        result = run(long_world, of_category(long_world, "SSS"), cache, model)
        assert result.is_right and len(result.evidence) == 4


def test_a_worker_that_comes_back_to_a_region_knows_what_was_found_there(long_world: World, cache: Cache) -> None:
    heard: list[Request] = []

    class BreaksOff(Oracle):
        def complete(self, request: Request, **control: Unpack[CallControl]):  # type: ignore[no-untyped-def]
            if request.step == "step":
                heard.append(request)
                if 2 <= len(heard) <= 3:
                    raise ModelError("the network is down")
            return super().complete(request, **control)

    question = of_category(long_world, "S2A")
    result = run(long_world, question, cache, BreaksOff(long_world), workers=1, traversal="dfs", min_rounds=2)
    first, second = result.trace.of("assign")[:2]
    assert first["sorties"][0]["path"] == second["sorties"][0]["path"]
    assert second["sorties"][0]["had_evidence"] == ["A"] and result.trace.of("report")[0]["is_open"]
    told = "\n".join(part for message in heard[3].messages for part in message.parts if isinstance(part, str))
    assert "Evidence kept, in order of time:\n[A]" in told
    assert result.is_right and len(result.evidence) == 1


def test_workers_are_told_what_others_ruled_out(long_world: World, shared_cache: Cache) -> None:
    """Black in their grids, and not offered to them."""
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
        result = run(long_world, question, shared_cache, oracle, workers=1, traversal=inner_first)
    steps = [step for step in result.trace.of("step") if step["view"]["path"] == [5]]
    assert steps and all(step["view"]["dead"] == [7] for step in steps)


class TestStrategiesOfOnesOwn:
    def test_any_function_of_the_form_will_do(self, long_world: World, shared_cache: Cache) -> None:
        def from_the_end(frontier: Frontier, *, workers: int, steps: int) -> list[Assignment]:
            last = sorted((region.grid for region in frontier.open), key=lambda grid: -grid.start_s)
            return [Assignment(grid, "dfs", steps) for grid in last[:workers]]

        question = of_category(long_world, "S2A")
        result = run(long_world, question, shared_cache, traversal=from_the_end, budget=Budget(calls=500))
        assert result.is_right and result.settings["traversal"] == "from_the_end"
        starts = [report["interval_s"][0] for report in result.trace.of("report")]
        assert starts == sorted(starts, reverse=True)

    @pytest.mark.parametrize(
        ("sentence", "sorties"),
        [
            ("at most 2 workers, and sent 3", lambda cells: [Assignment(c, "dfs", 5) for c in cells[:3]]),
            ("different regions", lambda cells: [Assignment(cells[0], "dfs", 5)] * 2),
            ("regions of frontier.open", lambda cells: [Assignment(Grid(0.0, 36_000.0, 8), "dfs", 5)]),
            ("a list of sorties", lambda cells: cells),
            ("a list of sorties", lambda cells: None),
        ],
    )
    def test_one_that_breaks_its_terms_is_told(
        self, long_world: World, shared_cache: Cache, sentence: str, sorties: Any
    ) -> None:
        def careless(frontier: Frontier, *, workers: int, steps: int) -> list[Assignment]:
            return sorties([region.grid for region in frontier.open])  # type: ignore[no-any-return]

        with pytest.raises(InputError, match=f"careless.*{sentence}"):
            run(long_world, of_category(long_world, "S2A"), shared_cache, traversal=careless, workers=2)

    def test_the_one_in_the_docs_runs_as_written(self, in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
        page = (ROOT / "docs" / "strategies.md").read_text(encoding="utf-8")
        (code,) = re.findall(r"```python\n(.*?)```", page, re.S)
        names: dict[str, Any] = {}
        exec(code, names)
        assert names["result"].is_right and names["result"].settings["traversal"] == "from_the_end"
        assert "answer" in capsys.readouterr().out

    def test_what_is_no_sortie_and_what_is_no_strategy(self, long_world: World, shared_cache: Cache) -> None:
        for wrong in ((CELL, "DFS", 3), (CELL, "dfs", 0), (CELL, "dfs", 2.0), (CELL, "dfs", True), (None, "dfs", 2)):
            with pytest.raises(InputError, match="sortie"):
                Assignment(*wrong)  # type: ignore[arg-type]
        for strategy in (beam, Assignment, lambda frontier: [], ["dfs"], 3, None):
            with pytest.raises(InputError, match=r"strategy is called as|traversal is"):
                run(long_world, of_category(long_world, "S2A"), shared_cache, traversal=strategy)

    def test_an_unknown_name_is_told(self, long_world: World, shared_cache: Cache) -> None:
        with pytest.raises(InputError, match="'auto', 'dfs', 'bfs', 'beam', or a function.*'mcts'"):
            run(long_world, of_category(long_world, "S2A"), shared_cache, traversal="mcts")
        assert set(STRATEGIES) | {"auto"} == set(TRAVERSALS)


def test_calls_grow_little_with_duration(tmp_path: Path, shared_cache: Cache) -> None:
    """The issue's figure: the same questions of ten hours: at least 95 % right, less than 2.5× the calls."""
    calls, right, asked = {600: 0, 36_000: 0}, 0, 0
    for seed in range(3):
        for duration_s in calls:
            world = atlasworld(
                seed, duration_s, questions=16, categories=CATEGORIES, size=(128, 72), clip_s=75, directory=tmp_path
            )
            for question in world.questions:
                result = run(world, question, shared_cache)
                calls[duration_s] += result.total.calls
                asked += duration_s == 36_000
                right += bool(result.is_right) and duration_s == 36_000
    print(f"right {right} of {asked} at ten hours; calls grew {calls[36_000] / calls[600]:.2f} times")
    assert asked == 48 and right >= 0.95 * asked
    assert calls[36_000] < 2.5 * calls[600]


def test_the_time_of_answers_does_not_matter_with_many_workers(long_world: World, tmp_path: Path) -> None:
    """Promise 8, on ten hours, with regions of all depths under way."""
    question = of_category(long_world, "SUM")
    for traversal in ("dfs", "bfs"):
        results = [
            run(
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


def test_a_model_is_shown_the_surest_evidence_where_there_is_too_much(
    world: World, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sheet has no end, and a prompt has."""
    monkeypatch.setattr("atlaskit.agents.master.MOST_SHOWN", 64)
    monkeypatch.setattr("atlaskit.runs.replay.MOST_SHOWN", 64)
    sheets: list[int] = []

    def keep_everything(request: Request, answer: dict[str, Any]) -> dict[str, Any]:
        cells = request.facts.observation.legal.add[:8]  # type: ignore[attr-defined]
        items = [{"cell": cell, "description": "this too", "confidence": cell / 64} for cell in cells]
        return {"thought": "", "action": {"action": "add_to_scratchpad", "items": items}}

    class Hoards(Overruled):
        def complete(self, request: Request, **control: Unpack[CallControl]):  # type: ignore[no-untyped-def]
            if request.step == "decision":
                sheets.append(len(request.facts.sheet.scratchpad))  # type: ignore[attr-defined]
            return super().complete(request, **control)

    question = of_category(world, "S2A")
    result = run(world, question, cache, Hoards(Babbler(1), step=keep_everything), min_rounds=3, max_rounds=3, steps=8)
    assert len(result.evidence) > 64 == sheets[0]
    assert len(result.sheet.scratchpad) == len(result.evidence), "but the result has all of it"
    list(replay.pictures(result.trace, world.drawn, cache))


class TestAFailureCostsACallAndNoMore:
    def failing(self, world: World, step: str, *numbers: int, error: type[ModelError] = ModelError) -> Oracle:
        """Return an oracle whose calls of a kind fail, those with these numbers."""
        seen: list[Request] = []

        class Fails(Oracle):
            def complete(self, request: Request, **control: Unpack[CallControl]):  # type: ignore[no-untyped-def]
                if request.step == step:
                    seen.append(request)
                    if len(seen) in numbers:
                        raise error("no")
                return super().complete(request, **control)

        return Fails(world)

    def test_without_a_task_the_question_is_the_task(self, long_world: World, cache: Cache) -> None:
        result = run(long_world, of_category(long_world, "SSS"), cache, self.failing(long_world, "task", 1))
        assert result.is_right and result.stop == "sufficient" and result.trace.of("task") == ()

    def test_without_a_probe_the_scores_are_as_they_were(self, long_world: World, cache: Cache) -> None:
        question = of_category(long_world, "SSS")
        for number in (1, 2):
            model = self.failing(long_world, "probe", number)
            result = run(long_world, question, cache, model, look_ahead=False, workers=1, budget=Budget())
            assert result.is_right and result.stop == "sufficient"
            cache = Cache(cache.directory / str(number))

    def test_a_failed_review_is_made_again(self, long_world: World, cache: Cache) -> None:
        for category in ("S2A", "WHEN", "SSS"):
            model = self.failing(long_world, "review", 1)
            result = run(long_world, of_category(long_world, category), cache, model, traversal="dfs")
            assert result.stop == "sufficient" and result.rounds == 2 and len(result.trace.of("review")) == 1

    def test_who_never_answers_the_master_ends_the_run(self, long_world: World, cache: Cache) -> None:
        for step in ("probe", "task"):
            model = self.failing(long_world, step, *range(1, 99))
            fresh = Cache(cache.directory / step)
            result = run(long_world, of_category(long_world, "SSS"), fresh, model, look_ahead=False)
            assert (result.stop == "model") == (step == "probe") and len(result.trace.of("failure")) in (1, 3)
        model = self.failing(long_world, "probe", 1, error=Unreachable)
        assert run(long_world, of_category(long_world, "S2A"), cache, model).stop == "model"

    def test_regions_that_are_refused_do_not_end_it(self, long_world: World, cache: Cache) -> None:
        question = of_category(long_world, "SSS")
        regions = sorted({event.start_s // 562.5 for event in long_world.targets(question)})[:3]

        class Filtered(Oracle):
            def complete(self, request: Request, **control: Unpack[CallControl]):  # type: ignore[no-untyped-def]
                if request.step == "step" and request.facts.observation.state.region.path[0] in regions:  # type: ignore[attr-defined]
                    raise Refused("content filter")
                return super().complete(request, **control)

        result = run(long_world, question, cache, Filtered(long_world), workers=1, budget=Budget(calls=90))
        assert result.stop in ("calls", "explored") and result.stops.worker["failed"] == 2 * len(regions)


def test_what_is_ruled_out_is_no_evidence(long_world: World, shared_cache: Cache) -> None:
    """Not even in a cell that is dead only in part, whose frame lies in the dead part."""
    atlas = Atlas(long_world.drawn, 8, 32, cache=shared_cache)
    cell = atlas.root.cells[5]
    zones = DeadZones().add(cell.start_s, cell.midpoint_s + 1)
    state = atlas.start(dead_zones=zones)
    legal = atlas.observe(state).legal
    assert 5 in legal.expand and 5 not in legal.add and 4 in legal.add
    with pytest.raises(IllegalAction):
        atlas.act(state, AddToScratchpad((Claim(5, "seen"),)))


def test_what_a_worker_saw_closely_is_noted_for_its_next_view(long_world: World, cache: Cache) -> None:
    heard: list[Request] = []

    def look_then_open(request: Request, answer: dict[str, Any]) -> dict[str, Any]:
        heard.append(request)
        legal, done = request.facts.observation.legal, len(request.facts.actions)  # type: ignore[attr-defined]
        if done == 0:
            return {"thought": "I look.", "action": {"action": "zoom", "cell": legal.zoom[0]}}
        if done == 1 and legal.expand:
            return {"thought": "The sign reads EXIT 7.", "action": {"action": "expand", "cell": legal.expand[0]}}
        return {"thought": "", "action": {"action": "finished"}}

    model = Overruled(Oracle(long_world), step=look_then_open)
    run(long_world, of_category(long_world, "S2A"), cache, model, traversal="dfs", workers=1, max_rounds=1)
    told = "\n".join(part for message in heard[2].messages for part in message.parts if isinstance(part, str))
    assert "looked closely at" in told and "EXIT 7" in told


@pytest.mark.parametrize(
    ("sentence", "options"),
    [
        ("workers is a whole number", {"workers": 2.5}),
        ("workers is a whole number", {"workers": "4"}),
        ("workers is a whole number", {"workers": True}),
        ("steps is a whole number", {"steps": 2.5}),
        ("threads is a whole number", {"threads": float("nan")}),
        ("min_rounds is a whole number", {"min_rounds": None}),
        ("max_rounds is a whole number", {"max_rounds": float("inf")}),
        ("min_rounds is at most max_rounds, which is 2", {"min_rounds": 3, "max_rounds": 2}),
        ("plateau is a whole number", {"plateau": "4"}),
        ("budget is an ak.Budget", {"budget": 200}),
        ("budget is an ak.Budget", {"budget": None}),
        ("leave `choices` and `kind` out", {"kind": "open"}),
        ("leave `choices` and `kind` out", {"choices": ["a", "b"]}),
    ],
)
def test_what_cannot_be_asked_is_told(
    long_world: World, shared_cache: Cache, sentence: str, options: dict[str, Any]
) -> None:
    with pytest.raises(InputError, match=sentence):
        run(long_world, of_category(long_world, "S2A"), shared_cache, **options)


@pytest.mark.parametrize(
    ("sentence", "question", "choices", "kind"),
    [
        ("list of texts", "What?", "abc", None),
        ("list of texts", "What?", {"a", "b"}, None),
        ("are texts", "What?", [1, 2], None),
        ("are texts", "What?", ["a", None], None),
        ("are texts", None, ["a", "b"], None),
        ("at least two choices", "What?", [], "choice"),
        ("leave them out", "What?", ["a", "b"], "count"),
        ("of kind choice", "What?", None, "why"),
    ],
)
def test_what_is_no_question_is_told(
    long_world: World, shared_cache: Cache, sentence: str, question: Any, choices: Any, kind: Any
) -> None:
    with pytest.raises(InputError, match=sentence):
        ask(long_world.drawn, question, choices, kind=kind, vlm=Oracle(long_world), cache=shared_cache)


def test_a_result_shares_nothing_with_the_next_run(long_world: World, shared_cache: Cache) -> None:
    result = run(long_world, of_category(long_world, "S2A"), shared_cache)
    result.settings["budget"]["calls"] = 3
    assert run(long_world, of_category(long_world, "S2A"), shared_cache).stop == "sufficient"
