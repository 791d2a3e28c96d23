"""The dataset in a folder, whichever it is: its questions about standard and long videos (§4.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

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


def _labelled(cases: Iterable[Case], length: str, duration_s: float) -> Iterator[Case]:
    for case in cases:
        yield replace(case, facts={**case.facts, "duration_s": duration_s, "length": length})
