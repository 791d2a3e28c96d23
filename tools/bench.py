"""Measure what atlaskit costs in time and memory: `make bench`.

Each speed is printed beside that of a named alternative, measured in the same run. The videos are
made by the benchmark and cached in cache/bench.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Unpack

import av
import bench_cache
import bench_explorer
import bench_finding
import bench_nano
import bench_search
import bench_server
import bench_video
import numpy as np
from bench_video import MEDIA, seconds, ten_minutes_720p

import atlaskit as ak
import atlasworld as aw
from atlaskit.environment.render import View
from atlaskit.models.protocol import CallControl, Reply, Request
from atlasworld import World

REPEATS = 5
"""Number of repetitions; the tables show the median."""


def seek_per_frame(path: Path, times_s: list[float], size: tuple[int, int]) -> list[np.ndarray]:
    """Return the frames at some times with plain PyAV: seek before each one and decode up to it."""
    frames = list[np.ndarray]()
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        stream.thread_type = "AUTO"
        for time_s in times_s:
            container.seek(int(time_s / stream.time_base), stream=stream)
            latest = None
            for frame in container.decode(stream):
                if float(frame.pts * stream.time_base) > time_s + 1e-6:
                    break
                latest = frame
            frames.append(latest.to_ndarray(format="rgb24", width=size[0], height=size[1]))
    return frames


def row(label: str, elapsed_s: float, alternative: str = "", alternative_s: float = 0.0) -> None:
    """Print one line of the table: a time, and how much faster it is than an alternative."""
    comparison = ""
    if alternative:
        times = alternative_s / elapsed_s
        comparison = f"{times:6.1f}× as fast as {alternative} ({alternative_s * 1e3:.1f} ms)"
    print(f"  {label:<44}{elapsed_s * 1e3:10.1f} ms   {comparison}", flush=True)


def bench_views(folder: str) -> None:
    """Time the views of the root grid and of one expansion, cold and cached."""
    path = ten_minutes_720p()
    print("Views of a 10-minute 720p file, 8×8 cells of 320 px")
    row("open", seconds(lambda: ak.open_video(path), REPEATS))
    cache = ak.Cache(Path(folder) / "views")
    root = ak.view(ak.open_video(path), cache=cache)
    views: dict[str, View] = {"root grid": root, "expansion of cell 12": root.expand(12)}
    for name, view in views.items():
        times = [cell.midpoint_s for cell in view.cells]
        naive = seconds(lambda times=times: seek_per_frame(path, times, (320, 180)))
        cold = seconds(view.jpeg)
        cached = seconds(view.jpeg, REPEATS)
        row(f"{name}, cold", cold, "seek per frame without rendering", naive)
        row(f"{name}, cached", cached, "cold", cold)
        row(f"{name}, cached, as an image", seconds(lambda view=view: view.image, REPEATS))
        print(f"  {'':<44}{len(view.jpeg()) / 1e6:10.2f} MB")


class MemoizedOracle:
    """An oracle that repeats its earlier replies at once, and records all requests."""

    def __init__(self, oracle: aw.Oracle) -> None:
        self.oracle = oracle
        self.name = f"instant {oracle.name}"
        self.parameters = oracle.parameters
        self.replies: dict[str, Reply] = {}
        self.requests: list[Request] = []

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Return the earlier reply to a request, or the oracle's reply to a new one."""
        key = f"{request.step} {hash(request.messages)}"
        self.requests.append(request)
        if key not in self.replies:
            self.replies[key] = self.oracle.complete(request)
        return self.replies[key]


def bench_calls(folder: str) -> None:
    """Time atlaskit's own share of a model call."""
    world: World = aw.world(7, 600, questions=16, directory=folder)
    model = MemoizedOracle(aw.Oracle(world, miss=0.2))

    def ask_all(cache: ak.Cache) -> int:
        calls = 0
        search = ak.Search(cell=64)
        for question in world.questions:
            result = ak.ask(world.drawn, question, vlm=model, cache=cache, workers=1, search=search)
            calls += result.total.calls
        return calls

    # In this run the oracle makes the replies; in the timed runs the model repeats them.
    calls = ask_all(ak.Cache(Path(folder) / "oracle"))
    model.requests.clear()
    cache = ak.Cache(Path(folder) / "calls")
    per_call = seconds(lambda: ask_all(cache)) / calls
    requests = list(model.requests)
    oracle_alone = seconds(lambda: [model.complete(request) for request in requests]) / calls
    replay = seconds(lambda: ask_all(cache)) / calls
    print(
        f"One model call, with an oracle that replies at once ({calls} calls, "
        f"{len(world.questions)} questions)"
    )
    row("time per call, in all", per_call)
    row("of which the oracle alone", oracle_alone)
    row("overhead of atlaskit per call", per_call - oracle_alone)
    row("time per call, replayed from the cache", replay, "the first run", per_call)


def main() -> int:
    """Run all benchmarks and print their tables."""
    MEDIA.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        bench_views(folder)
        bench_calls(folder)
    bench_cache.main(ten_minutes_720p())
    bench_search.main()
    bench_finding.main()
    bench_video.bench_world(MEDIA)
    bench_video.table(MEDIA)
    bench_explorer.main(MEDIA)
    bench_server.main()
    bench_nano.main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
