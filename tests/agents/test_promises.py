"""Promises 4, 7, 8, 9 and 10, with oracles, with models that answer nonsense, and with failures."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.asking import ask
from support.invariants import check_all
from support.model_doubles import Babbler, Counting, Failing, Flaky, Slow
from support.searches import of_category, search, search_small
from support.stand_ins import CHOICE

import atlasworld as aw
from atlaskit.agents.budget import Budget
from atlaskit.caching.cache import Cache
from atlaskit.environment.question import Question
from atlaskit.models.prices import Prices
from atlaskit.models.protocol import Model, ModelError, Refused, Request, Unreachable
from atlaskit.runs.events import Event
from atlasworld import Oracle, World

SEARCHES = st.fixed_dictionaries(
    {
        "workers": st.integers(1, 16),
        "traversal": st.sampled_from(["auto", "dfs", "bfs", "beam", "looks"]),
        "max_depth": st.integers(0, 3),
        "min_rounds": st.integers(1, 4),
    },
    optional={"votes": st.integers(2, 4), "scouts": st.just(("words",)), "look_ahead": st.booleans()},
)
LIMITS = {"calls": st.integers(1, 60), "tokens": st.integers(1, 80_000), "effective_tokens": st.integers(1, 80_000)}
BUDGETS = st.fixed_dictionaries({}, optional=LIMITS).map(lambda given: Budget(**given or {"calls": 60}))
BUDGETS |= st.floats(0.001, 0.1).map(lambda usd: Budget(usd=usd, prices=Prices(prompt=1, completion=5)))
QUESTIONS = st.sampled_from(
    [
        CHOICE,
        Question("What about it?", kind="open"),
        Question("When is it?", kind="when"),
        Question("When is it?", kind="when", several=True),
        Question("How often?", kind="count"),
        Question("What happens?", kind="summary"),
    ]
)


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


ERRORS = st.sampled_from([0.0, 0.2, 0.6])


@settings(max_examples=16)
@given(st.data(), st.integers(0, 10**6), SEARCHES)
def test_the_result_does_not_depend_on_threads_or_timing(
    small_world: World, data: st.DataObject, seed: int, options: dict[str, Any]
) -> None:
    """Promises 4, 8 and 10, with nonsense, and with sensible answers, which make progress."""
    model: Model = Babbler(seed)
    question, budget = data.draw(QUESTIONS), Budget(calls=40)
    options |= {"steps": 5}
    if data.draw(st.booleans()):
        model = Oracle(small_world, data.draw(ERRORS), data.draw(ERRORS), seed)
        question = data.draw(st.sampled_from(small_world.questions))
    first, *others = (
        search_small(small_world, question, each, Cache(None), threads=threads, budget=budget, **options)
        for each, threads in ((model, 1), (Slow(model, seed), options["workers"]), (Slow(model, seed + 1), 3))
    )
    assert {other.to_json() for other in others} == {first.to_json()}
    check_all(first, budget, options["workers"])


@settings(max_examples=40)
@given(st.integers(0, 10**6), BUDGETS, ERRORS, QUESTIONS, SEARCHES)
def test_promises_hold_whatever_a_model_answers(
    small_world: World, seed: int, budget: Budget, rate: float, question: Question, options: dict[str, Any]
) -> None:
    """Promises 4, 9 and 10, with nonsense, failures and any budget."""
    model = Flaky(Babbler(seed), rate, seed, ("step", "review", "probe"))
    options |= {"steps": 5, "max_rounds": 6}
    result = search_small(small_world, question, model, Cache(None), budget=budget, **options)
    check_all(result, budget, options["workers"])
    if model.failed == 0 and budget.tokens is budget.effective_tokens is budget.usd is None:
        assert result.prediction is not None, "a call is always reserved for the decision"
    rounds = result.rounds + (result.settings["traversal"] == "looks")  # its plan counts
    assert result.stop != "sufficient" or rounds >= options["min_rounds"]


PASSING = ModelError("no")
FINAL = Refused("The endpoint returned HTTP 400: at most 1 image.", is_final=True)


def failing(world: World, *steps: str, calls: range = range(1, 999), error: ModelError = PASSING) -> Failing:
    """Return an oracle whose calls of some steps fail: all of them, or those with some numbers."""

    def error_of(request: Request, number: int) -> ModelError | None:
        return error if request.step in steps and number in calls else None

    return Failing(Oracle(world), error_of)


class TestFailedMasterCalls:
    def test_without_a_search_task_the_question_is_the_task(self, long_world: World, cache: Cache) -> None:
        result = search(long_world, of_category(long_world, "SSS"), cache, failing(long_world, "task"))
        assert result.is_right and result.stop == "sufficient" and result.trace.of("task") == ()

    def test_a_failed_review_is_repeated_after_the_next_round(self, long_world: World, cache: Cache) -> None:
        for category in ("S2A", "WHEN", "SSS"):
            model = failing(long_world, "review", calls=range(1, 2))
            result = search(long_world, of_category(long_world, category), cache, model, traversal="dfs")
            assert result.stop == "sufficient" and result.rounds == 2 and len(result.trace.of("review")) == 1

    def test_a_model_that_never_answers_the_master_ends_the_run(self, long_world: World, cache: Cache) -> None:
        model = failing(long_world, "probe")
        result = search(long_world, of_category(long_world, "SSS"), cache, model, look_ahead=False)
        assert result.stop == "model" and len(result.trace.of("failure")) == 3
        gone = failing(long_world, "probe", calls=range(1, 2), error=Unreachable("gone"))
        assert search(long_world, of_category(long_world, "S2A"), cache, gone).stop == "model"


def test_a_failure_costs_a_step_and_no_evidence(world: World, cache: Cache) -> None:
    """Promise 9: a worker that fails after finding evidence returns that evidence."""
    question = of_category(world, "SSS")
    clean = search(world, question, Cache(None), cell=64)

    def after_its_first_evidence(request: Request, _: int) -> ModelError | None:
        is_late = request.step == "step" and len(request.facts.observation.state.scratchpad)  # type: ignore[attr-defined]
        return ModelError("the network is down") if is_late else None

    model = Failing(Oracle(world), after_its_first_evidence)
    result = search(world, question, cache, model, cell=64, workers=1)
    found = [{world.script.event_at(item.timestamp_s) for item in each.evidence} for each in (clean, result)]
    assert found[0] == found[1] == set(world.targets(question))
    assert result.is_right
    assert all(event.stop == "failed" for event in result.trace.of("report"))
    assert result.dead_zones.intervals == ()


def test_a_model_that_fails_mid_run_leaves_a_result_with_evidence(world: World, cache: Cache) -> None:
    question = of_category(world, "SSS")
    model = failing(world, "review", "decision", error=Unreachable("No model answers."))
    result = search(world, question, cache, model, cell=64, max_rounds=1)
    assert result.prediction is None and result.answer is None and not result.is_right
    assert len(result.evidence) >= 3 and result.failure == "No model answers."
    resumed = search(world, question, cache, Oracle(world), cell=64, max_rounds=1)
    assert resumed.is_right and resumed.spent.calls == 2, "only the failed calls are repeated"


@pytest.mark.parametrize("step", ["probe", "step", "review"])
def test_a_final_failure_ends_the_search_and_a_decision_is_tried(world: World, cache: Cache, step: str) -> None:
    model = failing(world, step, error=FINAL)
    result = search_small(world, of_category(world, "SSS"), model, cache, workers=3, min_rounds=9)
    failures = result.trace.of("failure")
    assert result.stop == "model" and "at most 1 image" in result.failure and result.prediction is not None
    assert {failure.step for failure in failures} == {step}
    assert len(failures) == (3 if step == "step" else 1), "each worker of the round learns it once"


def test_where_nothing_works_one_call_ends_the_run_and_no_frame_is_decoded(world: World, cache: Cache) -> None:
    model = failing(world, "task", "decision", error=FINAL)
    for _ in range(2):
        result = search_small(world, of_category(world, "SSS"), model, cache)
        assert (result.stop, result.prediction, result.spent.frames_decoded) == ("model", None, 0)
        assert "HTTP 400" in result.failure
    assert len(model.calls) == 2
    replayed = search_small(world, of_category(world, "SSS"), model, cache, replay=True)
    assert replayed.to_json() == result.to_json() and len(model.calls) == 2
