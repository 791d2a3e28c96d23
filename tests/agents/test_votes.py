"""`votes`: the decision that most agree with."""

from __future__ import annotations

from typing import Any, Unpack

import pytest
from support.searches import of_category, search

from atlaskit.agents.budget import Budget
from atlaskit.agents.master import agree
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.environment.question import Question
from atlaskit.models.protocol import CallControl, Reply, Request
from atlaskit.runs.events import Call, Failure
from atlaskit.runs.result import Result


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
    calls = sum(event.usage.calls for event in result.trace if isinstance(event, Call | Failure))
    assert result.total.calls == calls
    plain, _ = vote(long_world, set(), 1)
    assert "votes" not in plain.settings and not plain.trace.of("vote")


def test_the_samples_of_runs_with_votes_do_not_overlap(long_world: World) -> None:
    assert vote(long_world, {6}, 3, sample=2)[1] == [6, 7, 8]


def test_a_budget_of_calls_bounds_the_votes(long_world: World) -> None:
    for calls in (4, 5, 6, 7, 8, 9, 10):
        result, asked = vote(long_world, {0, 2, 4}, 5, budget=Budget(calls=calls))
        assert result.total.calls <= calls and asked


@pytest.mark.parametrize("limit", ["tokens", "effective_tokens"])
def test_no_further_vote_begins_when_the_tokens_are_spent(long_world: World, limit: str) -> None:
    result, asked = vote(long_world, {0, 2, 4}, 5, budget=Budget(**{limit: 1}))
    assert asked == [0] and not result.trace.of("vote") and result.prediction is not None


def test_answers_agree_by_what_they_mean() -> None:
    when, several = Question("When?", kind="when"), Question("When?", kind="when", several=True)
    assert agree(when, (10.0, 20.0), (11.0, 21.0)) and not agree(when, (10.0, 20.0), (16.0, 26.0))
    assert agree(several, ((1.0, 2.0), (5.0, 6.0)), ((1.0, 2.1), (5.0, 6.0)))
    assert not agree(several, ((1.0, 2.0),), ((1.0, 2.0), (5.0, 9.0)))
    what = Question("What?", kind="open")
    assert agree(what, "A red  circle", "a red circle") and not agree(what, "a", "b")
    assert agree(Question("How many?", kind="count"), 3, 3) and not agree(Question("Which?", ("a", "b")), 0, 1)
