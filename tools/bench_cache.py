"""Measure what the cache saves, what a hit costs, and the sizes of entries: a part of `make bench`.

An evaluation calls a server over HTTP and is then replayed from the cache. The server runs in a
process of its own; its replies fit their schemas and are otherwise random. Each evaluation runs in
a new process, so that it finds nothing in memory, only in the cache.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter
from typing import Unpack

import diskcache
from bench_video import MEDIA, seconds, ten_minutes_720p

import atlaskit as ak
import atlasworld as aw
from atlaskit.environment.render import View
from atlaskit.models.cached import Cached
from atlaskit.models.protocol import CallControl, Reply, Request
from atlaskit.runs import archive

TESTS = Path(__file__).parents[1] / "tests"
FAST_S = 0.05
"""Seconds that a fast real server takes for a reply."""
NO_S = 0.0
VIDEOS = 25
"""Number of 10-minute videos."""
FEW = 3
"""Number of videos where a reply takes no time, or only the replies are new."""
EACH = 4
"""Questions about each video."""
CALLS = 11
"""Calls a question."""
COLD = 3
"""Repetitions with an empty cache; the tables show the median."""
WARM = 20
"""Repetitions with a full cache."""
HITS = 2000
"""Cache hits that are timed together."""
REPLAYS = 3
"""Replays of an evaluation."""
REPLY_BYTES = 2_000
TILE_BYTES = 20_000

fresh = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Run:
    """The cost of one evaluation."""

    elapsed_s: float
    calls: int
    """Calls behind the answers, replayed ones included."""
    paid: int
    """Calls made in this evaluation."""
    decoded: int
    """Frames decoded in this evaluation."""
    sent_bytes: int
    results: str
    """Hash of all results."""


def evaluate(url: str, folder: str, videos: int, sample: int = 0) -> Run:
    """Ask all questions about the first videos, with a new client and a newly opened cache."""
    worlds = [aw.world(seed, 600, questions=EACH, directory=folder) for seed in range(videos)]
    cases = [(world.drawn, question) for world in worlds for question in world.questions]
    began = perf_counter()
    options = {
        "vlm": ak.VLM(url, "loop", dialect="vllm"),
        "cache": ak.Cache(f"{folder}/cache"),
        "search": ak.Search(sample=sample),
        "budget": ak.Budget(calls=CALLS),
    }
    results = [ak.ask(video, question, **options) for video, question in cases]
    texts = [result.to_json() for result in results]
    return Run(
        elapsed_s=perf_counter() - began,
        calls=sum(result.total.calls for result in results),
        paid=sum(result.spent.calls for result in results),
        decoded=sum(result.spent.frames_decoded for result in results),
        sent_bytes=sum(call.transit.sent_bytes for result in results for call in result.calls),
        results=hashlib.sha256("\n".join(texts).encode()).hexdigest(),
    )


def evaluate_in_new_process(url: str, folder: str, videos: int, sample: int = 0) -> Run:
    """Evaluate in a new process."""
    with ProcessPoolExecutor(1, mp_context=fresh) as pool:
        return pool.submit(evaluate, url, folder, videos, sample).result()


def serve(pipe: Connection) -> None:
    """Send the server's URLs, by the seconds a reply takes; serve until the pipe is closed."""
    sys.path.append(str(TESTS))
    from support.loopback import FaultPlan, loopback

    with loopback() as loop:
        urls = dict[float, str]()
        for seed, think_s in enumerate((FAST_S, NO_S)):
            urls[think_s] = loop.url_of(FaultPlan(seed, think_s=think_s))
        pipe.send(urls)
        pipe.poll(None)


@contextmanager
def running_server() -> Iterator[dict[float, str]]:
    """Run the server in a process of its own; yield its URLs by the seconds that a reply takes."""
    ours, theirs = fresh.Pipe()
    server = fresh.Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    theirs.close()
    try:
        yield ours.recv()
    finally:
        ours.close()
        server.join()


def bench_replay(folder: str) -> None:
    """Time an evaluation over HTTP and its replay from the cache."""
    print(
        f"An evaluation over HTTP and its replay from the cache: {EACH} questions on each "
        f"10-minute video, 4 workers, 8×8 cells of 320 px, at most {CALLS} calls a question"
    )
    with running_server() as urls:
        compare(
            "empty cache, a reply takes 50 ms",
            urls[FAST_S],
            f"{folder}/fast",
            VIDEOS,
            goal=" (goal 100)",
        )
        compare("empty cache, a reply takes no time", urls[NO_S], f"{folder}/none", FEW)
    # A new server makes the same replies again, so the evaluation shows the same views.
    with running_server() as urls:
        compare("views cached, replies new, 50 ms", urls[FAST_S], f"{folder}/fast", FEW, sample=1)
    stats = ak.Cache(f"{folder}/fast/cache").stats()
    total = 0
    sizes = list[str]()
    for kind, counts in stats.items():
        total += counts["bytes"]
        if counts["bytes"] > 1e5:
            sizes.append(f"{kind} {counts['bytes'] / 1e6:.1f} MB")
    size(f"cache after {VIDEOS * EACH} questions", total, ", ".join(sizes))
    size("a reply, on average", stats["reply"]["bytes"] / stats["reply"]["entries"])


def compare(
    label: str, url: str, folder: str, videos: int, sample: int = 0, goal: str = ""
) -> None:
    """Print one line about an evaluation and its replay; fail if their results differ."""
    first = evaluate_in_new_process(url, folder, videos, sample)
    assert first.paid == first.calls
    replays = list[Run]()
    for _ in range(REPLAYS):
        replay = evaluate_in_new_process(url, folder, videos, sample)
        assert replay.results == first.results
        assert not replay.paid
        assert not replay.decoded
        replays.append(replay)
    replay_s = statistics.median(replay.elapsed_s for replay in replays)
    print(
        f"  {label + ':':<46}{videos * EACH:>4} questions, {first.calls} calls, "
        f"{first.sent_bytes / 1e6:.0f} MB sent in {first.elapsed_s:.1f} s; replayed, the same "
        f"results with no call and no frame, in {replay_s:.2f} s: "
        f"{first.elapsed_s / replay_s:.0f}×{goal}, {replay_s / first.calls * 1e3:.2f} ms a call "
        f"instead of {first.elapsed_s / first.calls * 1e3:.0f}",
        flush=True,
    )


def bench_view(path: Path, folder: str) -> None:
    """Time the view of the root grid of a video, cold and from the cache, and print its size."""
    print("The view of the root grid of a 10-minute 720p file, 8×8 cells of 320 px")
    video = ak.open_video(path)
    caches = [ak.Cache(f"{folder}/views-{number}") for number in range(COLD + 1)]
    empty_caches = iter(caches)
    view = ak.view(video, cache=caches[0])
    cold_s = seconds(lambda: View(video, view.grid, cache=next(empty_caches)).jpeg(), COLD)
    row("as bytes, from the cache (goal 30 ms)", seconds(view.jpeg, WARM), {"cold": cold_s})
    cold_s = seconds(lambda: View(video, view.grid, cache=next(empty_caches)).image, 1)
    row("as an image, from the cache", seconds(lambda: view.image, WARM), {"cold": cold_s})
    stats = caches[0].stats()
    tiles = f"and its {stats['tile']['entries']} tiles {format_bytes(stats['tile']['bytes'])}"
    size("the view", stats["view"]["bytes"], tiles)


class RecordingOracle:
    """An oracle that renders the images of a request, as a client does, and records the request."""

    def __init__(self, model: aw.Oracle) -> None:
        self.model = model
        self.name = model.name
        self.parameters = model.parameters
        self.requests: list[Request] = []

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Render the images of a request and return the oracle's reply."""
        self.requests.append(request)
        for image in request.images:
            image.jpeg()
        return self.model.complete(request, **control)


def bench_hits(folder: str) -> None:
    """Time a hit beside diskcache and a plain file, and print the size of a recording."""
    print("One cache hit (goal 1 ms)")
    cache = ak.Cache(f"{folder}/hits")
    plain = diskcache.Cache(f"{folder}/plain")
    for kind, length in (("reply", REPLY_BYTES), ("tile", TILE_BYTES)):
        key = f"{kind}:1:{'0' * 64}"
        value = bytes(length)
        file = Path(folder) / kind
        cache.put(key, value)
        plain[key] = value
        file.write_bytes(value)
        others = {
            "diskcache alone": seconds_of_one(lambda key=key: plain.get(key)),
            "reading a file": seconds_of_one(file.read_bytes),
        }
        hit_s = seconds_of_one(lambda key=key: cache.get(key))
        row(f"cache.get of a {kind}, {length / 1e3:.0f} kB", hit_s, others)
    world = aw.world(7, 600, questions=1, directory=folder)
    model = RecordingOracle(aw.Oracle(world))
    result = ak.ask(world.drawn, world.questions[0], vlm=model, search="paper", cache=cache)
    cached = Cached(model.model, cache)
    requests = list(model.requests)
    hits_s = seconds(lambda: [cached.complete(request) for request in requests], WARM)
    oracle_s = seconds(lambda: [model.model.complete(request) for request in requests], WARM)
    count = len(requests)
    label = "Cached.complete of a cached reply, in all"
    row(label, hits_s / count, {"the oracle": oracle_s / count})
    path = Path(folder) / "one.atlas"
    packed = archive.export(path, result, cache=cache)
    size(
        "the recording of a question",
        path.stat().st_size,
        f"{result.total.calls} calls, {dict(packed)}",
    )


def seconds_of_one(action: Callable[[], object]) -> float:
    """Return the seconds of an action that is too short to be timed alone."""
    return seconds(lambda: [action() for _ in range(HITS)], 5) / HITS


def row(label: str, elapsed_s: float, alternatives_s: Mapping[str, float]) -> None:
    """Print one line of the table: a time, then the time of each alternative by its name."""
    others = [f"{name} {other_s * 1e3:.3f} ms" for name, other_s in alternatives_s.items()]
    print(f"  {label:<46}{elapsed_s * 1e3:10.3f} ms   {', '.join(others)}", flush=True)


def size(label: str, count: float, details: str = "") -> None:
    """Print a size in bytes."""
    print(f"  {label:<46}{format_bytes(count):>13}   {details}", flush=True)


def format_bytes(count: float) -> str:
    """Format a number of bytes as MB or kB."""
    return f"{count / 1e6:.2f} MB" if count >= 1e6 else f"{count / 1e3:.2f} kB"


def main(path: Path) -> int:
    """Run the benchmarks of the cache.

    Args:
        path: A 10-minute video, whose views are measured.
    """
    with tempfile.TemporaryDirectory() as folder:
        bench_view(path, folder)
        bench_hits(folder)
        bench_replay(folder)
    return 0


if __name__ == "__main__":
    MEDIA.mkdir(parents=True, exist_ok=True)
    sys.exit(main(ten_minutes_720p()))
