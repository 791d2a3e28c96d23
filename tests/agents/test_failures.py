"""Promise 9: a failure costs a step, not a region, and no evidence."""

import pytest
from support.model_doubles import Failing
from support.searches import of_category, search, search_small

from atlaskit.caching.cache import Cache
from atlaskit.models.protocol import ModelError, Refused, Request, Unreachable
from atlasworld import Oracle, World

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
def test_a_failure_for_good_ends_the_search_and_the_decision_is_still_tried(
    world: World, cache: Cache, step: str
) -> None:
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
