"""The dataset in a folder, whichever it is: its questions about standard and long videos (§4.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

from atlaskit.benchmarks.benchmark import Benchmark
from atlaskit.benchmarks.case import Case
from atlaskit.benchmarks.datasets.longvideobench import longvideobench
from atlaskit.benchmarks.datasets.videomme import videomme
from atlaskit.benchmarks.tenhour import TEN_HOURS_S, ten_hour
from atlaskit.errors import InputError

LOADERS = {"videos": longvideobench, "data": videomme}
"""Loader of each dataset, by the folder in which the dataset keeps its videos."""


def standard_and_long(
    root: str | Path, *, first: int | None = None, subtitles: bool = True, duration_s: float = TEN_HOURS_S
) -> Benchmark:
    """Load LongVideoBench or Video-MME; return each question about its video, and about a variant.

    Questions without a published answer are left out, because they cannot be scored. The fact
    `length` is "standard" or "long". The fact `duration_s` is the median duration of all standard
    or all long videos, so that the results lie at two points of a duration axis.

    Args:
        root: Folder of the dataset.
        first: Number of questions to take; all if None.
        subtitles: Whether the videos get their subtitles.
        duration_s: Longest duration of a long variant, in seconds.

    Raises:
        InputError: The folder holds neither dataset, or its loader refuses it.
    """
    home = Path(root)
    loader = next((load for folder, load in LOADERS.items() if (home / folder).is_dir()), None)
    if loader is None:
        raise InputError(
            f"{home} holds neither videos/ (LongVideoBench) nor data/ (Video-MME); pass one of their folders."
        )
    dataset = loader(home, subtitles=subtitles)
    standard = [case for case in dataset if case.question.answer is not None][:first]
    long = ten_hour(standard, among=dataset, duration_s=duration_s, progress=True)
    videos = {case.video: case for case in standard}
    standard_s = median(case.opened().duration_s for case in videos.values())
    long_s = median(case.facts["duration_s"] for case in long)
    cases = (*_labelled(standard, "standard", standard_s), *_labelled(long, "long", long_s))
    return Benchmark(f"{dataset.name}, as it is and long", cases, dataset.missing)


def _labelled(cases: Iterable[Case], length: str, duration_s: float) -> Iterator[Case]:
    for case in cases:
        yield replace(case, facts={**case.facts, "duration_s": duration_s, "length": length})
