"""Keys and results that must not change: caches and recordings made by earlier versions depend on them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from atlaskit.agents.baselines import METHODS
from atlaskit.agents.search import ask
from atlaskit.benchmarks.atlasworld import Oracle, atlasworld
from atlaskit.caching import keys
from atlaskit.caching.cache import Cache
from atlaskit.environment.grid import Grid
from atlaskit.environment.memory import Evidence, Scratchpad
from atlaskit.environment.render import Sheet, Still, View
from atlaskit.evaluation.scaling import timing_key
from atlaskit.models.cached import failure_key, reply_key
from atlaskit.models.protocol import MAX_ATTEMPTS, ModelWrapper, Reply, Request

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
    "timing": "timing:1:380d12f1cb97646d732acc90472e789b4b6dbe9838351ee884b94d1cd75d3a03",
}
"""Written down by the version before the packages were rearranged."""
REPLIES: dict[str, str] = {}
RESULTS: dict[str, str] = {}


class NotingModel(ModelWrapper):
    """Notes the key of every request, by method and step."""

    noted: dict[str, set[str]]

    def complete(self, request: Request, *, max_attempts: int = MAX_ATTEMPTS) -> Reply:
        self.noted.setdefault(request.step, set()).add(reply_key(self.model, request))
        return self.model.complete(request, max_attempts=max_attempts)
