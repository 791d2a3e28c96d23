"""Keys of replies and results that must not change: the recordings need them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Unpack

import pytest
from support.asking import ask, evaluate

from atlaskit.agents.budget import Budget
from atlaskit.benchmarks.atlasworld import Oracle, World, atlasworld
from atlaskit.caching.cache import Cache
from atlaskit.models.cached import reply_key
from atlaskit.models.prices import Prices
from atlaskit.models.protocol import CallControl, ModelWrapper, Reply, Request

FILE = "ab" * 32
TRAVERSALS = ("auto", "bfs", "beam", "dfs")
REPLIES = {
    "blind decision": "3 48106c6209da23052debeac134207bbf826d283e3097ff82f88c5d6e3cc1f2d1",
    "captions caption": "20 8d715aa45eabd375c766c5eeb43c882e6788a80b60e49ca0f692202661ce5544",
    "captions decision": "3 76317c838e2d1912e6cfe274e56f62b606c5706c942248b5d89768371df3ccbc",
    "composite decision": "3 12b227f4fbcbd95da21f755bc1021a9f5cf24a97b616f847af299f0616673ef3",
    "decision": "16 eb44ee6fdc8cbe076d6a3f7605df916e3e8b219e4da005e660efb9876fd0300f",
    "probe": "108 017bb254fc51a3033ee4fa255e2711a2cc84be131fb4ff74a5584b55caec3a97",
    "review": "40 d47968f2e5ce44d8b69af18bc04d1a7311cc96d43b35fab57b0ed1741124cbf0",
    "step": "426 df0a0c68eac9fcc4b501de311d7645d4dfbb77cf380843cb2f4d08a23c4e411f",
    "subtitles decision": "3 91d3b07eb38dc01017bb4e244b35fdc54d06800c2e097c0d59800d2886617ae7",
    "task": "16 054e35d2f1dccf28f462a120bd69378e809748955bf4a8dbe0663c591d8a5dd6",
    "uniform decision": "3 b03552dc39dc329cb563471ee933757d2c7a21974f2fca1ce755b20b7fb27ed7",
}
"""By method and step: how many keys, and the SHA-256 of all of them, sorted."""
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


@dataclass
class NotingModel(ModelWrapper):
    """Notes the key of every request, by step."""

    noted: dict[str, set[str]] = field(default_factory=dict)

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        self.noted.setdefault(request.step, set()).add(reply_key(self.model, request))
        return self.model.complete(request, **control)


def world_in(folder: Path) -> World:
    return atlasworld(5, 600, questions=16, size=(320, 180), directory=folder)


@pytest.mark.long
def test_replies_and_results_are_those_of_earlier_versions(tmp_path: Path, cache: Cache) -> None:
    world, noted, results = world_in(tmp_path), dict[str, set[str]](), list[str]()
    settings: dict[str, Any]
    for number, question in enumerate(world.questions):
        model = NotingModel(Oracle(world, miss=0.2, confuse=0.1, seed=1))
        traversal = TRAVERSALS[number % len(TRAVERSALS)]
        settings = {"cell": 48, "fit": "contain", "threads": 1, "traversal": traversal}
        result = ask(world.drawn, question, vlm=model, cache=cache, **settings)
        results.append(hashlib.sha256(json.dumps(result.to_json(), sort_keys=True).encode()).hexdigest()[:16])
        for step, each in model.noted.items():
            noted.setdefault(step, set()).update(each)
    for method in ("uniform", "composite", "captions", "subtitles", "blind"):
        model = NotingModel(Oracle(world, seed=1))
        settings = {} if method in ("subtitles", "blind") else {"fit": "contain"}
        evaluate(world.cases()[:3], method, vlm=model, cache=cache, **settings)
        for step, each in model.noted.items():
            noted.setdefault(f"{method} {step}", set()).update(each)
    told = {
        step: f"{len(each)} {hashlib.sha256(chr(10).join(sorted(each)).encode()).hexdigest()}"
        for step, each in sorted(noted.items())
    }
    assert results == RESULTS
    assert told == REPLIES


def test_a_budget_is_written_as_it_was() -> None:
    """Keys of measurements hold the text of a budget; a new limit appears where it is set."""
    assert repr(Budget(calls=200)) == "Budget(calls=200, tokens=None, seconds=None, effective_tokens=None)"
    priced = Budget(usd=1.0, prices=Prices(prompt=1.0, completion=2.0))
    assert "usd=1.0" in repr(priced) and "prices=" in repr(priced)
