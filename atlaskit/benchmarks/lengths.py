"""The dataset in a folder, whichever it is: its questions about standard and long videos (§4.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from atlaskit.benchmarks.atlasworld import atlasworld
from atlaskit.benchmarks.atlasworld.seeds import seeds as named_seeds
from atlaskit.benchmarks.benchmark import Benchmark
from atlaskit.benchmarks.case import Case
from atlaskit.benchmarks.datasets.registry import dataset_in
from atlaskit.benchmarks.tenhour import TEN_HOURS_S, ten_hour


def standard_and_long(
    root: str | Path,
    *,
    first: int | None = None,
    where: Mapping[str, Any] | None = None,
    subtitles: bool = True,
    duration_s: float = TEN_HOURS_S,
) -> Benchmark:
    """Load the dataset in a folder; return each question about its video, and about a variant.

    Questions without a published answer are left out, because they cannot be scored. The fact
    `length` is "standard" or "long". The fact `duration_s` is the median duration of all standard
    or all long videos, so that the results lie at two points of a duration axis.

    Args:
        root: Folder of the dataset.
        first: Number of questions to take; all if None.
        where: Values of columns that questions must have, as `Benchmark.where` takes them: the long
            subset is {"duration_group": 3600} of LongVideoBench, {"duration": "long"} of Video-MME.
        subtitles: Whether the videos get their subtitles.
        duration_s: Longest duration of a long variant, in seconds.

    Raises:
        InputError: The folder holds the rows of no dataset that has a loader, or of several, or
            its loader refuses it.

    Examples:
        >>> both = ak.benchmarks.standard_and_long("data/videomme", duration_s=600)
        >>> [case.facts["length"] for case in both]
        ['standard', 'standard', 'long', 'long']
    """
    home = Path(root)
    dataset = dataset_in(home).load(home, subtitles=subtitles)
    chosen = dataset.where(**where) if where else dataset
    standard = [case for case in chosen if case.question.answer is not None][:first]
    long = ten_hour(standard, among=dataset, duration_s=duration_s, progress=True)
    videos = {case.video: case for case in standard}
    standard_s = median(case.opened().duration_s for case in videos.values())
    long_s = median(case.facts["duration_s"] for case in long)
    cases = (*_labelled(standard, "standard", standard_s), *_labelled(long, "long", long_s))
    return Benchmark(f"{dataset.name}, as it is and long", cases, dataset.missing)


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
        >>> len(ak.benchmarks.cases(minutes=[20, 60], worlds=2, questions=3))
        12
    """
    if data:
        options = {"first": first, "where": where, "subtitles": subtitles}
        both = standard_and_long(data, duration_s=60 * max(minutes), **options)  # type: ignore[arg-type]
        return list(both if len(minutes) > 1 else both.where(length="long"))
    sizes = [(seed, 60 * length) for length in minutes for seed in named_seeds(seeds)[:worlds]]
    made = [atlasworld(seed, size, questions=questions, clip_s=150 if size >= 1200 else None) for seed, size in sizes]
    return [case for world in made for case in world.cases(drawn=True)]


def _labelled(cases: Iterable[Case], length: str, duration_s: float) -> Iterator[Case]:
    for case in cases:
        yield replace(case, facts={**case.facts, "duration_s": duration_s, "length": length})
