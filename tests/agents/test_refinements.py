"""`votes`, `within` and probes refine a search and leave its promises as they are."""

import threading
from typing import Any, Unpack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.asking import ask
from support.invariants import check_all
from support.model_doubles import Babbler
from support.searches import of_category, search

from atlaskit.agents.budget import Budget
from atlaskit.agents.settings import Search, resolve_search
from atlaskit.caching.cache import Cache
from atlaskit.environment.grid import Grid
from atlaskit.environment.question import Question
from atlaskit.errors import InputError
from atlaskit.models.names import Preset
from atlaskit.models.protocol import CallControl, Reply, Request
from atlaskit.runs.result import Result
from atlasworld import Oracle, World


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


@pytest.fixture(scope="module")
def question(small_world: World) -> Question:
    return next(question for question in small_world.questions if question.category == "T2O")


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
    result = search(small_world, question, Cache(None), oracle, k=4, within=(start_s, end_s))
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


def test_a_model_of_fixed_prompts_refuses_what_changes_them() -> None:
    model = Babbler()
    model.name = "taught@1f0c"
    model.preset = Preset(words=lambda call: call.request())
    for settings_ in (Search(cells="full"), Search(traversal="looks")):
        with pytest.raises(InputError, match="taught@1f0c was taught prompts with .* and no others"):
            resolve_search(settings_, model)


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
