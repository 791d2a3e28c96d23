"""Promises 4, 7, 8, 9 and 10, with oracles and with models that answer nonsense."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.asking import ask
from support.invariants import check_all, check_grounded, check_search
from support.model_doubles import Babbler, Counting, Flaky, Overruled, Slow, names_nothing
from support.searches import of_category, search, search_small
from support.stand_ins import CHOICE

import atlasworld as aw
from atlaskit.agents.budget import Budget
from atlaskit.caching.cache import Cache
from atlaskit.environment.question import Question
from atlaskit.models.prices import Prices
from atlaskit.runs.events import Event
from atlasworld import Oracle, World

KINDS = ("open", "when", "count", "summary")
SEARCHES = st.fixed_dictionaries(
    {"workers": st.integers(1, 16), "traversal": st.sampled_from(["auto", "dfs", "bfs", "beam", "looks"])},
    optional={
        "votes": st.integers(2, 4),
        "scouts": st.just(("words",)),
        "look_ahead": st.booleans(),
    },
)
LIMITS = {"calls": st.integers(1, 60), "tokens": st.integers(1, 80_000), "effective_tokens": st.integers(1, 80_000)}
BUDGETS = st.fixed_dictionaries({}, optional=LIMITS).map(lambda given: Budget(**given or {"calls": 60}))
BUDGETS |= st.floats(0.001, 0.1).map(lambda usd: Budget(usd=usd, prices=Prices(prompt=1, completion=5)))
QUESTIONS = st.sampled_from([CHOICE, *(Question("What about it?", kind=kind) for kind in KINDS)])


def test_a_replay_makes_no_calls_decodes_nothing_and_has_the_same_bytes(film: World, cache: Cache) -> None:
    """Promise 7: replay. Every event is emitted as it happens."""
    question = film.questions[0]
    emitted = list[Event]()
    first = ask(film.video, question, vlm=Oracle(film), cache=cache, cell=64, on_event=emitted.append)
    assert sorted(event.kind for event in emitted) == sorted(event.kind for event in first.trace)
    assert first.spent.calls == first.total.calls > 0
    sheet = first.sheet.jpeg()
    again_film = aw.world(seed=3, duration_s=120, questions=12, size=(320, 180), directory=film.directory.parent)
    model = Counting(Oracle(again_film))
    second = ask(again_film.video, question, vlm=model, cache=cache, cell=64)
    assert second.to_json() == first.to_json()
    assert second.sheet.jpeg() == sheet
    assert (model.calls, again_film.video.frames_decoded) == ([], 0)
    assert (second.spent.calls, second.spent.tokens, second.spent.frames_decoded) == (0, 0, 0)


@settings(max_examples=20)
@given(st.integers(0, 10**6), QUESTIONS, SEARCHES)
def test_the_result_does_not_depend_on_threads_or_timing(
    small_world: World, seed: int, question: Question, options: dict[str, Any]
) -> None:
    """Promise 8, with a model that answers nonsense after random delays."""
    options |= {"steps": 4, "max_depth": 3, "budget": Budget(calls=40)}
    models = Babbler(seed), Slow(Babbler(seed), seed), Slow(Babbler(seed), seed + 1)
    runs = [
        search_small(small_world, question, model, Cache(None), threads=threads, **options)
        for model, threads in zip(models, (1, options["workers"], 3), strict=True)
    ]
    assert len({result.to_json() for result in runs}) == 1


ERRORS = st.sampled_from([0.0, 0.2, 0.6])


@settings(max_examples=15)
@given(st.data(), ERRORS, ERRORS, st.integers(0, 10**6), SEARCHES)
def test_promises_hold_with_weak_oracles(
    small_world: World, data: st.DataObject, miss: float, confuse: float, seed: int, options: dict[str, Any]
) -> None:
    """Promises 4, 8 and 10, with sensible answers, so that the search makes progress."""
    question = data.draw(st.sampled_from(small_world.questions))
    oracle, budget = Oracle(small_world, miss, confuse, seed), Budget(calls=60)
    first, other = (
        search_small(small_world, question, model, Cache(None), budget=budget, **options)
        for model in (oracle, Slow(oracle, seed))
    )
    assert first.to_json() == other.to_json()
    check_all(first, budget)


@settings(max_examples=40)
@given(st.integers(0, 10**6), BUDGETS, ERRORS, st.integers(0, 3), st.integers(1, 4), QUESTIONS, SEARCHES)
def test_promises_hold_whatever_a_model_answers(
    small_world: World,
    seed: int,
    budget: Budget,
    rate: float,
    max_depth: int,
    min_rounds: int,
    question: Question,
    options: dict[str, Any],
) -> None:
    """Promises 4, 9 and 10, with nonsense, failures and any budget."""
    model = Flaky(Babbler(seed), rate, seed, ("step", "review", "probe"))
    options |= {"max_depth": max_depth, "min_rounds": min_rounds, "steps": 5, "max_rounds": 6}
    result = search_small(small_world, question, model, Cache(None), budget=budget, **options)
    check_all(result, budget, options["workers"])
    if model.failed == 0 and budget.tokens is budget.effective_tokens is budget.usd is None:
        assert result.prediction is not None, "a call is always reserved for the decision"
    rounds = result.rounds + (result.settings["traversal"] == "looks")  # its plan counts
    assert result.stop != "sufficient" or rounds >= min_rounds


def test_a_probe_that_names_no_cell_ranks_all_equally(world: World, cache: Cache) -> None:
    """Naming no cell is a valid reply, so the probe is not repeated."""
    nothing = Overruled(
        Babbler(3),
        task=lambda request, answer: {**answer, "traversal": "dfs"},
        probe=lambda request, answer: {**answer, "top": []},
        review=names_nothing,
    )
    options = {"workers": 2, "look_ahead": False, "min_rounds": 2, "max_rounds": 2}
    result = search_small(world, CHOICE, nothing, cache, fit="contain", **options)  # other images draw other replies
    assert [event.scores for event in result.trace.of("probe")] == [{}, {}]
    sent = [sortie.path for event in result.trace.of("assign") for sortie in event.sorties]
    assert sent == [(0,), (15,), (1,), (14,)], "far from each other, because of virtual loss"
    assert len(result.trace.of("failure")) == 0
    check_search(result)


def test_depth_zero_answers_from_the_root_grid(world: World, cache: Cache) -> None:
    result = search_small(world, CHOICE, Babbler(4), cache, max_depth=0)
    assert (result.stop, result.rounds, result.total.calls) == ("depth", 0, 1)
    assert [event.kind for event in result.trace] == ["start", "decision", "cite", "stop"]
    check_grounded(result)


def test_dead_zones_are_visible_to_all_agents_and_offered_to_none(world: World, cache: Cache) -> None:
    result = search(world, of_category(world, "COUNT"), cache, Oracle(world, miss=0.5), cell=48, max_rounds=4)
    assert result.rounds == 4 and result.stops.overall == "rounds"
    dead = [span for event in result.trace.of("report") for span in event.dead_s]
    assert dead and result.dead_zones.coverage(0, 600) == pytest.approx(sum(b - a for a, b in dead) / 600)
    check_search(result)
    for event in result.trace.of("probe"):
        black = event.view.dead
        assert not set(event.offered) & set(black) and set(event.offered) >= set(event.scores)
    known = [event.dead_zones_s for event in result.trace.of("assign")]
    assert () in known and known[-1] != (), "workers know the dead zones of earlier visits"
