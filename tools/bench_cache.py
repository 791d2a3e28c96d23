"""What the cache saves, what a hit costs, and how large things are: a part of `make bench`.

An evaluation is run over real HTTP on a server in a process of its own, whose answers fit their schemas and mean
nothing, and then again out of the cache. Each run has a new process too, so that nothing but the cache is warm.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter
from typing import Unpack

import diskcache
from bench_video import seconds

import atlaskit as ak
from atlaskit.environment.render import View
from atlaskit.models.cached import Cached
from atlaskit.models.protocol import CallControl, Reply, Request
from atlaskit.runs import archive

TESTS = Path(__file__).parents[1] / "tests"
FAST_S, NO_S = 0.05, 0.0
"""How long the server takes for an answer: as a fast one of real use does, and no time at all."""
VIDEOS, FEW, EACH, CALLS = 25, 3, 4, 11
"""So many 10-minute videos, or a few of them, with so many questions each and calls for each question."""
COLD, WARM, HITS, REPLAYS = 3, 20, 2000, 3
"""How often something is repeated, of which the median is told."""
REPLY_BYTES, TILE_BYTES = 2_000, 20_000

fresh = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Run:
    """What an evaluation took."""

    took_s: float
    calls: int
    """Calls that its answers cost when they were made."""
    paid: int
    """Calls that were made just now."""
    decoded: int
    sent_bytes: int
    results: str
    """The hash of all results."""


def evaluate(url: str, folder: str, videos: int, sample: int = 0) -> Run:
    """Ask all questions about some videos, by a client and a cache that are opened now."""
    worlds = [ak.benchmarks.atlasworld(seed, 600, questions=EACH, directory=folder) for seed in range(videos)]
    asked = [(world.drawn, question) for world in worlds for question in world.questions]
    began = perf_counter()
    vlm, cache = ak.VLM(url, "loop", dialect="vllm"), ak.Cache(f"{folder}/cache")
    options = {"vlm": vlm, "cache": cache, "sample": sample, "budget": ak.Budget(calls=CALLS)}
    results = [ak.ask(video, question, **options) for video, question in asked]
    return Run(
        perf_counter() - began,
        sum(result.total.calls for result in results),
        sum(result.spent.calls for result in results),
        sum(result.spent.frames_decoded for result in results),
        sum(call.transit.sent_bytes for result in results for call in result.calls),
        hashlib.sha256("\n".join(result.to_json() for result in results).encode()).hexdigest(),
    )


def apart(url: str, folder: str, videos: int, sample: int = 0) -> Run:
    """Evaluate in a new process."""
    with ProcessPoolExecutor(1, mp_context=fresh) as pool:
        return pool.submit(evaluate, url, folder, videos, sample).result()


def answer(pipe: Connection) -> None:
    """Be the server, until the other end of the pipe is closed."""
    sys.path.append(str(TESTS))
    from support.loopback import FaultPlan, loopback

    with loopback() as loop:
        pipe.send(
            {think_s: loop.url_of(FaultPlan(seed, think_s=think_s)) for seed, think_s in enumerate((FAST_S, NO_S))}
        )
        pipe.poll(None)


@contextmanager
def served() -> Iterator[dict[float, str]]:
    """Run the server in a process of its own; give its addresses by how long an answer takes there."""
    ours, theirs = fresh.Pipe()
    server = fresh.Process(target=answer, args=(theirs,), daemon=True)
    server.start()
    theirs.close()
    try:
        yield ours.recv()
    finally:
        ours.close()
        server.join()


def bench_replay(folder: str) -> None:
    """Time an evaluation, and the same out of the cache."""
    print(
        f"An evaluation by HTTP and out of the cache: {EACH} questions on each 10-minute video, 4 workers, 8×8 cells "
        f"of 320 px, at most {CALLS} calls a question"
    )
    with served() as urls:
        compare("all is new, an answer takes 50 ms", urls[FAST_S], f"{folder}/fast", VIDEOS, goal=" (goal 100)")
        compare("all is new, an answer takes no time", urls[NO_S], f"{folder}/none", FEW)
    with served() as urls:  # anew, so that it answers the same, and the same is looked at
        compare("the pictures are kept, 50 ms", urls[FAST_S], f"{folder}/fast", FEW, sample=1)
    stats = ak.Cache(f"{folder}/fast/cache").stats()
    sizes = ", ".join(f"{kind} {row['bytes'] / 1e6:.1f} MB" for kind, row in stats.items() if row["bytes"] > 1e5)
    size(f"kept of {VIDEOS * EACH} questions", sum(row["bytes"] for row in stats.values()), sizes)
    size("a reply, on average", stats["reply"]["bytes"] / stats["reply"]["entries"])


def compare(what: str, url: str, folder: str, videos: int, sample: int = 0, goal: str = "") -> None:
    """Print one line about an evaluation and its replay; fail where they differ."""
    first, *others = (apart(url, folder, videos, sample) for _ in range(1 + REPLAYS))
    assert first.paid == first.calls
    assert all(other.results == first.results and not other.paid and not other.decoded for other in others)
    again_s = statistics.median(other.took_s for other in others)
    print(
        f"  {what + ':':<46}{videos * EACH:>4} questions, {first.calls} calls, {first.sent_bytes / 1e6:.0f} MB sent in "
        f"{first.took_s:.1f} s; replayed, the same results with no call and no frame, in {again_s:.2f} s: "
        f"{first.took_s / again_s:.0f}×{goal}, {again_s / first.calls * 1e3:.2f} ms a call instead of "
        f"{first.took_s / first.calls * 1e3:.0f}",
        flush=True,
    )


def bench_view(film: Path, folder: str) -> None:
    """Time the root grid of a film, cold and out of the cache, and say what it takes."""
    print("The root grid of a 10-minute 720p file, 8×8 cells of 320 px")
    video = ak.open_video(film)
    caches = [ak.Cache(f"{folder}/views-{number}") for number in range(COLD + 1)]
    unseen, view = iter(caches), ak.view(video, cache=caches[0])
    cold_s = seconds(lambda: View(video, view.grid, cache=next(unseen)).jpeg(), COLD)
    row("its bytes, out of the cache (goal 30 ms)", seconds(view.jpeg, WARM), "cold", cold_s)
    cold_s = seconds(lambda: View(video, view.grid, cache=next(unseen)).image, 1)
    row("as an image, out of the cache", seconds(lambda: view.image, WARM), "cold", cold_s)
    stats = caches[0].stats()
    size("the view", stats["view"]["bytes"], f"and its {stats['tile']['entries']} tiles {told(stats['tile']['bytes'])}")


class Noting:
    """An oracle that looks at every picture it is shown, as a real model does; its requests are kept."""

    def __init__(self, model: ak.Oracle) -> None:
        self.model, self.name, self.parameters = model, model.name, model.parameters
        self.asked: list[Request] = []

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Answer as the model does."""
        self.asked.append(request)
        for image in request.images:
            image.jpeg()
        return self.model.complete(request, **control)


def bench_hits(folder: str) -> None:
    """Time a hit of the cache, beside what it stands on; and say how large a recording is."""
    print("One hit (goal 1 ms)")
    cache, plain = ak.Cache(f"{folder}/hits"), diskcache.Cache(f"{folder}/plain")
    for kind, length in (("reply", REPLY_BYTES), ("tile", TILE_BYTES)):
        key, value, file = f"{kind}:1:{'0' * 64}", bytes(length), Path(folder) / kind
        cache.put(key, value)
        plain[key] = value
        file.write_bytes(value)
        alone, read = each(lambda key=key: plain.get(key)), each(file.read_bytes)
        took = each(lambda key=key: cache.get(key))
        row(f"cache.get of a {kind}, {length / 1e3:.0f} kB", took, "diskcache alone", alone, "the file read", read)
    world = ak.benchmarks.atlasworld(7, 600, questions=1, directory=folder)
    model = Noting(ak.Oracle(world))
    result = ak.ask(world.drawn, world.questions[0], vlm=model, cache=cache)
    kept, asked = Cached(model.model, cache), list(model.asked)
    hit = seconds(lambda: [kept.complete(request) for request in asked], WARM) / len(asked)
    made = seconds(lambda: [model.model.complete(request) for request in asked], WARM) / len(asked)
    row("Cached.complete of a kept reply, as a whole", hit, "the oracle's own", made)
    path = Path(folder) / "one.atlas"
    for what, images in (("without images", False), ("with what it showed", True)):
        packed = archive.export(path, result, images=images, cache=cache)
        size(f"the recording of a question, {what}", path.stat().st_size, f"{result.total.calls} calls, {dict(packed)}")


def each(act: Callable[[], object]) -> float:
    """Return how long an act takes that is too short to be timed by itself."""
    return seconds(lambda: [act() for _ in range(HITS)], 5) / HITS


def row(what: str, took_s: float, *beside: str | float) -> None:
    """Print one line of the table: what it took, and beside it the names of alternatives, each with what that took."""
    others = [f"{name} {other_s * 1e3:.3f} ms" for name, other_s in zip(beside[::2], beside[1::2], strict=True)]
    print(f"  {what:<46}{took_s * 1e3:10.3f} ms   {', '.join(others)}", flush=True)


def size(what: str, count: float, more: str = "") -> None:
    """Print how large something is."""
    print(f"  {what:<46}{told(count):>13}   {more}", flush=True)


def told(count: float) -> str:
    """Write a number of bytes."""
    return f"{count / 1e6:.2f} MB" if count >= 1e6 else f"{count / 1e3:.2f} kB"


def main(film: Path) -> int:
    """Measure all of it, the views on a 10-minute film."""
    with tempfile.TemporaryDirectory() as folder:
        bench_view(film, folder)
        bench_hits(folder)
        bench_replay(folder)
    return 0


if __name__ == "__main__":
    from bench import MEDIA, ten_minutes_720p

    MEDIA.mkdir(parents=True, exist_ok=True)
    sys.exit(main(ten_minutes_720p()))
