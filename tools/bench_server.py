"""Measure the client on a real vLLM server, beside plain httpx: the last part of `make bench`.

The server runs on this machine's CPU with a tiny untrained model that the benchmark makes, so the
figures are those of the client and the server, not of a model. The images are as large as in real
use: views of 8×8 cells of 320 px. Then nano answers many questions, with one engine and with the
number of engines that is fastest here.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Literal, Unpack

import httpx

import atlaskit as ak
import atlasworld as aw
from atlaskit.agents.budget import Allotment
from atlaskit.agents.run import Run
from atlaskit.agents.schemas import Confidence, one_of, reply_model
from atlaskit.agents.worker import Task, Worker
from atlaskit.benchmarks.case import Case
from atlaskit.environment.memory import DeadZones
from atlaskit.models.dialect import HOSTED, VLLM, build_payload, sampling_parameters
from atlaskit.models.protocol import CallControl, Message, Reply, Request, Transit, Usage
from atlaskit.models.serving import install
from atlasworld import World

TINY = Path(__file__).parents[1] / "tests" / "server" / "families" / "make.py"
IN_FLIGHT = (1, 4, 16)
"""Numbers of requests in flight."""
REQUESTS = 48
ROUNDS = 8
"""Repetitions of the requests."""
STEPS = 12
"""Steps of a worker's conversation."""
QUESTIONS_IN_FLIGHT = 8
"""Questions that nano answers at the same time."""
WORLDS = 4
QUESTIONS_PER_WORLD = 6
PICK = reply_model("Pick", cell=one_of(tuple(range(64))), score=Confidence)


def distinct_requests(world: World, cache: ak.Cache) -> list[Request]:
    """Return distinct requests about eight views of a video, with short replies."""
    root = ak.view(world.drawn, cache=cache)
    views = [root, *(root.expand(cell) for cell in range(7))]
    system = Message("system", ("Look at the map of a video and pick the cell that matters most.",))
    requests = list[Request]()
    for number in range(REQUESTS):
        user = Message("user", (views[number % 8], f"Pick number {number}."))
        requests.append(Request("worker", "step", (system, user), PICK, max_tokens=48))
    return requests


def bench_throughput(vlm: ak.VLM, requests: Sequence[Request]) -> None:
    """Print requests a second through the client and through plain httpx, with the same bytes."""
    for request in requests:  # after this warm-up, the server has every image
        vlm.complete(request)
    sampled = sampling_parameters(vlm.dialect, 0.0, 0)
    known = {image.key for request in requests for image in request.images}
    bodies = [
        build_payload(request, vlm.name, vlm.dialect, sampled, known).body for request in requests
    ]
    address = f"{vlm.base_url}/chat/completions"
    headers = {"Content-Type": "application/json"}
    client = httpx.Client(timeout=120, limits=httpx.Limits(max_connections=None))

    def post(body: bytes) -> str:
        reply = client.post(address, content=body, headers=headers).raise_for_status().json()
        return str(reply["choices"][0]["message"]["content"])

    def rate(call: Callable[..., object], inputs: Sequence[object], threads: int) -> float:
        with ThreadPoolExecutor(threads) as pool:
            began = time.perf_counter()
            list(pool.map(call, inputs))
            return len(inputs) / (time.perf_counter() - began)

    print(f"Requests a second, {REQUESTS} requests, median of {ROUNDS} rounds in alternating order")
    for threads in IN_FLIGHT:
        rates: dict[str, list[float]] = {"atlaskit": [], "httpx": []}
        clients = [("atlaskit", vlm.complete, requests), ("httpx", post, bodies)]
        for _ in range(ROUNDS):
            clients.reverse()
            for name, call, inputs in clients:
                rates[name].append(rate(call, inputs, threads))
        ours = statistics.median(rates["atlaskit"])
        plain = statistics.median(rates["httpx"])
        print(
            f"  {threads:>2} in flight: atlaskit {ours:6.1f}/s, httpx {plain:6.1f}/s, "
            f"ratio {ours / plain:.2f} (goal 0.9)",
            flush=True,
        )


class ScriptedModel:
    """A model that calls the server, and replaces its reply by a scripted action of a worker.

    The script repeats zoom, investigate, and add to the scratchpad.
    """

    def __init__(self, vlm: ak.VLM) -> None:
        self.vlm = vlm
        self.name = f"scripted {vlm.name}"
        self.parameters = vlm.parameters
        self.usages: list[Usage] = []
        self.transits: list[Transit] = []

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Call the server, and return the next action of the script."""
        step = len(self.usages)
        # Another schema serves: the prompt does not depend on it, and the reply is not used.
        reply = self.vlm.complete(replace(request, schema=PICK), **control)
        self.usages.append(reply.usage)
        self.transits.append(reply.transit)
        actions = (
            {"action": "zoom", "cell": step},
            {"action": "investigate", "direction": "after", "cell": step},
            {
                "action": "add_to_scratchpad",
                "items": [
                    {"cell": step, "description": "A red circle on a beach.", "confidence": 0.8}
                ],
            },
        )
        answer = request.schema.model_validate(
            {"thought": "That may be what is asked for.", "action": actions[step % 3]}
        )
        return replace(reply, answer=answer, text=answer.model_dump_json())


def worker_conversation(vlm: ak.VLM, world: World, cache: ak.Cache, cell: int) -> ScriptedModel:
    """Run a worker for its twelve steps in one cell of the video; return its model."""
    atlas = ak.Atlas(world.drawn, cache=cache)
    model = ScriptedModel(vlm)
    task = Task(
        "Find the red circle.", atlas.root.expand(cell), DeadZones(), Allotment(STEPS), 1, 0
    )
    run = Run(world.drawn, world.questions[0], None, model, cache=ak.Cache(None))
    Worker(run, atlas, task).explore()
    assert len(model.usages) == STEPS
    return model


def bench_conversation(vlm: ak.VLM, world: World, cache: ak.Cache) -> None:
    """Print hits of the prefix cache and bytes sent in a worker's conversation.

    One dialect sends an image's bytes each time, the other sends them once and then a UUID.
    """
    dialects = {
        "the image's bytes every time": HOSTED,
        "bytes once, then its uuid": VLLM,
    }
    print(f"A worker's conversation of {STEPS} steps")
    for cell, (label, dialect) in enumerate(dialects.items()):
        before = vlm.counters()
        model = worker_conversation(
            ak.VLM(vlm.base_url, vlm.name, dialect=dialect), world, cache, 20 + cell
        )
        counted = vlm.counters() - before
        later = sum(model.usages[1:], Usage())
        sent = sum(transit.sent_bytes for transit in model.transits) / STEPS
        median_s = statistics.median(transit.wall_s for transit in model.transits[1:])
        print(
            f"  {label:<30} {sent / 1e3:8.1f} kB sent a call, {median_s * 1e3:6.0f} ms a call; "
            f"prefix hits after the first step {later.cached_tokens / later.prompt_tokens:.0%} of "
            f"{later.prompt_tokens:,} tokens (goal 75 %); the server counts {dict(counted)}",
            flush=True,
        )


def nano_rate(vlm: ak.VLM, first_seed: int, worlds: int) -> float:
    """Return nano's calls a second while it answers questions about ten-minute worlds."""
    cases = list[Case]()
    for seed in range(first_seed, first_seed + worlds):
        cases += aw.world(seed, 600, questions=QUESTIONS_PER_WORLD).cases(drawn=True)
    began = time.perf_counter()
    table = ak.evaluate(
        cases,
        vlm=vlm,
        search="paper",
        parallel=QUESTIONS_IN_FLIGHT,
        cache=ak.Cache(None),
        progress=False,
    )
    return int(table["calls"].sum()) / (time.perf_counter() - began)


def bench_engines() -> None:
    """Print nano's calls a second and its start time, with one engine and with the best number.

    Other questions are answered before the measurement, since vLLM compiles the grammar of a schema
    when a request first has it.
    """
    print(
        f"nano, {WORLDS * QUESTIONS_PER_WORLD} questions about ten minutes, {QUESTIONS_IN_FLIGHT} "
        "in flight"
    )
    rates = list[float]()
    copies: int | Literal["auto"]
    for copies in (1, "auto"):
        began = time.perf_counter()
        with ak.serve("nano", data_parallel=copies) as vlm:
            start_s = time.perf_counter() - began
            nano_rate(vlm, 90, 1)
            rates.append(nano_rate(vlm, 100, WORLDS))
            engines = vlm.dialect.ranks
        print(
            f"  engines: {engines}; {rates[-1]:5.2f} calls/s, ratio {rates[-1] / rates[0]:.2f}; "
            f"ready after {start_s:.0f} s",
            flush=True,
        )


def main() -> int:
    """Start the servers and run the benchmarks."""
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [install.interpreter(), TINY, folder, "idefics3"], check=True, capture_output=True
        )
        world = aw.world(1, 600, size=(1280, 720), questions=8, directory=folder)
        cache = ak.Cache(f"{folder}/cache")
        distinct = distinct_requests(world, cache)
        with ak.serve(f"{folder}/idefics3") as vlm:
            bench_throughput(vlm, distinct)
            bench_conversation(vlm, world, cache)
    bench_engines()
    return 0


if __name__ == "__main__":
    sys.exit(main())
