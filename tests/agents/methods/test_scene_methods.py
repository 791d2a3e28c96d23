"""The promises of every method, for `mapreduce`, `mapreduce-clips` and `worldmm`."""

from __future__ import annotations

from typing import Any

import pytest
from support.model_doubles import Babbler, Flaky, Slow, Spiteful

from atlaskit.agents.baselines import METHODS
from atlaskit.agents.budget import Budget
from atlaskit.benchmarks.atlasworld import Oracle, World, atlasworld
from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError
from atlaskit.runs.result import Result
from atlaskit.runs.trace import Trace

STEPS = {
    "mapreduce": ("clip", "continues", "scene", "characters", "map", "reduce", "goal", "look", "overview"),
    "mapreduce-clips": ("clip", "characters", "map", "reduce", "goal", "look", "overview"),
    "worldmm": ("clip", "summary", "facts", "worldmm"),
}
EACH_STEP = [(name, step) for name, each in STEPS.items() for step in each]


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> World:
    return atlasworld(3, 120, questions=8, size=(160, 90), directory=tmp_path_factory.mktemp("short"))


def ask_by(name: str, world: World, vlm: Any, cache: Cache, number: int = 4, **options: Any) -> Result:
    """Ask a question, by default which of four objects appears first."""
    return METHODS[name](world.drawn, world.questions[number], vlm=vlm, cache=cache, size=32, **options)


@pytest.mark.parametrize("name", STEPS)
def test_every_step_is_a_turn_of_the_trace(name: str, short: World, cache: Cache) -> None:
    result = ask_by(name, short, Oracle(short), cache)
    turns = result.trace.of("turn")
    assert {turn["step"] for turn in turns} >= set(STEPS[name])
    assert len(turns) + 1 == result.total.calls, "and one is the decision"
    spans = [span for turn in turns for span in turn["intervals_s"]]
    assert all(0 <= start_s < end_s <= short.drawn.duration_s for start_s, end_s in spans)
    assert Trace.of_rows("it", result.trace.to_json()) == result.trace


@pytest.mark.parametrize("name", STEPS)
def test_the_number_of_threads_changes_nothing(name: str, short: World) -> None:
    one = ask_by(name, short, Oracle(short), Cache(None), threads=1)
    many = ask_by(name, short, Slow(Oracle(short), 7), Cache(None), threads=8)
    assert one.to_json() == many.to_json()


@pytest.mark.parametrize(("name", "step"), EACH_STEP)
def test_a_failed_step_costs_the_step_and_not_the_answer(name: str, step: str, short: World) -> None:
    flaky = Flaky(Oracle(short), 1, steps=(step,))
    result = ask_by(name, short, flaky, Cache(None))
    assert flaky.failed and result.failure == "the network is down"
    assert result.prediction is not None and result.stop == "answered"


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("calls", [1, 2, 9, 13, 17, 25])
def test_a_budget_is_hard_and_an_answer_is_given(name: str, calls: int, short: World) -> None:
    threads = 3
    result = ask_by(name, short, Oracle(short), Cache(None), budget=Budget(calls=calls), threads=threads)
    unlimited = ask_by(name, short, Oracle(short), Cache(None))
    assert result.total.calls <= calls + threads - 1, "never exceeded by more than the calls in flight"
    assert (result.stop == "calls") == (unlimited.total.calls > result.total.calls)


@pytest.mark.parametrize("name", STEPS)
def test_a_budget_ends_at_the_same_call_for_any_timing(name: str, short: World) -> None:
    budget = Budget(calls=20)
    one = ask_by(name, short, Oracle(short), Cache(None), budget=budget, threads=4)
    other = ask_by(name, short, Slow(Oracle(short), 3), Cache(None), budget=budget, threads=4)
    assert one.to_json() == other.to_json()


@pytest.mark.parametrize("name", STEPS)
def test_a_run_that_was_cut_off_goes_on_where_it_stopped(name: str, short: World, cache: Cache) -> None:
    started = ask_by(name, short, Oracle(short), cache, budget=Budget(calls=9))
    ended = ask_by(name, short, Oracle(short), cache)
    whole = ask_by(name, short, Oracle(short), Cache(None))
    assert started.spent.calls > 0 and ended.to_json() == whole.to_json()
    # The decision after nine calls was made from less, so it is asked again.
    assert started.spent.calls - 1 + ended.spent.calls == whole.spent.calls


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", [Babbler, Spiteful])
def test_no_reply_leads_outside_the_video(name: str, seed: int, kind: type[Babbler], short: World) -> None:
    result = ask_by(name, short, kind(seed), Cache(None), number=seed)
    spans = [span for turn in result.trace.of("turn") for span in turn["intervals_s"]]
    assert all(0 <= start_s < end_s <= short.drawn.duration_s for start_s, end_s in spans)
    assert result.prediction is not None and not result.failure
    assert Trace.of_rows("it", result.trace.to_json()) == result.trace


@pytest.mark.parametrize("name", STEPS)
def test_the_oracle_knows_only_what_it_reads_and_sees(name: str, short: World) -> None:
    blind = Oracle(short, miss=1)
    for number in range(len(short.questions)):
        result = ask_by(name, short, blind, Cache(None), number, subtitles=False)
        assert result.reasoning.startswith("0 of ")


@pytest.mark.parametrize("name", [*STEPS, "retrieval"])
def test_a_model_of_fixed_forms_is_refused_before_any_call(name: str, short: World) -> None:
    class Forms(Babbler):
        def complete(self, *args: Any, **control: Any) -> Any:
            raise AssertionError("no call may be made")

    model = Forms()
    model.name = "nano@1f0c"
    with pytest.raises(InputError, match=f"^{name} needs a model that writes free text, and nano@1f0c"):
        ask_by(name, short, model, Cache(None))
