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
        seeds: Name of a range: see `atlasworld.seeds`.
        minutes: Duration of each world, in minutes.
        drawn: Whether frames are drawn on demand, and no file is encoded.
        absent: Whether to mix in questions about things that a world lacks. "Not there" is then a
            possible answer to each question, and only categories with both kinds of questions are
            used.

    Raises:
        InputError: If a value breaks a rule.
    """
    check_whole("worlds", worlds)
    check_positive(minutes=minutes)
    categories = tuple(ABSENTS) if absent else None
    all_cases = list[Case]()
    for seed in seeds_of(seeds)[:worlds]:
        each = world(seed, 60.0 * minutes, categories=categories, directory=root)
        all_cases += each.cases(drawn=drawn, absent=absent)
    return Benchmark("AtlasWorld", tuple(all_cases))


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
        minutes: Durations of the AtlasWorlds, in minutes. With a dataset, a question is asked about
            its own video and about a long variant, which lasts up to the longest of these
            durations; with a single duration, about the variant alone.
        worlds: AtlasWorlds of each duration.
        questions: Questions about each AtlasWorld.
        seeds: Name of the range of the AtlasWorlds' seeds: see `atlasworld.seeds`.
        first: Number of questions to take from the dataset; all if None.
        where: Values of columns that the dataset's questions must have: see `standard_and_long`.
        subtitles: Whether the dataset's videos get their subtitles.

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
    all_cases = list[Case]()
    for length in minutes:
        duration_s = 60 * length
        # A world made of clips has the same questions at any duration; it needs eight clips.
        clip_s = 150 if duration_s >= 1200 else None
        for seed in seeds_of(seeds)[:worlds]:
            each = world(seed, duration_s, questions=questions, clip_s=clip_s)
            all_cases += each.cases(drawn=True)
    return all_cases
