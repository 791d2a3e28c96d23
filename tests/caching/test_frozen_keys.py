"""Keys and results that must not change: caches and recordings of earlier versions need them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Unpack

from atlaskit.agents.budget import Budget
from atlaskit.agents.search import ask
from atlaskit.benchmarks.atlasworld import Oracle, World, atlasworld
from atlaskit.caching import keys
from atlaskit.caching.cache import Cache
from atlaskit.environment.grid import Grid
from atlaskit.environment.memory import Evidence, Scratchpad
from atlaskit.environment.render import Frame, Sheet, Still, View
from atlaskit.evaluation.runner import evaluate
from atlaskit.evaluation.scaling import timing_key
from atlaskit.models.cached import failure_key, reply_key
from atlaskit.models.prices import Prices
from atlaskit.models.protocol import CallControl, ModelWrapper, Reply, Request
from atlaskit.models.speech import ASR

FILE = "ab" * 32
TRAVERSALS = ("auto", "bfs", "beam", "dfs")
KEYS = {
    "view": "view:2:fe62da3b999cd1b3d7ea1a7474f0b061cc7014373e00d8f14e9722f4fae42c0a",
    "view, two cells dead": "view:2:eb7b0054c015af1285b613f3dbfed505e33bd7ccff69514cb899a99d6ffd6321",
    "sheet": "sheet:2:4653ac3384ad075c0cf40c9fe5980f73958ae148fd27c8259e0bfe75b44bb814",
    "still": "still:2:7792266014d314da122efde3ec69a5b03ca8747b300777f91f935a27a5393367",
    "tile": "tile:2:56e7f7b47ec6f5a18db3852b24aa0876f99157e81a0c827cae8e98f79383ed4a",
    "moments": "moments:2:3432b11eb78f9310a2baadae59b434150f55e15a90bb4d6203347027ca678f62",
    "readable": "readable:1:1c6cbc80ffc81d8db3fba3a2623a81df646df0318afde89549ab18f4bfca383f",
    "video": "video:1:322685c799a85e0203eb6637451922b0dc29dd09994f5911ab89b0fc3379bb0e",
    "lines": "lines:1:88c58bfeb392ff3920d6f0a2818a2212ec6007d91851fadb5609ba52d0926841",
    "asked": "asked:1:e0417243b798b1ef4c95a14453a988b689f7c7373a7ce199f7baf963488c237b",
    "failure": "failure:1:fa34bee1b468698d4cd1a9451197efa2e0362dd6c0f7886675427e879e05a4b7",
    "run": "run:1:3d9a944dbc1b37f05319304d26b7ba69fa813b88e2db4fc404a4882a0b144ae7",
    "served": "served:1:f0525aa262b2b5c105bf079f86882664626c833711915f361a6d44453215e101",
    "timing": "timing:2:a2c31e6ae2af5440e4ee3f898f6d88c577ae971c2decfb960ad4863bfc14fcc3",
    "embedding": "embedding:1:57feb7e11ea67fc3eddf66a5a91f07c2294de6a943929b330d3b9e8a7f5c89a1",
    "transcript": "transcript:1:afe7b326dd89dac0e70b78c6f81d16420ce0f7911f0ff9cdb73bcb36a9a5133f",
    "still, of a cell": "still:2:8ba0a390084bc3823c7d7018f0c94ac67544ed93eed50eec157dc2d06a697dc8",
    "features": "features:1:1ec8eb012ce622b16e90dee60fc4f7a8fcfc551f98cb6bf6e5f50383f5a57e56",
    "clusters": "clusters:1:638caeb425843d277d45968b11c14a18818dcd9990327c74016f0dfdafae91ef",
    "activity": "activity:1:a6d685131816d9c9fe9cd49aa25f994d106537f8f380e7cb48c6c7b71ea33af7",
    "clip": "clip:1:f8866d107a91d30cfd99b5edb19c6554dd06a1c07a215fa80ad8646d1ce68738",
    "clusters, of a group": "clusters:1:8af050b57f0b176168dd30690ba353ac82d553e4b5e67e571b0745c9b8507cba",
}
"""Written down by the version before the packages were rearranged, or when the kind came."""
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


def test_keys_of_entries_are_those_of_earlier_versions(tmp_path: Path, cache: Cache) -> None:
    world = world_in(tmp_path)
    video, root = world.drawn, Grid(0.0, 600.0, 8)
    pad = Scratchpad().add([Evidence(10.5, 10.0, 11.0, "a", 0.5, "hello"), Evidence(99.25, 99.0, 99.5, "b", 0.75)])
    dead = frozenset({3, 1})
    timing = timing_key({"text": "q"}, FILE, "cd" * 32, Oracle(world), workers=3, settings={"k": 8})
    assert {
        "view": View(video, root, 48, "contain", "index", frozenset(), "midpoint", cache).key,
        "view, two cells dead": View(video, root.expand(12), 320, "contain", "time", dead, "midpoint", cache).key,
        "sheet": Sheet(video, pad, 48, "contain", cache).key,
        "still": Still(video, 12.5, cache).key,
        "still, of a cell": Frame(video, 12.5, 96, "native", cache).key,
        "features": keys.features_key(FILE, frames=600, size=(16, 9)),
        "clusters": keys.clusters_key("features:1:" + "cd" * 32, count=8, of=None),
        "clusters, of a group": keys.clusters_key("features:1:" + "cd" * 32, count=4, of=(1, 2, 9)),
        "activity": keys.activity_key(FILE),
        "clip": keys.clip_key(FILE, start_s=5.0, end_s=7.5, size=(320, 180), fps=15),
        "tile": keys.tile_key(FILE, 12.5, (48, 27)),
        "moments": keys.moments_key(FILE, start_s=0.0, end_s=9.375, k=8, sampling="keyframe"),
        "readable": keys.readable_key(FILE, 12.5),
        "video": keys.video_key(FILE),
        "lines": keys.lines_key(FILE),
        "asked": keys.asked_key(FILE),
        "failure": failure_key("reply:4:" + "cd" * 32),
        "run": keys.run_key([{"kind": "start", "round": 0}]),
        "served": keys.served_key("http://127.0.0.1:8000/v1"),
        "timing": timing,
        "embedding": keys.embedding_key("a red circle", model="m"),
        "transcript": keys.transcript_key(
            "ef" * 32, model="m", parameters=ASR("http://127.0.0.1:9/v1", "m").parameters
        ),
    } == KEYS


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
