"""Whatever dataset lies in a folder, as it is and hours long: what the paper's tables compare (§4.1)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import median

from atlaskit.benchmarks.benchmark import Benchmark
from atlaskit.benchmarks.longvideobench import longvideobench
from atlaskit.benchmarks.tenhour import HOURS_10_S, ten_hour
from atlaskit.benchmarks.videomme import videomme
from atlaskit.errors import InputError

LOADERS = {"videos": longvideobench, "data": videomme}
"""By the folder in which the videos lie."""


def standard_and_long(
    root: str | Path, *, first: int | None = None, subtitles: bool = True, duration_s: float = HOURS_10_S
) -> Benchmark:
    """Load the questions of LongVideoBench or Video-MME, each twice: about its video, and about it among others.

    Of questions without a known answer none can be scored, so they are left out; of the others the `first` are taken,
    all if not given. The fact `duration_s` is the median length of the videos for the former, and that of all longer
    ones for the latter, so that there are two places on an axis of durations; `length` is "standard" or "long". Raises
    InputError for a folder that holds neither, and as the loaders do.
    """
    home = Path(root)
    loader = next((load for folder, load in LOADERS.items() if (home / folder).is_dir()), None)
    if loader is None:
        raise InputError(
            f"{home} holds neither videos/, as LongVideoBench does, nor data/, as Video-MME does: name one of them."
        )
    found = loader(home, subtitles=subtitles)
    asked = [case for case in found if case.question.answer is not None][:first]
    moved = ten_hour(asked, among=found, duration_s=duration_s, progress=True)
    usual_s = median(case.opened().duration_s for case in {case.video: case for case in asked}.values())
    long_s = median(case.facts["duration_s"] for case in moved)
    cases = [
        *(replace(case, facts={**case.facts, "duration_s": usual_s, "length": "standard"}) for case in asked),
        *(replace(case, facts={**case.facts, "duration_s": long_s, "length": "long"}) for case in moved),
    ]
    return Benchmark(f"{found.name}, as it is and long", tuple(cases), found.missing)
