"""Promise 9: a failure costs a step, not a region, and no evidence."""

import pytest
from support.asking import ask
from support.model_doubles import Failing
from support.searches import of_category, search, search_small

from atlaskit.caching.cache import Cache
from atlaskit.models.protocol import ModelError, Refused, Request, Unreachable
from atlasworld import Oracle, World


def failing(world: World, step: str, *numbers: int, error: type[ModelError] = ModelError) -> Failing:
    """Return an oracle whose calls of one kind fail, if they have these numbers."""
    return Failing(
        Oracle(world), lambda request, number: error("no") if request.step == step and number in numbers else None
    )


class TestFailedMasterCalls:
    def test_without_a_search_task_the_question_is_the_task(self, long_world: World, cache: Cache) -> None:
        result = search(long_world, of_category(long_world, "SSS"), cache, failing(long_world, "task", 1))
        assert result.is_right and result.stop == "sufficient" and result.trace.of("task") == ()

    def test_a_failed_review_is_repeated_after_the_next_round(self, long_world: World, cache: Cache) -> None:
        for category in ("S2A", "WHEN", "SSS"):
            model = failing(long_world, "review", 1)
            result = search(long_world, of_category(long_world, category), cache, model, traversal="dfs")
            assert result.stop == "sufficient" and result.rounds == 2 and len(result.trace.of("review")) == 1

    def test_a_model_that_never_answers_the_master_ends_the_run(self, long_world: World, cache: Cache) -> None:
        for step in ("probe", "task"):
            model = failing(long_world, step, *range(1, 99))
            fresh = Cache(cache.directory / step)
            result = search(long_world, of_category(long_world, "SSS"), fresh, model, look_ahead=False)
            assert (result.stop == "model") == (step == "probe") and len(result.trace.of("failure")) in (1, 3)
        model = failing(long_world, "probe", 1, error=Unreachable)
        assert search(long_world, of_category(long_world, "S2A"), cache, model).stop == "model"


def test_a_failure_costs_a_step_and_no_evidence(world: World, cache: Cache) -> None:
    """Promise 9: a worker that fails after finding evidence returns that evidence."""
    question = next(q for q in world.questions if q.category == "SSS")
    clean = ask(world.drawn, question, vlm=Oracle(world), cache=cache, cell=64)

    def after_its_first_evidence(request: Request, _: int) -> ModelError | None:
        is_late = request.step == "step" and len(request.facts.observation.state.scratchpad)  # type: ignore[attr-defined]
        return ModelError("the network is down") if is_late else None

    model = Failing(Oracle(world), after_its_first_evidence)
    model.name = "failing oracle"
    result = ask(world.drawn, question, vlm=model, cache=cache, cell=64, workers=1)
    found = [{world.script.event_at(item.timestamp_s) for item in each.evidence} for each in (clean, result)]
    assert found[0] == found[1] == set(world.targets(question))
    assert result.is_right
    assert all(event.stop == "failed" for event in result.trace.of("report"))
    assert result.dead_zones.intervals == ()


def test_a_model_that_fails_mid_run_leaves_a_result_with_evidence(world: World, cache: Cache) -> None:
    question = next(q for q in world.questions if q.category == "SSS")

    gone = Unreachable("No model answers.")
    model = Failing(Oracle(world), lambda request, _: gone if request.step in ("review", "decision") else None)
    model.name = "failing oracle"
    result = ask(world.drawn, question, vlm=model, cache=cache, cell=64, max_rounds=1)
    assert result.prediction is None and result.answer is None and not result.is_right
    assert len(result.evidence) >= 3 and result.failure == "No model answers."
    whole = Oracle(world)
    whole.name = model.name
    resumed = ask(world.drawn, question, vlm=whole, cache=cache, cell=64, max_rounds=1)
    assert resumed.is_right and resumed.spent.calls == 2  # only the failed calls are repeated


def failing_for_good(world: World, *steps: str) -> Failing:
    """Return an oracle whose calls of some steps fail as all such calls must."""
    error = Refused("The endpoint returned HTTP 400: at most 1 image.", is_final=True)
    return Failing(Oracle(world), lambda request, _: error if request.step in steps else None)


@pytest.mark.parametrize("step", ["probe", "step", "review"])
def test_a_failure_for_good_ends_the_search_and_the_decision_is_still_tried(
    world: World, cache: Cache, step: str
) -> None:
    model = failing_for_good(world, step)
    result = search_small(world, of_category(world, "SSS"), model, cache, workers=3, min_rounds=9)
    failures = result.trace.of("failure")
    assert result.stop == "model" and "at most 1 image" in result.failure and result.prediction is not None
    assert {failure.step for failure in failures} == {step}
    assert len(failures) == (3 if step == "step" else 1), "each worker of the round learns it once"


def test_where_nothing_works_one_call_ends_the_run_and_no_frame_is_decoded(world: World, cache: Cache) -> None:
    model = failing_for_good(world, "task", "decision")
    for _ in range(2):
        result = search_small(world, of_category(world, "SSS"), model, cache)
        assert (result.stop, result.prediction, result.spent.frames_decoded) == ("model", None, 0)
        assert "HTTP 400" in result.failure
    assert len(model.calls) == 2
    replayed = search_small(world, of_category(world, "SSS"), model, cache, replay=True)
    assert replayed.to_json() == result.to_json() and len(model.calls) == 2
