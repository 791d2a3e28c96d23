"""Promise 10: budgets are hard, and the answer that fits is still given."""

import random
import threading
import time
from dataclasses import replace
from typing import Unpack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.model_doubles import Babbler, Counting, Overruled
from support.searches import search_small
from support.stand_ins import CHOICE

from atlaskit.agents.budget import Budget
from atlaskit.caching.cache import Cache
from atlaskit.models import protocol
from atlaskit.models.protocol import BadReply, CallControl, ModelError, Refused, Reply, Request, Usage
from atlaskit.runs.events import Event
from atlasworld import World


@pytest.mark.parametrize(("tokens", "dear"), [(40_000, True), (60_000, False)])
def test_tokens_are_reserved_for_the_decision(world: World, cache: Cache, tokens: int, dear: bool) -> None:
    """Whether the calls of workers are dear, or those of the master, for which two are kept."""

    class Large(Babbler):
        def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
            prompt_tokens = 5_000 if (request.step == "step") == dear else 500
            usage = Usage(calls=1, prompt_tokens=prompt_tokens, completion_tokens=50)
            return replace(super().complete(request, **control), usage=usage)

    result = search_small(world, CHOICE, Large(2), cache, workers=4, budget=Budget(tokens=tokens))
    assert result.prediction is not None
    assert result.total.tokens <= tokens + 4 * (5_050 if dear else 550)


def test_an_interrupted_run_makes_no_further_calls(world: World, cache: Cache) -> None:
    """The interrupt comes during the workers' first steps; none of them takes a second one."""
    four = [{"cell": cell, "score": 1.0} for cell in (0, 5, 10, 15)]
    model = Counting(Overruled(Babbler(3), probe=lambda request, answer: {**answer, "top": four}))
    together = threading.Barrier(4)

    def interrupt(event: Event) -> None:
        if event.kind == "step":
            together.wait(30)
            if event.worker == 0:
                raise KeyboardInterrupt
            time.sleep(0.5)  # until the run has noticed the interrupt

    with pytest.raises(KeyboardInterrupt):
        search_small(world, CHOICE, model, cache, workers=4, on_event=interrupt)
    assert model.calls.count("step") == 4


class Costly(Babbler):
    """A model whose calls cost and fail at random, up to the attempts that a call may take."""

    def __init__(self, seed: int, failing: float) -> None:
        super().__init__(seed)
        self.rng = random.Random(seed)
        self.failing = failing
        self.allowed: list[tuple[str, int]] = []

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        most = control["max_attempts"]
        self.allowed.append((request.step, most))
        usage = Usage(calls=self.rng.choice((1, most, most)), prompt_tokens=100, completion_tokens=10)
        if self.rng.random() < self.failing:
            raise self.rng.choice((ModelError, BadReply, Refused))("It failed.", usage)
        return replace(super().complete(request, **control), usage=usage)


@settings(max_examples=30)
@given(
    calls=st.integers(2, 60),
    seed=st.integers(0, 10**6),
    failing=st.sampled_from([0.0, 0.2, 0.6, 1.0]),
    workers=st.integers(1, 16),
    steps=st.integers(1, 12),
    look_ahead=st.booleans(),
)
def test_two_attempts_are_kept_back_for_the_decision(
    small_world: World, calls: int, seed: int, failing: float, workers: int, steps: int, look_ahead: bool
) -> None:
    model = Costly(seed, failing)
    few = {"workers": workers, "steps": steps, "look_ahead": look_ahead, "threads": 1}
    result = search_small(small_world, CHOICE, model, Cache(None), budget=Budget(calls=calls), **few)
    (for_the_decision,) = [most for step, most in model.allowed if step == "decision"]
    assert for_the_decision >= 2
    assert min(most for _, most in model.allowed) >= 1, "no call is made without an attempt"
    assert result.total.calls <= calls


class Clock:
    """A clock that stands still but for what a model takes."""

    now_s = 1.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.mark.parametrize("starts_at", [0, 3])
def test_seconds_can_be_limited(world: World, cache: Cache, monkeypatch: pytest.MonkeyPatch, starts_at: int) -> None:
    """A call takes a second. Those in which a server starts are not counted."""
    clock = Clock()
    monkeypatch.setattr("atlaskit.models.protocol.time", clock)
    monkeypatch.setattr("atlaskit.models.protocol._state", (0.0, 0.0))

    class TakesASecond(Babbler):
        calls = 0

        def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
            self.calls += 1
            if self.calls == starts_at:
                with protocol.stopped():
                    clock.now_s += 100
            clock.now_s += 1
            deadline_s = control.get("deadline_s")
            assert deadline_s is not None and protocol.now_s() <= deadline_s, "a start takes a call no time"
            return super().complete(request, **control)

    stops = []
    for seconds in (1, 2, 3, 5, 9):
        model = TakesASecond(seconds)
        result = search_small(world, CHOICE, model, cache, workers=1, budget=Budget(seconds=seconds))
        stops.append(result.stop)
        assert (result.prediction is not None) == (seconds > 1)  # the first call takes one second
        assert result.spent.seconds == result.spent.calls <= seconds  # a call asked twice is paid once
    assert stops[:3] == ["seconds"] * 3 and set(stops) <= {"seconds", "sufficient"}
