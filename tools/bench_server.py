"""The kit on a real vLLM server, beside raw httpx: the last part of `make bench`.

The server runs on this machine's CPU with a tiny untrained model, made on the spot: the figures are about the way to a
model, not about one. What travels is that of real use: 8×8 cells of 320 px.
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
from typing import Unpack

import httpx

import atlaskit as ak
from atlaskit.agents.budget import Allotment
from atlaskit.agents.schemas import Confidence, one_of, reply_model
from atlaskit.agents.task import Task
from atlaskit.agents.worker import Worker
from atlaskit.benchmarks.atlasworld import World
from atlaskit.environment.memory import DeadZones
from atlaskit.models.dialect import HOSTED, VLLM
from atlaskit.models.payload import build_payload, sampling_parameters
from atlaskit.models.protocol import CallControl, Message, Reply, Request
from atlaskit.models.serving import install
from atlaskit.models.usage import Transit, Usage

TINY = Path(__file__).parents[1] / "tests" / "support" / "tiny_model.py"
IN_FLIGHT = (1, 4, 16)
REQUESTS, ROUNDS = 48, 8
STEPS = 12
PICK = reply_model("Pick", cell=one_of(tuple(range(64))), score=Confidence)


def requests(world: World, cache: ak.Cache) -> list[Request]:
    """Return requests that differ, about the eight largest pictures of a video, with short answers."""
    root = ak.view(world.drawn, cache=cache)
    views = [root, *(root.expand(cell) for cell in range(7))]
    system = Message("system", ("Look at the map of a video and pick the cell that matters most.",))
    return [
        Request("worker", "step", (system, Message("user", (views[i % 8], f"Pick number {i}."))), PICK, max_tokens=48)
        for i in range(REQUESTS)
    ]


def bench_throughput(vlm: ak.VLM, asked: Sequence[Request]) -> None:
    """Requests a second through the kit and by httpx alone, which sends the same bytes and reads the same answers."""
    for request in asked:  # the images are sent, and all is warm
        vlm.complete(request)
    sampled = sampling_parameters(vlm.dialect, 0.0, 0)
    known = {image.key for request in asked for image in request.images}
    bodies = [build_payload(request, vlm.name, vlm.dialect, sampled, known).body for request in asked]
    address, headers = f"{vlm.base_url}/chat/completions", {"Content-Type": "application/json"}
    client = httpx.Client(timeout=120, limits=httpx.Limits(max_connections=None))

    def raw(body: bytes) -> str:
        answer = client.post(address, content=body, headers=headers).raise_for_status().json()
        return str(answer["choices"][0]["message"]["content"])

    def rate(call: Callable[..., object], given: Sequence[object], threads: int) -> float:
        with ThreadPoolExecutor(threads) as pool:
            began = time.perf_counter()
            list(pool.map(call, given))
            return len(given) / (time.perf_counter() - began)

    print(f"Requests a second, {REQUESTS} requests, the median of {ROUNDS} rounds, first in every other one")
    for threads in IN_FLIGHT:
        rates: dict[str, list[float]] = {"kit": [], "httpx": []}
        ways = [("kit", vlm.complete, asked), ("httpx", raw, bodies)]
        for turn in range(ROUNDS):
            for name, call, given in ways if turn % 2 else reversed(ways):
                rates[name].append(rate(call, given, threads))
        kit, alone = (statistics.median(rates[name]) for name in ("kit", "httpx"))
        print(
            f"  {threads:>2} in flight: {kit:6.1f}/s, httpx alone {alone:6.1f}/s, ratio {kit / alone:.2f} (goal 0.9)",
            flush=True,
        )


class Scripted:
    """Asks the server as a worker does, and goes on as written: looks closely, looks around, keeps."""

    def __init__(self, vlm: ak.VLM) -> None:
        self.vlm, self.name, self.parameters = vlm, f"scripted {vlm.name}", vlm.parameters
        self.usages: list[Usage] = []
        self.transits: list[Transit] = []

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Ask, and answer the next line of the script."""
        step = len(self.usages)
        # The prompt is the same for any schema, and what an untrained model says does not matter here.
        reply = self.vlm.complete(replace(request, schema=PICK), **control)
        self.usages.append(reply.usage)
        self.transits.append(reply.transit)
        actions = (
            {"action": "zoom", "cell": step},
            {"action": "investigate", "direction": "after", "cell": step},
            {
                "action": "add_to_scratchpad",
                "items": [{"cell": step, "description": "A red circle on a beach.", "confidence": 0.8}],
            },
        )
        answer = request.schema.model_validate(
            {"thought": "That may be what is asked for.", "action": actions[step % 3]}
        )
        return replace(reply, answer=answer, text=answer.model_dump_json())


def worker_conversation(vlm: ak.VLM, world: World, cache: ak.Cache, cell: int) -> Scripted:
    """Have a worker take its twelve steps in one cell of the video."""
    atlas = ak.Atlas(world.drawn, cache=cache)
    model = Scripted(vlm)
    errand = Task("Find the red circle.", atlas.root.expand(cell), DeadZones(), Allotment(STEPS), 1, 0)
    Worker(atlas, model, world.questions[0]).explore(errand)
    assert len(model.usages) == STEPS
    return model


def bench_conversation(vlm: ak.VLM, world: World, cache: ak.Cache) -> None:
    """The prefix cache in a worker's conversation, and what its calls send, by the way that images travel."""
    ways = {
        "the image's bytes every time": HOSTED,
        "bytes once, then its uuid": VLLM,
        "file:// once, then its uuid": vlm.dialect,
    }
    print(f"A worker's conversation of {STEPS} steps")
    for cell, (way, dialect) in enumerate(ways.items()):
        counted = vlm.counters()
        model = worker_conversation(ak.VLM(vlm.base_url, vlm.name, dialect=dialect), world, cache, 20 + cell)
        counted = vlm.counters() - counted
        later = sum(model.usages[1:], Usage())
        sent = sum(transit.sent_bytes for transit in model.transits) / STEPS
        took = statistics.median(transit.wall_s for transit in model.transits[1:])
        print(
            f"  {way:<30} {sent / 1e3:8.1f} kB sent a call, {took * 1e3:6.0f} ms a call; prefix hits after the first "
            f"step {later.cached_tokens / later.prompt_tokens:.0%} of {later.prompt_tokens:,} tokens (goal 75 %); "
            f"the server counts {counted}",
            flush=True,
        )


def main() -> int:
    """Start the server and measure."""
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([install.interpreter(), TINY, f"{folder}/tiny"], check=True, capture_output=True)
        world = ak.benchmarks.atlasworld(1, 600, size=(1280, 720), questions=8, directory=folder)
        cache = ak.Cache(f"{folder}/cache")
        asked = requests(world, cache)
        with ak.serve(f"{folder}/tiny") as vlm:
            bench_throughput(vlm, asked)
            bench_conversation(vlm, world, cache)
    return 0


if __name__ == "__main__":
    sys.exit(main())
