"""Ask questions in processes that may be killed: run by test_resume. Everything is loaded, so that they start at once.

For each job, a line of JSON, a child is forked and its id told; at the next line, how it ended. Until then nobody else
can have that id.
"""

from __future__ import annotations

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

from atlaskit.agents.budget import Budget
from atlaskit.agents.search import ask
from atlaskit.benchmarks.atlasworld import Oracle, World, atlasworld
from atlaskit.caching.cache import Cache
from atlaskit.evaluation.runner import OF_THE_RUN, evaluate
from atlaskit.models.cached import reply_key
from atlaskit.models.protocol import CallControl, Model, Reply, Request
from support.model_doubles import Babbler

WORKERS = 4
SLOWEST_S = 0.008
LOOKED_AT = 0.05
"""The share of requests whose images are made, as they are for a model that they are sent to."""


class Logged:
    """A model that takes its time, and writes down the key of each request it answers, just before its answer."""

    def __init__(self, model: Model, log: Path) -> None:
        self.model, self.name, self.parameters = model, model.name, model.parameters
        self._log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        key = reply_key(self, request)
        if random.Random(key).random() < LOOKED_AT:
            for image in request.images:
                image.jpeg()
        reply = self.model.complete(request, **control)
        time.sleep(SLOWEST_S * random.random())
        os.write(self._log, f"{key}\n".encode())  # in one piece
        return reply


def do(world: World, job: Mapping[str, Any]) -> None:
    """Ask a job's question, or evaluate its questions; when all is done, write what came of them."""
    warnings.simplefilter("error")  # nothing that is found in the cache may be damaged
    model = Logged(Babbler(1) if job["model"] == "babbler" else Oracle(world, 0.3, 0.3), Path(job["log"]))
    how = {"workers": WORKERS, "min_rounds": job["min_rounds"], "budget": Budget(calls=job["calls"]), "cell": 64}
    cache, cases = Cache(job["cache"]), [world.cases(drawn=True)[number] for number in job["questions"]]
    if parallel := job.get("parallel"):
        table = evaluate(cases, vlm=model, cache=cache, parallel=parallel, progress=False, **how)
        told = table.drop(columns=OF_THE_RUN).to_json(orient="records")
    else:
        (case,) = cases
        told = ask(case.opened(), case.question, vlm=model, cache=cache, **how).to_json()
    Path(job["out"]).write_text(told)


def serve(films: str) -> None:
    """Take jobs until there are none."""
    world = atlasworld(seed=5, duration_s=600, questions=16, size=(128, 72), directory=films)
    while line := sys.stdin.readline():
        child = os.fork()
        if child == 0:
            try:
                do(world, json.loads(line))
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
