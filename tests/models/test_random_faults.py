"""Promises 4, 7, 9 and 10 in whole searches against a server that fails at random."""

import os
import random
import time
from dataclasses import dataclass
from typing import Any

import pytest
from support.asking import ask
from support.faults import RANDOM_FAULTS
from support.invariants import check_books, check_grounded
from support.loopback import FaultPlan, Loop, loopback
from support.parallel import run_all

from atlaskit.agents.budget import Budget
from atlaskit.caching.cache import Cache
from atlaskit.environment.question import Question
from atlaskit.errors import AtlasError
from atlaskit.models.client import VLM
from atlaskit.models.protocol import Usage
from atlaskit.runs import replay
from atlaskit.runs.result import Result
from atlasworld import World

RUNS = int(os.environ.get("ATLASKIT_SOAK_RUNS", "100"))
"""Number of runs, made in blocks. ATLASKIT_SOAK_RUNS=1000 makes a thousand."""
BLOCK = 100
THREADS = 8
QUESTIONS = (Question("What is it?", ("a circle", "a square", "a star")), Question("When is it?", kind="when"))


@dataclass(frozen=True)
class Run:
    """One search under one fault plan, and how it ended."""

    plan: FaultPlan
    budget: Budget
    workers: int
    outcome: Result | Exception
    seconds: float


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses of milliseconds, and a low limit on the length of an answer."""
    monkeypatch.setattr("atlaskit.models.attempts.FIRST_PAUSE_S", 0.004)
    monkeypatch.setattr("atlaskit.models.attempts.MAX_PAUSE_S", 0.01)
    monkeypatch.setattr("atlaskit.models.attempts.MAX_REQUESTED_PAUSE_S", 0.01)
    monkeypatch.setattr("atlaskit.models.attempts.LONGEST_BUSY_PAUSE_S", 0.01)
    monkeypatch.setattr("atlaskit.models.attempts.MOST_WAITED_S", 0.05)
    monkeypatch.setattr("atlaskit.limits.ANSWER", 500_000)


def one_run(seed: int, world: World, cache: Cache, loop: Loop) -> Run:
    draw = random.Random(seed)
    share = draw.choice([0.1, 0.2, 0.4, 0.7])
    share_with_evidence = draw.choice([0.0, 0.0, 0.9])
    faults = tuple(draw.sample(list(RANDOM_FAULTS), draw.randint(1, 6)))
    plan = FaultPlan(seed, share, share_with_evidence, faults)
    calls = Budget(calls=draw.randint(1, 12))
    others = (Budget(tokens=draw.randint(4_000, 20_000)), Budget(seconds=draw.uniform(0.3, 1.5)))
    budget = draw.choice([calls, calls, calls, *others])
    workers = draw.randint(1, 4)
    vlm = VLM(loop.url_of(plan), f"model {seed}", dialect="vllm", timeout_s=draw.uniform(0.1, 0.2))
    options: dict[str, Any] = {"k": 4, "cell": 48, "workers": workers, "max_rounds": 3}
    options |= {"max_depth": draw.randint(1, 2), "steps": draw.choice([4, 8])}
    began = time.monotonic()
    outcome: Result | Exception
    try:
        outcome = ask(world.drawn, draw.choice(QUESTIONS), vlm=vlm, cache=cache, budget=budget, **options)
    except Exception as error:  # `check` tests its type, and reports the seed
        outcome = error
    return Run(plan, budget, workers, outcome, time.monotonic() - began)


def check(run: Run) -> None:
    """Check how one search ended: in time, within its budget, with all evidence, or in one line."""
    assert isinstance(run.outcome, Result | AtlasError), repr(run.outcome)
    assert run.plan.outlasted == []
    if run.budget.seconds is not None:
        assert run.seconds < run.budget.seconds + 30
    if isinstance(run.outcome, Result):
        messages = [run.outcome.failure, *(event.reason for event in run.outcome.trace.of("failure"))]
        run.outcome.to_json().encode()
        check_budget(run, run.outcome)
        check_grounded(run.outcome)
        assert replay.memory(run.outcome.trace) == (run.outcome.evidence, run.outcome.dead_zones)
    else:
        messages = [str(run.outcome)]
    assert not [message for message in messages if len(message.splitlines()) > 1 or "Traceback" in message]


def check_budget(run: Run, result: Result) -> None:
    check_books(result, run.budget, run.workers + 1)
    usages = [call.usage for call in result.calls]
    assert all(0 <= count < 2**50 for usage in usages for count in vars(usage).values())
    assert result.total == sum(usages, Usage())
    assert result.spent.calls == sum(call.usage.calls for call in result.calls if call.live)
    assert result.spent.calls <= result.total.calls  # a call that a run repeats is counted twice and made once
    assert run.plan.met[""] <= result.spent.calls, "each good answer is paid"


@pytest.mark.long
@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("block", range(max(1, RUNS // BLOCK)))
def test_promises_hold_in_hundreds_of_runs_with_random_faults(block: int, world: World, shared_cache: Cache) -> None:
    """How many searches end how depends on timing: the shares are far below the usual ones."""
    seeds = range(block * BLOCK, (block + 1) * BLOCK)
    with loopback() as loop:
        runs = run_all([lambda seed=seed: one_run(seed, world, shared_cache, loop) for seed in seeds], THREADS)
    broken_promises = {}
    for run in runs:
        try:
            check(run)
        except AssertionError as error:
            broken_promises[run.plan.seed] = str(error)
    assert not broken_promises
    results = [run.outcome for run in runs if isinstance(run.outcome, Result)]
    assert set(RANDOM_FAULTS) <= {name for run in runs for name in run.plan.met}
    assert len(results) >= 0.95 * len(runs)
    assert sum(len(result.evidence) > 0 for result in results) >= 0.2 * len(runs)
    assert sum(bool(result.trace.of("review")) for result in results) >= 0.05 * len(runs)
    assert sum(bool(result.failure) for result in results) >= 0.1 * len(runs)
