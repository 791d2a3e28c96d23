"""`benchmark`: worlds as a dataset of the command line, `atlaskit evaluate atlasworld`."""

from __future__ import annotations

from pathlib import Path

from atlaskit.benchmarks.benchmark import Benchmark
from atlaskit.errors import check_positive, check_whole
from atlasworld.ranges import seeds as seeds_of
from atlasworld.worlds import world


def benchmark(
    root: str | Path = "cache/atlasworld",
    *,
    worlds: int = 1,
    seeds: str = "selection",
    minutes: float = 10.0,
    drawn: bool = False,
) -> Benchmark:
    """Return the questions about the first worlds of a range of seeds.

    Args:
        root: Folder under which their videos are written.
        worlds: How many worlds.
        seeds: Name of a range: see `seeds`.
        minutes: Minutes of each world.
        drawn: Whether frames are drawn on demand, and no file is encoded.

    Raises:
        InputError: If a value breaks a rule.
    """
    check_whole("worlds", worlds)
    check_positive(minutes=minutes)
    made = [world(seed, 60.0 * minutes, directory=root) for seed in seeds_of(seeds)[:worlds]]
    return Benchmark("AtlasWorld", tuple(case for each in made for case in each.cases(drawn=drawn)))
