"""What refines a search: `votes`, `second_look`, `within`, `thrift`, and probes that look ahead."""

import threading
from collections.abc import Mapping
from typing import Any, Unpack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.asking import ask
from support.invariants import check_all, check_memory, check_search
from support.model_doubles import Babbler, Counting, Overruled
from support.searches import of_category, search
from support.stand_ins import CHOICE, Flat

from atlaskit.agents.budget import Budget
from atlaskit.agents.settings import MEASURES, Search, resolve_search
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.benchmarks.atlasworld.questions import WRITERS
from atlaskit.caching.cache import Cache
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.grid import Grid
from atlaskit.environment.question import Question
from atlaskit.errors import InputError
from atlaskit.models.protocol import CallControl, Reply, Request
from atlaskit.runs import replay
from atlaskit.runs.result import Result
from atlaskit.viz.walk.regions import regions
from atlaskit.viz.walk.source import open_run


class Wavering(Oracle):
    """Decides rightly or wrongly by the number of the sample."""

    def __init__(self, world: World, wrong: set[int]) -> None:
        super().__init__(world)
        self.wrong, self.asked = wrong, list[int]()

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        if request.step != "decision":
            assert request.sample == 0 or request.sample in self.base, "only decisions are voted on"
            return super().complete(request, **control)
        self.asked.append(request.sample)
        oracle = Oracle(self.world, confuse=1.0) if request.sample in self.wrong else Oracle(self.world)
        return oracle.complete(request)

    base: tuple[int, ...] = ()


def vote(world: World, wrong: set[int], votes: int, category: str = "WHEN", **options: Any) -> tuple[Result, list[int]]:
    model = Wavering(world, wrong)
    model.base = (options.get("sample", 0),)
    result = search(world, of_category(world, category), Cache(None), model, votes=votes, **options)
    return result, model.asked


def test_the_majority_counts_and_no_vote_is_asked_for_in_vain(long_world: World) -> None:
    assert [vote(long_world, {0}, votes)[0].is_right for votes in (1, 2, 3, 5)] == [False, False, True, True]
    assert vote(long_world, set(), 3)[1] == [0, 1], "two of three agree"
    assert vote(long_world, {0}, 3)[1] == [0, 1, 2]
    assert vote(long_world, {1, 2}, 5)[1] == [0, 1, 2, 3, 4]


def test_each_vote_is_recorded_and_charged(long_world: World) -> None:
    result, _ = vote(long_world, {0}, 3)
    kinds = [event.kind for event in result.trace if event.kind in ("vote", "decision")]
    assert kinds == ["vote", "vote", "decision"] and result.settings["votes"] == 3
    assert result.trace.of("decision")[0].answer["reasoning"] == result.reasoning
    check_all(result)
    plain, _ = vote(long_world, set(), 1)
    assert "votes" not in plain.settings and not plain.trace.of("vote")


def test_a_budget_of_calls_bounds_the_votes(long_world: World) -> None:
    for calls in (4, 5, 6, 7, 8, 9, 10):
        result, asked = vote(long_world, {0, 2, 4}, 5, budget=Budget(calls=calls))
        assert result.total.calls <= calls and asked


@pytest.mark.parametrize("limit", ["tokens", "effective_tokens"])
def test_no_further_vote_begins_when_the_tokens_are_spent(long_world: World, limit: str) -> None:
    result, asked = vote(long_world, {0, 2, 4}, 5, budget=Budget(**{limit: 1}))
    assert asked == [0] and not result.trace.of("vote") and result.prediction is not None


AGAIN: Mapping[str, Any] = {"second_look": True, "k": 4, "steps": 3}


class Nearsighted(Oracle):
    """Sees a wanted event only in a grid that is shifted, or in none."""

    sees_between = True

    def complete(self, request: Request, **control: Any) -> Any:
        observation = getattr(request.facts, "observation", None)
        is_shifted = observation is not None and observation.state.grid.shift
        blind = Oracle(self.world, 1.0, seed=self.seed)
        sees = request.step != "step" or (is_shifted and self.sees_between)
        return (Oracle(self.world) if sees and request.step != "probe" else blind).complete(request)


@pytest.fixture(scope="module")
def question(small_world: World) -> Question:
    return next(question for question in small_world.questions if question.category == "T2O")


@pytest.fixture(scope="module")
def found(small_world: World, question: Question) -> Result:
    return search(small_world, question, Cache(None), Nearsighted(small_world), **AGAIN)


def test_it_finds_what_lies_between_the_frames(small_world: World, question: Question, found: Result) -> None:
    once = search(small_world, question, Cache(None), Nearsighted(small_world), k=4)
    assert (once.stop, once.is_right) == ("explored", False)
    assert (found.stop, found.is_right) == ("sufficient", True)
    (reopened,) = found.trace.of("reopen")
    assert len(reopened.paths) == 16 and len(reopened.dead_zones_s) <= 1, "one grid was opened to the end at most"
    shifted = [event for event in found.trace.of("step") if event.view.shift]
    assert shifted and all(event.interval_s[0] % 37.5 for event in shifted), "cells of the root last 37.5 s"
    check_all(found)


@pytest.mark.parametrize("traversal", ["dfs", "bfs", "beam"])
def test_what_is_ruled_out_twice_stays_so(small_world: World, question: Question, traversal: str) -> None:
    class Blind(Nearsighted):
        sees_between = False

    result = search(small_world, question, Cache(None), Blind(small_world), traversal=traversal, **AGAIN)
    assert result.stop == "explored"
    assert len(result.trace.of("reopen")) == 1
    visits = [(s.path, s.shift) for e in result.trace.of("assign") for s in e.sorties]
    assert all(visits.count(visit) == 1 for visit in visits) and len(visits) >= 32
    check_memory(result)


def test_it_replays_and_draws_the_same(small_world: World, question: Question, found: Result) -> None:
    cache = Cache(None)
    first = search(small_world, question, cache, Nearsighted(small_world), **AGAIN)
    model = Counting(Nearsighted(small_world))
    again = search(small_world, question, cache, model, replay=True, **AGAIN)
    assert (again.to_json(), first.to_json(), model.calls) == (found.to_json(), found.to_json(), [])
    assert replay.memory(found.trace).dead_zones == found.dead_zones
    shown = [image for image in replay.pictures(found.trace, small_world.drawn, cache) if image.what == "view"]
    assert any(image.picture.grid.shift for image in shown)
    told = [region["told"] for region in regions(open_run(found))]
    assert any("between" in each for each in told)


@pytest.fixture(scope="module")
def moment_s(small_world: World, question: Question) -> float:
    """When the whole search finds its evidence."""
    return next(iter(search(small_world, question, Cache(None), k=4).evidence)).timestamp_s


@pytest.fixture(scope="module")
def part(small_world: World, question: Question, moment_s: float) -> Result:
    start_s = max(0.0, moment_s - 40)
    return search(small_world, question, Cache(None), k=4, within=(start_s, moment_s + 20))


def test_it_finds_what_lies_within_in_times_of_the_whole(part: Result, moment_s: float) -> None:
    assert part.is_right
    assert part.within == (max(0.0, moment_s - 40), moment_s + 20)
    assert all(part.within[0] <= item.timestamp_s < part.within[1] for item in part.evidence)
    assert any(abs(item.timestamp_s - moment_s) < 10 for item in part.evidence)
    check_all(part)


@settings(max_examples=15, deadline=None)
@given(st.tuples(st.floats(0, 590), st.floats(2, 600)), st.sampled_from([0.0, 0.3]))
def test_nothing_outside_is_opened_or_becomes_evidence(
    small_world: World, question: Question, times: tuple[float, float], error_rate: float
) -> None:
    start_s, end_s = times[0], min(small_world.drawn.duration_s, times[0] + times[1])
    oracle = Oracle(small_world, error_rate)
    result = search(small_world, question, Cache(None), oracle, k=4, within=(start_s, end_s), second_look=True)
    for event in (*result.trace.of("step"), *result.trace.of("report")):
        assert start_s <= event.interval_s[0] + 1e-6 and event.interval_s[1] <= end_s + 1e-6
    assert all(start_s <= item.timestamp_s <= end_s for item in result.evidence)
    assert 0 <= result.explored <= 1


@pytest.mark.parametrize(
    "within", [(5.0, 5.0), (9.0, 3.0), (-1.0, 5.0), (0.0, 601.0), (float("nan"), 5.0), ("a", "b"), (1.0,), 7]
)
def test_an_interval_that_the_video_lacks_is_refused(small_world: World, question: Question, within: object) -> None:
    with pytest.raises(InputError, match=r"^within "):
        ask(small_world.drawn, question, vlm=Oracle(small_world), cache=Cache(None), cell=32, within=within)  # type: ignore[arg-type]


def test_depth_counts_from_the_part(small_world: World) -> None:
    atlas = Atlas(small_world.drawn, k=4, cell=32, within=(100.0, 110.0))
    assert atlas.rules.max_depth == 0, "a cell of the root grid lasts 0.625 s"
    assert (atlas.root.start_s, atlas.root.end_s) == (100.0, 110.0)


def test_a_model_of_fixed_prompts_refuses_what_changes_them() -> None:
    model = Babbler()
    model.name = "nano@1f0c"
    with pytest.raises(InputError, match='nano@1f0c was taught prompts with .* without thrift "steps"'):
        resolve_search(Search(thrift=("steps", "probe")), model)
    assert resolve_search(Search(thrift=("probe",)), model).thrift == ("probe",)


@pytest.mark.family
@pytest.mark.parametrize("category", WRITERS)
def test_all_of_it_answers_every_category(long_world: World, shared_cache: Cache, category: str) -> None:
    question = of_category(long_world, category)
    off, on = (search(long_world, question, shared_cache, thrift=thrift) for thrift in ((), MEASURES))
    assert on.is_right and question.score(on.prediction) >= 0.99
    assert on.total.tokens < off.total.tokens
    check_all(on)


def test_the_reply_that_finds_it_ends_the_visit(long_world: World, shared_cache: Cache) -> None:
    oracle, question = Counting(Oracle(long_world)), of_category(long_world, "S2A")
    off, on = (
        search(long_world, question, shared_cache, oracle, thrift=thrift, traversal="dfs")
        for thrift in ((), ("steps",))
    )
    ending = [event for event in on.trace.of("step") if event.then]
    assert ending and all(event.then == "finished" for event in ending)
    assert {event.action.name for event in ending} == {"AddToScratchpad"}
    assert on.total.calls + len(ending) == off.total.calls
    assert [event.stop for event in on.trace.of("report")] == [event.stop for event in off.trace.of("report")]


def test_an_impossible_action_does_not_end_the_visit(cache: Cache) -> None:
    """The frame cannot be decoded, so the worker goes on, though it said that it would not."""

    def add(request: Request, answer: dict[str, Any]) -> dict[str, Any]:
        item = {"cell": 0, "description": "a thing", "confidence": 0.5}
        return {"thought": "", "action": {"action": "add_to_scratchpad", "items": [item], "finished": True}}

    first = Overruled(Babbler(1), probe=lambda request, answer: {**answer, "top": [{"cell": 0, "score": 1}]}, step=add)
    given_ = {"workers": 1, "k": 2, "cell": 64, "max_rounds": 1, "steps": 3, "thrift": ("steps",)}
    for broken, stop in (((0.0, 4.0), "plateau"), ((8.0, 9.0), "finished")):
        result = ask(Flat(broken=broken), CHOICE, vlm=first, cache=cache, **given_)
        (report,) = result.trace.of("report")
        assert report.stop == stop
        assert all(bool(event.problem) == (not event.then) for event in result.trace.of("step"))


def test_a_score_is_used_before_the_master_is_asked_again(long_world: World, shared_cache: Cache) -> None:
    oracle, question = Oracle(long_world, 0.5, seed=2), of_category(long_world, "SSS")
    off, on = (
        search(long_world, question, shared_cache, oracle, thrift=thrift, max_rounds=6, traversal="dfs")
        for thrift in ((), ("probe",))
    )
    assert any(event.ahead for event in off.trace.of("probe"))
    assert not any(event.ahead for event in on.trace.of("probe"))
    assert on.rounds > 2 and len(on.trace.of("probe")) < on.rounds
    check_search(on)


def covered(span: list[float]) -> list[int]:
    root = Grid(0.0, 36_000.0, 8)
    return [cell.index for cell in root.cells if span[0] <= cell.start_s and cell.end_s <= span[1]]


class TestLookAhead:
    def test_the_next_probe_runs_beside_the_workers(self, long_world: World, cache: Cache) -> None:
        """Each waits until the other has begun, so without overlap this test would time out."""
        barrier, has_met = threading.Barrier(2), threading.Event()

        class Overlapping(Oracle):
            def complete(self, request: Request, **control: Unpack[CallControl]):  # type: ignore[no-untyped-def]
                is_second_probe = request.step == "probe" and seen.append("probe") is None and len(seen) == 2
                is_first_step = request.step == "step" and not has_met.is_set()
                if is_second_probe or is_first_step:
                    barrier.wait(60)
                    has_met.set()
                return super().complete(request, **control)

        seen: list[str] = []
        question = of_category(long_world, "S2A")
        result = search(long_world, question, cache, Overlapping(long_world), workers=1, min_rounds=2)
        assert has_met.is_set() and [event.ahead for event in result.trace.of("probe")][:2] == [False, True]

    def test_it_does_not_offer_cells_being_explored(self, long_world: World, shared_cache: Cache) -> None:
        result = search(
            long_world, of_category(long_world, "SSS"), shared_cache, Oracle(long_world, 0.6), traversal="dfs"
        )
        events, ahead = list(result.trace), 0
        for place, event in enumerate(events):
            if event.kind == "probe" and event.ahead:
                ahead += 1
                sent = next(e for e in reversed(events[:place]) if e.kind == "assign")
                assert sent.round == event.round
                assert not {sortie.path[0] for sortie in sent.sorties} & set(event.offered)
                black = {cell for span in sent.dead_zones_s for cell in covered(span)}
                assert set(event.view.dead) == black, "it sees the same dead zones as the workers"
        assert ahead > 1 and ahead + 1 >= result.rounds > 2

    def test_it_happens_only_with_ample_budget(self, long_world: World, shared_cache: Cache) -> None:
        question, oracle = of_category(long_world, "SSS"), Oracle(long_world, 0.6)
        for options in ({"look_ahead": False}, {"budget": Budget(tokens=10**6)}, {"budget": Budget(calls=15)}):
            result = search(long_world, question, shared_cache, oracle, max_rounds=3, **options)
            assert not any(event.ahead for event in result.trace.of("probe"))
            assert len(result.trace.of("probe")) == result.rounds
        last = search(long_world, question, shared_cache, oracle, max_rounds=2)
        assert [event.ahead for event in last.trace.of("probe")] == [False, True], (
            "no probe for a round that cannot follow"
        )
