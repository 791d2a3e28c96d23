"""Server of test_resume: it runs each job in a forked child that the test may kill.

The server has imported everything, so that children start at once. It reads a job as a line of JSON
and writes the process id of the child. At the next line it waits for the child and writes its exit
code; until then no other process can get the same id.
"""

import json
import os
import random
import sys
import time
import traceback
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
from atlasworld import Oracle, World

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


def run_part(worlds: Benchmark, job: Mapping[str, Any]) -> None:
    """Evaluate a shard of some worlds, or all of them, and write the table."""
    cases, part = shard(worlds, *job["shard"]) if job["shard"] else (worlds, None)
    table = evaluate(
        cases,
        vlm=lambda world: LoggedModel(Oracle(world, 0.3, 0.3), Path(job["log"])),
        cache=Cache(job["cache"]),
        progress=False,
        parallel=job["parallel"],
        budget=Budget(calls=job["calls"]),
        cell=32,
    )
    table.attrs |= {SHARD: part} if part else {}
    tables.save(table, f"{job['out']}.csv")
    Path(job["out"]).write_text(f"{job['out']}.csv")


def run_job(world: World, job: Mapping[str, Any]) -> None:
    """Answer the question of a job; at the end write the result."""
    double = Babbler(1) if job["model"] == "babbler" else Oracle(world, 0.3, 0.3)
    case = world.cases(drawn=True)[job["question"]]
    result = ask(
        case.opened(),
        case.question,
        vlm=LoggedModel(double, Path(job["log"])),
        cache=Cache(job["cache"]),
        workers=WORKERS,
        min_rounds=job["min_rounds"],
        budget=Budget(calls=job["calls"]),
        cell=64,
    )
    Path(job["out"]).write_text(result.to_json())


def serve(directory: str) -> None:
    """Run jobs from standard input until it ends."""
    short = [aw.world(seed, 120, questions=4, size=(128, 72), directory=directory) for seed in (1, 2, 3, 4)]
    worlds = Benchmark("four", tuple(case for each in short for case in each.cases(drawn=True)))
    world = aw.world(seed=5, duration_s=600, questions=16, size=(128, 72), directory=directory)
    while line := sys.stdin.readline():
        child = os.fork()
        if child == 0:
            try:
                warnings.simplefilter("error")  # a damaged entry in the cache fails the job
                job = json.loads(line)
                run_part(worlds, job) if "shard" in job else run_job(world, job)
                os._exit(0)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        print(child, flush=True)
        sys.stdin.readline()
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    serve(sys.argv[1])
