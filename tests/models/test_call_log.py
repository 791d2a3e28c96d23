"""The record of every call of a run."""

from __future__ import annotations

from collections import Counter

import pandas as pd
import pytest
from support.asking import ask
from support.faults import failing, saying
from support.loopback import loopback
from support.model_doubles import Flaky

from atlaskit.agents.budget import Budget
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.models.client import VLM
from atlaskit.models.protocol import Usage

SMALL = {"cell": 48, "k": 4, "budget": Budget(calls=30)}


def test_the_calls_add_up_to_the_usage_of_a_run(world: World, cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atlaskit.models.attempts.FIRST_PAUSE_S", 0.01)
    with loopback() as server:
        server.faults = [failing(503), saying("nonsense"), failing(500)]
        result = ask(world.drawn, "What?", ["a", "b"], vlm=VLM(server.url), cache=cache, **SMALL)  # type: ignore[arg-type]
        again = ask(world.drawn, "What?", ["a", "b"], vlm=VLM(server.url), cache=cache, **SMALL)  # type: ignore[arg-type]
    for role, usage in result.usage.items():
        assert usage == sum((call.usage for call in result.calls if call.role == role), Usage())
    assert sum(call.retries for call in result.calls) == 3
    assert {call.step for call in result.calls} >= {"task", "probe", "step", "decision"}
    assert sum(call.usage.calls for call in result.calls) == len(server.bodies)
    for call in result.calls:
        assert call.wall_s >= call.queue_s >= 0 and call.sent_bytes > 100
        assert all(view.partition(":")[0] in ("view", "sheet", "still") for view in call.views)
    assert next(call for call in result.calls if call.step == "task").views == ()
    for row in (vars(call) for call in result.calls):
        assert row["effective_tokens"] == row["prompt_tokens"] - row["cached_tokens"] + row["completion_tokens"]
    table = pd.DataFrame(result.calls)
    assert table.to_dict("records") == [vars(call) for call in result.calls]
    assert table["prompt_tokens"].sum() == result.total.prompt_tokens and table["retries"].sum() == 3
    assert not any(isinstance(value, dict | list) for row in table.to_dict("records") for value in row.values())
    usages = [*result.usage.values(), result.total]
    assert [row["image"] for row in result.costs()] == [usage.image_tokens for usage in usages]
    assert "cached by the server" in str(result)

    assert Counter(call.usage for call in again.calls) == Counter(call.usage for call in result.calls)
    assert not any(call.live for call in again.calls)
    assert sum(call.wall_s for call in again.calls) == 0
    assert again.to_json() == result.to_json()


def test_a_failed_call_is_recorded(world: World, cache: Cache) -> None:
    model = Flaky(Oracle(world), 1.0)
    result = ask(world.drawn, world.questions[0], vlm=model, cache=cache, **SMALL)  # type: ignore[arg-type]
    failed = [call for call in result.calls if call.failure]
    assert len(failed) == model.failed > 0 and {call.failure for call in failed} == {"the network is down"}
    assert sum((call.usage for call in result.calls), Usage()) == result.total


def test_the_token_counts_of_an_oracle_are_marked_as_estimates(world: World, cache: Cache) -> None:
    result = ask(world.drawn, world.questions[0], vlm=Oracle(world), cache=cache, **SMALL)  # type: ignore[arg-type]
    for call in result.calls:
        assert call.usage.estimated and vars(call)["estimated"] and call.usage.calls == 1
        assert (call.usage.image_tokens > 0) == bool(call.views)
        assert call.usage.prompt_tokens > call.usage.image_tokens and call.usage.completion_tokens > 0
