"""Promise 10: budgets are hard, and the answer that fits is still given."""

import random
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Unpack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.model_doubles import Babbler, Counting, Overruled
from support.searches import search_small
from support.stand_ins import CHOICE

from atlaskit.agents.budget import Budget, Meter
from atlaskit.caching.cache import Cache
from atlaskit.models import protocol
from atlaskit.models.protocol import BadReply, CallControl, ModelError, Refused, Reply, Request, Usage
from atlaskit.runs.events import Event
from atlasworld import World


@pytest.mark.parametrize(("workers", "tokens", "dear"), [(4, 40_000, True), (4, 60_000, False)])
def test_tokens_are_reserved_for_the_decision(
    world: World, cache: Cache, workers: int, tokens: int, dear: bool
) -> None:
    """Whether the calls of workers are dear, or those of the master, for which two are kept."""

    class Large(Babbler):
        def complete(self, request, **control):  # type: ignore[no-untyped-def]
            reply = super().complete(request, **control)
            prompt_tokens = 5_000 if (request.step == "step") == dear else 500
            return replace(reply, usage=Usage(calls=1, prompt_tokens=prompt_tokens, completion_tokens=50))

    result = search_small(world, CHOICE, Large(2), cache, workers=workers, budget=Budget(tokens=tokens))
    assert result.prediction is not None
    assert result.total.tokens <= tokens + workers * (5_050 if dear else 550)


def test_an_interrupted_run_makes_no_further_calls(world: World, cache: Cache) -> None:
    """The interrupt comes during the workers' first steps; none of them takes a second one."""
    four = [{"cell": cell, "score": 1.0} for cell in (0, 5, 10, 15)]
    sends_four = Overruled(Babbler(3), probe=lambda request, answer: {**answer, "top": four})
    model, together = Counting(sends_four), threading.Barrier(4)

    def interrupt(event: Event) -> None:
        if event.kind == "step":
            together.wait(30)
            if event.worker == 0:
                raise KeyboardInterrupt
            time.sleep(0.5)  # until the run has noticed the interrupt

    with pytest.raises(KeyboardInterrupt):
        search_small(world, CHOICE, model, cache, workers=4, on_event=interrupt)
    assert model.calls.count("step") == 4


class Scripted:
    """A model whose calls cost and fail at random, up to the attempts that a call may take."""

    name = "scripted"
    parameters: Mapping[str, Any] = {}

    def __init__(self, seed: int, failing: float) -> None:
        self._model, self._seed, self._failing = Babbler(seed), seed, failing
        self.most_attempts: dict[str, list[int]] = {}
        self._lock = threading.Lock()

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        most = control["max_attempts"]
        with self._lock:
            asked = self.most_attempts.setdefault(request.step, [])
            asked.append(most)
            rng = random.Random(f"{self._seed} {request.step} {len(asked)}")
        usage = Usage(calls=rng.choice((1, most, most)), prompt_tokens=100, completion_tokens=10)
        if rng.random() < self._failing:
            raise rng.choice((ModelError, BadReply, Refused))("It failed.", usage)
        return replace(self._model.complete(request, **control), usage=usage)


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
    model, few = Scripted(seed, failing), {"workers": workers, "steps": steps, "look_ahead": look_ahead}
    result = search_small(small_world, CHOICE, model, Cache(None), budget=Budget(calls=calls), threads=1, **few)
    assert len(model.most_attempts["decision"]) == 1 and model.most_attempts["decision"][0] >= 2
    assert min(min(most) for most in model.most_attempts.values()) >= 1, "no call is made without an attempt"
    assert result.total.calls <= calls


class Clock:
    """A clock that advances by one second with each call, and by a hundred with a start."""

    now_s = 1.0

    def monotonic(self) -> float:
        return self.now_s


class TakesASecond(Babbler):
    """A model whose calls take a second each; that of some number starts a server before."""

    def __init__(self, seed: int, clock: Clock, starts_at: int = -1) -> None:
        super().__init__(seed)
        self.time, self.starts_at = clock, starts_at

    def complete(self, request, **control):  # type: ignore[no-untyped-def]
        self.starts_at -= 1
        if self.starts_at == 0:
            with protocol.stopped():
                self.time.now_s += 100
        self.time.now_s += 1
        if (deadline_s := control.get("deadline_s")) is not None:
            assert protocol.now_s() <= deadline_s, "the start does not take a call its time"
        return super().complete(request, **control)


@pytest.mark.parametrize("starts_at", [-1, 3])
def test_a_budget_can_limit_seconds(
    world: World, cache: Cache, monkeypatch: pytest.MonkeyPatch, starts_at: int
) -> None:
    """Seconds in which a server starts are not counted: who asks pays for calls."""
    time = Clock()
    monkeypatch.setattr("atlaskit.models.protocol.time", time)
    monkeypatch.setattr("atlaskit.models.protocol._state", (0.0, 0.0))
    stops = []
    for seconds in (1, 2, 3, 5, 9):
        model = TakesASecond(seconds, time, starts_at)
        result = search_small(world, CHOICE, model, cache, workers=1, budget=Budget(seconds=seconds))
        stops.append(result.stop)
        assert (result.prediction is not None) == (seconds > 1)  # the first call takes one second
        assert result.spent.seconds == result.spent.calls <= seconds  # a call asked twice is paid once
    assert stops[:3] == ["seconds"] * 3 and set(stops) <= {"seconds", "sufficient"}


def test_a_review_gets_the_call_kept_for_it_only_while_other_limits_allow_it() -> None:
    """Calls are told last, so that they hide no other limit that is reached too."""
    meter = Meter(Budget(calls=5, tokens=1_000, seconds=3600))
    meter.charge("worker", Usage(calls=3, prompt_tokens=900), 0.1)
    assert meter.exhausted() == "tokens"
    assert Meter(Budget(calls=3, seconds=1e-9)).exhausted() == "seconds"
    assert Meter(Budget(calls=3, seconds=3600)).exhausted() == "calls"
