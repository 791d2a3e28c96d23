"""Questions about many worlds.

`benchmark` is the dataset behind `atlaskit evaluate atlasworld`. `cases` returns the questions of
an experiment: about worlds of several durations, or about a dataset.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from atlaskit.benchmarks.case import Benchmark, Case
from atlaskit.benchmarks.tenhour import standard_and_long
from atlaskit.errors import check_positive, check_whole
from atlasworld.questions import ABSENTS
from atlasworld.ranges import seeds as seeds_of
from atlasworld.worlds import world


def benchmark(
    root: str | Path = "cache/atlasworld",
    *,
    worlds: int = 1,
    seeds: str = "selection",
    minutes: float = 10.0,
    drawn: bool = False,
    absent: bool = False,
) -> Benchmark:
    """Return the questions about the first worlds of a range of seeds.

    Args:
        root: Folder under which their videos are written.
        worlds: How many worlds.
        seeds: Name of a range: see `seeds`.
        minutes: Minutes of each world.
        drawn: Whether frames are drawn on demand, and no file is encoded.
        absent: Whether to mix in questions about things that a world lacks. Each question may then
            be answered "not there", and only categories that have both kinds are used.

    Raises:
        InputError: If a value breaks a rule.
    """
    check_whole("worlds", worlds)
    check_positive(minutes=minutes)
    categories = tuple(ABSENTS) if absent else None
    found = list[Case]()
    for seed in seeds_of(seeds)[:worlds]:
        one = world(seed, 60.0 * minutes, categories=categories, directory=root)
        found += one.cases(drawn=drawn, absent=absent)
    return Benchmark("AtlasWorld", tuple(found))


def cases(
    data: str = "",
    *,
    minutes: Sequence[float],
    worlds: int = 3,
    questions: int = 8,
    seeds: str = "test",
    first: int | None = None,
    where: Mapping[str, Any] | None = None,
    subtitles: bool = True,
) -> list[Case]:
    """Return the questions of an experiment: about the dataset in a folder, or about AtlasWorlds.

    Args:
        data: Folder of a dataset; "" for AtlasWorlds.
        minutes: Durations of the AtlasWorlds. Of a dataset, each question is asked about its own
            video and about a variant as long as the longest of these; about the variant alone if
            there is but one.
        worlds: AtlasWorlds of each duration.
        questions: Questions about each AtlasWorld.
        seeds: Seeds of the AtlasWorlds: see `seeds`.
        first: As `standard_and_long` takes it, as are those that follow.

    Raises:
        InputError: As `standard_and_long`, or if no seeds have that name.

    Examples:
        >>> len(aw.cases(minutes=[20, 60], worlds=2, questions=3))
        12
    """
    if data:
        both = standard_and_long(
            data,
            duration_s=60 * max(minutes),
            first=first,
            where=where,
            subtitles=subtitles,
        )
        return list(both if len(minutes) > 1 else both.where(length="long"))
    found = list[Case]()
    for length in minutes:
        duration_s = 60 * length
        clip_s = 150 if duration_s >= 1200 else None
        for seed in seeds_of(seeds)[:worlds]:
            one = world(seed, duration_s, questions=questions, clip_s=clip_s)
            found += one.cases(drawn=True)
    return found
