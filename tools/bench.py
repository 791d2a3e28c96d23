"""What the kit costs, measured: `make bench`.

Every speed stands beside a named alternative of the same run. The media is made on the spot and kept in cache/bench.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Unpack

import av
import bench_cache
import bench_explorer
import bench_search
import bench_server
import bench_video
import numpy as np
from bench_video import seconds

import atlaskit as ak
from atlaskit.benchmarks.atlasworld import World
from atlaskit.environment.render import View
from atlaskit.models.protocol import CallControl, Reply, Request

MEDIA = Path("cache/bench")
REPEATS = 5


def ten_minutes_720p() -> Path:
    """Return a 10-minute 1280×720 H.264 file at 24 fps: a filmed minute, joined ten times by stream copy."""
    path = MEDIA / "ten-minutes-720p.mp4"
    if path.exists():
        return path
    minute = ak.benchmarks.atlasworld(1, 60, size=(1280, 720), fps=24, directory=MEDIA, progress=True).video
    return bench_video.repeated(minute.path, path.with_suffix(".part.mp4"), 10).rename(path)


def seek_per_frame(path: Path, times_s: list[float], size: tuple[int, int]) -> list[np.ndarray]:
    """The alternative: seek to each frame by itself and decode up to it, with plain PyAV."""
    frames = []
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        stream.thread_type = "AUTO"
        for time_s in times_s:
            container.seek(int(time_s / stream.time_base), stream=stream)
            shown = None
            for frame in container.decode(stream):
                if float(frame.pts * stream.time_base) > time_s + 1e-6:
                    break
                shown = frame
            frames.append(shown.to_ndarray(format="rgb24", width=size[0], height=size[1]))
    return frames


def row(what: str, took_s: float, beside: str = "", other_s: float = 0.0) -> None:
    """Print one line of the table."""
    ratio = f"{other_s / took_s:6.1f}× as fast as {beside} ({other_s * 1e3:.1f} ms)" if beside else ""
    print(f"  {what:<44}{took_s * 1e3:10.1f} ms   {ratio}", flush=True)


def bench_views(folder: str) -> None:
    """Time the root grid and one expansion, cold and cached."""
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


class Instant:
    """An oracle that was asked before: it answers at once, and remembers what it was asked."""

    def __init__(self, oracle: ak.Oracle) -> None:
        self.oracle, self.name, self.parameters = oracle, f"instant {oracle.name}", oracle.parameters
        self.replies: dict[str, Reply] = {}
        self.asked: list[Request] = []

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Answer at once what was answered before."""
        key = f"{request.step} {hash(request.messages)}"
        self.asked.append(request)
        if key not in self.replies:
            self.replies[key] = self.oracle.complete(request)
        return self.replies[key]


def bench_calls(folder: str) -> None:
    """Time the kit's own share of a model call."""
    world: World = ak.benchmarks.atlasworld(7, 600, questions=16, directory=folder)
    model = Instant(ak.Oracle(world, miss=0.2))
    caches = iter(range(10**6))

    def all_questions() -> int:
        cache = ak.Cache(Path(folder) / f"calls-{next(caches)}")
        options = {"vlm": model, "cache": cache, "workers": 1, "cell": 64}
        return sum(ak.ask(world.drawn, question, **options).total.calls for question in world.questions)

    calls = all_questions()
    model.asked.clear()
    through_kit = seconds(all_questions) / calls
    asked = list(model.asked)
    alone = seconds(lambda: [model.complete(request) for request in asked]) / calls
    replayed = ak.Cache(Path(folder) / f"calls-{next(caches) - 1}")
    replay = seconds(
        lambda: [ak.ask(world.drawn, q, vlm=model, cache=replayed, workers=1, cell=64) for q in world.questions]
    )
    print(f"One model call, with an oracle that answers at once ({calls} calls of {len(world.questions)} questions)")
    row("time per call through the kit", through_kit)
    row("of which the oracle alone", alone)
    row("toolkit overhead per call", through_kit - alone)
    row("the same per call, replayed from the cache", replay / calls, "the first run", through_kit)


def main() -> int:
    """Run all benchmarks."""
    MEDIA.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        bench_views(folder)
        bench_calls(folder)
    bench_cache.main(ten_minutes_720p())
    bench_search.main()
    bench_video.atlasworld(MEDIA)
    bench_video.table(MEDIA)
    bench_explorer.main(MEDIA)
    bench_server.main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
