"""`votes`, `within` and probes ahead refine a search and leave its promises as they are."""

import threading
from typing import Any, Unpack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.invariants import check_all
from support.searches import of_category, search

from atlaskit.agents.budget import Budget
from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError
from atlaskit.models.protocol import CallControl, Reply, Request
from atlaskit.runs.result import Result
from atlasworld import Oracle, World


class Wavering(Oracle):
    """Decides rightly or wrongly by the number of the sample; only decisions are voted on."""

    def __init__(self, world: World, wrong: set[int]) -> None:
        super().__init__(world)
        self.wrong, self.asked = wrong, list[int]()

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        if request.step != "decision":
            assert request.sample == 0
            return super().complete(request, **control)
        self.asked.append(request.sample)
        return Oracle(self.world, confuse=float(request.sample in self.wrong)).complete(request)


def vote(world: World, wrong: set[int], votes: int, **options: Any) -> tuple[Result, list[int]]:
    """Return a run with votes, and the samples that were asked for."""
    model = Wavering(world, wrong)
    result = search(world, of_category(world, "WHEN"), Cache(None), model, votes=votes, **options)
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


def test_a_budget_bounds_the_votes(long_world: World) -> None:
    for calls in range(4, 11):
        result, asked = vote(long_world, {0, 2, 4}, 5, budget=Budget(calls=calls))
        assert result.total.calls <= calls and asked
    for spent in (Budget(tokens=1), Budget(effective_tokens=1)):
        result, asked = vote(long_world, {0, 2, 4}, 5, budget=spent)
        assert asked == [0] and not result.trace.of("vote") and result.prediction is not None


def test_a_search_within_finds_what_lies_there_in_times_of_the_whole(small_world: World) -> None:
    question = of_category(small_world, "T2O")
    (first, *_) = search(small_world, question, Cache(None), k=4).evidence
    within = max(0.0, first.timestamp_s - 40), first.timestamp_s + 20
    part = search(small_world, question, Cache(None), k=4, within=within)
    assert part.is_right and part.within == within
    assert all(within[0] <= item.timestamp_s < within[1] for item in part.evidence)
    assert any(abs(item.timestamp_s - first.timestamp_s) < 10 for item in part.evidence)
    check_all(part)


@settings(max_examples=15, deadline=None)
@given(st.floats(0, 590), st.floats(2, 600), st.sampled_from([0.0, 0.3]))
def test_nothing_outside_is_opened(small_world: World, start_s: float, span_s: float, error_rate: float) -> None:
    end_s = min(small_world.drawn.duration_s, start_s + span_s)
    question, oracle = of_category(small_world, "T2O"), Oracle(small_world, error_rate)
    result = search(small_world, question, Cache(None), oracle, k=4, within=(start_s, end_s))
    for event in (*result.trace.of("step"), *result.trace.of("report")):
        assert start_s <= event.interval_s[0] + 1e-6 and event.interval_s[1] <= end_s + 1e-6
    assert all(start_s <= item.timestamp_s <= end_s for item in result.evidence)
    assert 0 <= result.explored <= 1


@pytest.mark.parametrize("within", [(5.0, 5.0), (-1.0, 5.0), (0.0, 601.0), (float("nan"), 5.0), ("a", "b"), (1.0,), 7])
def test_an_interval_that_the_video_lacks_is_refused(small_world: World, within: object) -> None:
    with pytest.raises(InputError, match=r"^within "):
        search(small_world, small_world.questions[0], Cache(None), within=within)


class TestLookAhead:
    def test_the_next_probe_runs_beside_the_workers(self, long_world: World, cache: Cache) -> None:
        """Each waits until the other has begun, so without overlap this test would time out."""
        barrier, has_met, probes = threading.Barrier(2), threading.Event(), list[Request]()

        class Overlapping(Oracle):
            def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
                if request.step == "probe":
                    probes.append(request)
                is_second_probe = request.step == "probe" and len(probes) == 2
                is_first_step = request.step == "step" and not has_met.is_set()
                if is_second_probe or is_first_step:
                    barrier.wait(60)
                    has_met.set()
                return super().complete(request, **control)

        question = of_category(long_world, "S2A")
        result = search(long_world, question, cache, Overlapping(long_world), workers=1, min_rounds=2)
        assert has_met.is_set() and [event.ahead for event in result.trace.of("probe")][:2] == [False, True]

    def test_it_happens_only_with_ample_budget(self, long_world: World, shared_cache: Cache) -> None:
        question, oracle = of_category(long_world, "SSS"), Oracle(long_world, 0.6)
        for options in ({"look_ahead": False}, {"budget": Budget(tokens=10**6)}, {"budget": Budget(calls=15)}):
            result = search(long_world, question, shared_cache, oracle, max_rounds=3, **options)
            assert not any(event.ahead for event in result.trace.of("probe"))
            assert len(result.trace.of("probe")) == result.rounds
        last = search(long_world, question, shared_cache, oracle, max_rounds=2)
        ahead = [event.ahead for event in last.trace.of("probe")]
        assert ahead == [False, True], "no probe for a round that cannot follow"
