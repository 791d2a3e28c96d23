"""Promises 4, 7, 8, 9 and 10, with oracles and with models that answer nonsense."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.asking import ask
from support.invariants import check_all, check_grounded, check_search
from support.model_doubles import Babbler, Counting, Flaky, Overruled, Slow, names_nothing
from support.searches import CHOICE, search_small

from atlaskit.agents.budget import Budget
from atlaskit.agents.settings import MEASURES
from atlaskit.benchmarks.atlasworld import Oracle, World, atlasworld
from atlaskit.caching.cache import Cache
from atlaskit.environment.question import Question
from atlaskit.models.prices import Prices
from atlaskit.runs.trace import Trace

KINDS = ("open", "when", "count", "summary")
REFINED = st.fixed_dictionaries(
    {},
    optional={
        "second_look": st.sampled_from([True, "salient"]),
        "votes": st.integers(2, 4),
        "scouts": st.just(("words",)),
        "thrift": st.lists(st.sampled_from(MEASURES), min_size=1, unique=True).map(tuple),
    },
)
"""What a search can be refined by."""
QUESTIONS = st.sampled_from([CHOICE, *(Question("What about it?", kind=kind) for kind in KINDS)])


def test_a_replay_makes_no_calls_decodes_nothing_and_has_the_same_bytes(film: World, cache: Cache) -> None:
    """Promise 7: replay."""
    question = film.questions[0]
    first = ask(film.video, question, vlm=Oracle(film), cache=cache, cell=64)
    sheet = first.sheet.jpeg()
    again_film = atlasworld(seed=3, duration_s=120, questions=12, size=(320, 180), directory=film.directory.parent)
    model, video = Counting(Oracle(again_film)), again_film.video
    second = ask(video, question, vlm=model, cache=cache, cell=64)
    assert second.to_json() == first.to_json()
    assert second.sheet.jpeg() == sheet
    assert (model.calls, video.frames_decoded) == ([], 0)
    assert (second.spent.calls, second.spent.tokens, second.spent.frames_decoded) == (0, 0, 0)
    assert first.spent.calls == first.total.calls > 0


@settings(max_examples=20)
@given(
    seed=st.integers(0, 10**6),
    workers=st.integers(1, 16),
    question=QUESTIONS,
    traversal=st.sampled_from(["auto", "dfs", "bfs", "beam"]),
    look_ahead=st.booleans(),
    refined=REFINED,
)
def test_the_result_does_not_depend_on_threads_or_timing(
    small_world: World,
    seed: int,
    workers: int,
    question: Question,
    traversal: str,
    look_ahead: bool,
    refined: dict[str, Any],
) -> None:
    """Promise 8, with a model that answers nonsense after random delays."""
    options = {"workers": workers, "traversal": traversal, "look_ahead": look_ahead, "steps": 4, "max_depth": 3}
    options |= refined
    runs = [
        search_small(small_world, question, model, Cache(None), threads=threads, budget=Budget(calls=40), **options)
        for model, threads in (
            (Babbler(seed), 1),
            (Slow(Babbler(seed), seed), workers),
            (Slow(Babbler(seed), seed + 1), 3),
        )
    ]
    assert len({result.to_json() for result in runs}) == 1


@settings(max_examples=15)
@given(
    data=st.data(),
    workers=st.integers(1, 16),
    miss=st.sampled_from([0.0, 0.2, 0.6]),
    confuse=st.sampled_from([0.0, 0.2, 0.6]),
    seed=st.integers(0, 10**6),
    traversal=st.sampled_from(["auto", "dfs", "bfs", "beam"]),
    refined=REFINED,
)
def test_promises_hold_with_weak_oracles(
    small_world: World,
    data: st.DataObject,
    workers: int,
    miss: float,
    confuse: float,
    seed: int,
    traversal: str,
    refined: dict[str, Any],
) -> None:
    """Promises 4, 8 and 10, with sensible answers, so that the search makes progress."""
    question = data.draw(st.sampled_from(small_world.questions))
    oracle, budget = Oracle(small_world, miss, confuse, seed), Budget(calls=60)
    options = {"workers": workers, "traversal": traversal, "budget": budget, **refined}
    runs = [
        search_small(small_world, question, model, Cache(None), **options) for model in (oracle, Slow(oracle, seed))
    ]
    assert runs[0].to_json() == runs[1].to_json()
    check_all(runs[0], budget)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    calls=st.one_of(st.none(), st.integers(1, 60)),
    tokens=st.one_of(st.none(), st.integers(1, 80_000)),
    effective_tokens=st.one_of(st.none(), st.integers(1, 80_000)),
    usd=st.one_of(st.none(), st.floats(0.001, 0.1)),
    rate=st.sampled_from([0.0, 0.2, 0.6]),
    workers=st.integers(1, 16),
    depth=st.integers(0, 3),
    question=QUESTIONS,
    traversal=st.sampled_from(["auto", "dfs", "bfs", "beam"]),
    min_rounds=st.integers(1, 4),
    refined=REFINED,
)
def test_promises_hold_whatever_a_model_answers(
    small_world: World,
    seed: int,
    calls: int | None,
    tokens: int | None,
    effective_tokens: int | None,
    usd: float | None,
    rate: float,
    workers: int,
    depth: int,
    question: Question,
    traversal: str,
    min_rounds: int,
    refined: dict[str, Any],
) -> None:
    """Promises 4, 9 and 10, with nonsense, failures and any budget."""
    is_limited = calls or tokens or effective_tokens or usd
    budget = Budget(
        calls=calls if is_limited else 60,
        tokens=tokens,
        effective_tokens=effective_tokens,
        usd=usd,
        prices=usd and Prices(prompt=1, completion=5),
    )
    model = Flaky(Babbler(seed), rate, seed, ("step", "review", "probe"))
    result = search_small(
        small_world,
        question,
        model,
        Cache(None),
        workers=workers,
        max_depth=depth,
        budget=budget,
        steps=5,
        max_rounds=6,
        min_rounds=min_rounds,
        traversal=traversal,
        **refined,
    )
    check_all(result, budget, workers)
    if model.failed == 0 and tokens is None and effective_tokens is None and usd is None:
        assert result.prediction is not None, "a call is always reserved for the decision"
    if result.stop == "sufficient":
        assert result.rounds >= min_rounds


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
    question = next(q for q in world.questions if q.category == "COUNT")
    result = ask(world.drawn, question, vlm=Oracle(world, miss=0.5), cache=cache, cell=48, max_rounds=4)
    assert result.rounds == 4 and result.stops.overall == "rounds"
    dead = [span for event in result.trace.of("report") for span in event.dead_s]
    assert dead and result.dead_zones.coverage(0, 600) == pytest.approx(sum(b - a for a, b in dead) / 600)
    check_search(result)
    for event in result.trace.of("probe"):
        black = event.view.dead
        assert not set(event.offered) & set(black) and set(event.offered) >= set(event.scores)
    known = [event.dead_zones_s for event in result.trace.of("assign")]
    assert () in known and known[-1] != (), "workers know the dead zones of earlier visits"


def test_the_trace_has_every_event(world: World, cache: Cache, tmp_path: Path) -> None:
    emitted = []
    result = ask(world.drawn, world.questions[0], vlm=Oracle(world), cache=cache, cell=48, on_event=emitted.append)
    assert sorted(e.kind for e in emitted) == sorted(e.kind for e in result.trace)
    result.trace.save(tmp_path / "run.jsonl")
    assert Trace.load(tmp_path / "run.jsonl").to_json() == result.trace.to_json()
