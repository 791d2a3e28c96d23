"""Why searches and visits end."""

from __future__ import annotations

from typing import Any

import pytest
from support.model_doubles import Babbler, Overruled
from support.searches import of_category, search

from atlaskit.agents.budget import Budget
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError
from atlaskit.models.prices import Prices
from atlaskit.models.protocol import Request


@pytest.mark.parametrize(
    ("stop", "level", "options"),
    [
        ("sufficient", "master", {}),
        ("depth", "master", {"max_depth": 0}),
        ("explored", "worker", {"miss": 1.0, "k": 3, "budget": Budget()}),
        ("rounds", "global", {"miss": 1.0, "max_rounds": 2}),
        ("calls", "global", {"miss": 1.0, "budget": Budget(calls=20)}),
        ("tokens", "global", {"miss": 1.0, "budget": Budget(tokens=30_000)}),
        ("effective_tokens", "global", {"miss": 1.0, "budget": Budget(effective_tokens=30_000)}),
        ("usd", "global", {"miss": 1.0, "budget": Budget(usd=0.03, prices=Prices(prompt=1, completion=1))}),
    ],
)
def test_each_stop_of_a_run(
    long_world: World, shared_cache: Cache, stop: str, level: str, options: dict[str, Any]
) -> None:
    options = dict(options)
    oracle = Oracle(long_world, miss=options.pop("miss", 0.0))
    result = search(long_world, of_category(long_world, "T2O"), shared_cache, oracle, **options)
    assert result.stop == stop and result.prediction is not None
    named = {"master": result.stops.master, "global": result.stops.overall}
    assert named.get(level, stop) == stop and [n for n in named.values() if n] == ([stop] if level in named else [])
    assert f'"{level}":' in result.to_json() and f"stopped   {stop}" in str(result)


@pytest.mark.parametrize(
    ("stop", "options"),
    [
        ("finished", {}),
        ("plateau", {"plateau": 2, "k": 4}),
        ("steps", {"steps": 1}),
        ("budget", {"budget": Budget(calls=9)}),
    ],
)
def test_each_stop_of_a_worker(long_world: World, shared_cache: Cache, stop: str, options: dict[str, Any]) -> None:
    question = of_category(long_world, "O3O")
    result = search(long_world, question, shared_cache, traversal="dfs", max_rounds=2, **options)
    assert stop in result.stops.worker and f"{result.stops.worker[stop]} {stop}" in str(result)


def test_steps_without_new_evidence_are_a_plateau(long_world: World, cache: Cache) -> None:
    """The region then becomes dead if the visit found nothing, and only then."""

    def zoom_mostly(request: Request, answer: dict[str, Any]) -> dict[str, Any]:
        zoom = request.facts.observation.legal["zoom"][0]  # type: ignore[attr-defined]
        keep = request.facts.observation.legal["add_to_scratchpad"][0]  # type: ignore[attr-defined]
        region = request.facts.observation.state.region.path[0]  # type: ignore[attr-defined]
        if region % 2 and len(request.facts.actions) == 1:  # type: ignore[attr-defined]
            item = {"cell": keep, "description": "something", "confidence": 0.5}
            return {"thought": "", "action": {"action": "add_to_scratchpad", "items": [item]}}
        return {"thought": "", "action": {"action": "zoom", "cell": zoom}}

    model = Overruled(Babbler(3), step=zoom_mostly)
    result = search(long_world, of_category(long_world, "S2A"), cache, model, plateau=3, max_rounds=2, workers=6)
    assert set(result.stops.worker) == {"plateau"}
    for report in result.trace.of("report"):
        steps = [s for s in result.trace.of("step") if (s.round, s.worker) == (report.round, report.worker)]
        is_odd = report.path[0] % 2
        assert len(steps) == (5 if is_odd else 3) and bool(report.dead_s) != bool(is_odd)
    for plateau, message in ((0, "at least 1"), (12, "less than the 12 steps")):
        with pytest.raises(InputError, match=message):
            search(long_world, of_category(long_world, "S2A"), cache, model, plateau=plateau)
