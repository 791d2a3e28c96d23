"""Results, and the text of a budget in keys, that must not change: the recordings need them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from support.asking import ask

from atlaskit.agents.budget import Budget
from atlaskit.benchmarks.atlasworld import Oracle, atlasworld
from atlaskit.caching.cache import Cache
from atlaskit.models.prices import Prices

TRAVERSALS = ("auto", "bfs", "beam", "dfs")
RESULTS = [
    "f7ce4a583c0daff6",
    "35cfa1ae9e26e732",
    "7fd960b6ebbe7589",
    "03049a7623de0955",
    "cee8f6533469084e",
    "f9af404725993b5d",
    "e241694a9fc30767",
    "8a6fe318ee128d06",
    "341c38cf2a79a9d0",
    "91a914d6aa6f427c",
    "bf1a33a9fe56a0c8",
    "4575149f3355dac2",
    "2a07ac315f988698",
    "7f8a6d7e1b080d84",
    "4a1f15365ba574bf",
    "8f63f91c2d6a1af0",
]
"""First digits of the SHA-256 of each result as JSON."""


@pytest.mark.long
def test_results_are_those_of_earlier_versions(tmp_path: Path, cache: Cache) -> None:
    world, results = atlasworld(5, 600, questions=16, size=(320, 180), directory=tmp_path), list[str]()
    for number, question in enumerate(world.questions):
        model, traversal = Oracle(world, miss=0.2, confuse=0.1, seed=1), TRAVERSALS[number % len(TRAVERSALS)]
        result = ask(
            world.drawn, question, vlm=model, cache=cache, cell=48, fit="contain", threads=1, traversal=traversal
        )
        results.append(hashlib.sha256(json.dumps(result.to_json(), sort_keys=True).encode()).hexdigest()[:16])
    assert results == RESULTS


def test_a_budget_is_written_as_it_was() -> None:
    """Keys of measurements hold the text of a budget; a new limit appears where it is set."""
    assert repr(Budget(calls=200)) == "Budget(calls=200, tokens=None, seconds=None, effective_tokens=None)"
    priced = Budget(usd=1.0, prices=Prices(prompt=1.0, completion=2.0))
    assert "usd=1.0" in repr(priced) and "prices=" in repr(priced)
