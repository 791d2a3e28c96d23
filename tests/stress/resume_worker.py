"""Jobs of test_resume, each run in a process that the test may kill."""

import os
import random
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Unpack

from support.asking import ask, evaluate
from support.model_doubles import Around, Babbler

import atlasworld as aw
from atlaskit.agents.budget import Budget
from atlaskit.benchmarks.case import Benchmark
from atlaskit.caching.cache import Cache
from atlaskit.evaluation import tables
from atlaskit.evaluation.tables import SHARD, shard
from atlaskit.models.cached import reply_key
from atlaskit.models.protocol import CallControl, Model, Reply, Request
from atlasworld import Oracle

WORKERS = 4
SLOWEST_S = 0.008
"""Maximum seconds that a call takes."""
RENDERED_SHARE = 0.05
"""Share of requests whose images are rendered, as a client that sends them would do."""


class LoggedModel(Around):
    """A slow model that logs the key of each request just before it returns the reply."""

    def __init__(self, model: Model, log: Path) -> None:
        super().__init__(model)
        self._log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        key = reply_key(self, request)
        if random.Random(key).random() < RENDERED_SHARE:
            for image in request.images:
                image.jpeg()
        reply = super().complete(request, **control)
        time.sleep(SLOWEST_S * random.random())
        os.write(self._log, f"{key}\n".encode())  # one write, so that lines do not mix
        return reply


def run_job(job: Mapping[str, Any]) -> None:
    """Do a job, and write its result at the end."""
    warnings.simplefilter("error")  # a damaged entry in the cache fails the job
    text = evaluated(job) if "shard" in job else answered(job)
    Path(job["out"]).write_text(text)


def evaluated(job: Mapping[str, Any]) -> str:
    """Evaluate a shard of some worlds, or all of them; return the name of the table."""
    worlds = [aw.world(seed, 120, questions=4, size=(128, 72)) for seed in (1, 2, 3, 4)]
    cases = Benchmark("four", tuple(case for world in worlds for case in world.cases(drawn=True)))
    cases, part = shard(cases, *job["shard"]) if job["shard"] else (cases, None)
    table = evaluate(
        cases,
        vlm=lambda world: LoggedModel(Oracle(world, 0.3, 0.3), job["log"]),
        cache=Cache(job["cache"]),
        progress=False,
        parallel=job["parallel"],
        budget=Budget(calls=job["calls"]),
        cell=32,
    )
    table.attrs |= {SHARD: part} if part else {}
    tables.save(table, f"{job['out']}.csv")
    return f"{job['out']}.csv"


def answered(job: Mapping[str, Any]) -> str:
    """Answer the question of a job; return the result as JSON."""
    world = aw.world(seed=5, duration_s=600, questions=16, size=(128, 72))
    double = Babbler(1) if job["model"] == "babbler" else Oracle(world, 0.3, 0.3)
    case = world.cases(drawn=True)[job["question"]]
    return ask(
        case.opened(),
        case.question,
        vlm=LoggedModel(double, job["log"]),
        cache=Cache(job["cache"]),
        workers=WORKERS,
        min_rounds=job["min_rounds"],
        budget=Budget(calls=job["calls"]),
        cell=64,
    ).to_json()
