"""Compare searches by nano in ten hours of video with its plain search: a part of `make bench`.

By default there are few questions; `--worlds 36` asks the 200 or so that are needed to detect a
difference of five points. Worlds are of the development seeds; `--seeds test` is for the one
measurement of a release. vLLM serves nano with the number of engines that is fastest here. Replies
are cached in cache/bench/nano, so that a measurement that was interrupted continues.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_intervals import bounded, ratio_of_sums
from bench_search import HOURS_10, page_and_worlds, publish
from bench_video import MEDIA

import atlaskit as ak
import atlasworld as aw
from atlaskit.benchmarks.case import Case
from atlaskit.evaluation.intervals import interval
from atlasworld.ranges import seeds

if TYPE_CHECKING:
    import pandas as pd

WORLDS = 3
"""Worlds of a short measurement."""
QUESTIONS = 6
"""Questions about each world."""
FIRST = {"development": 500_000, "test": 900}
"""Index of the first world in each range of seeds; no other measurement uses worlds from there."""
IN_FLIGHT = 16
ARMS: dict[str, dict[str, Any]] = {
    "without": {},
    "once": {"max_rounds": 4},
    "shots": {"sampling": "shots"},
}
"""The searches that are compared; the others are paired with "without". Four rounds of four workers
visit each root cell once. Scouts and votes are not compared: nano's prompts have no hints, and its
temperature is 0."""


def table(runs: dict[str, pd.DataFrame]) -> Iterator[str]:
    """Yield the lines of the table: accuracy and cost, compared with the plain search."""
    yield (
        "| search | n | right | difference, points | won, lost | calls | tokens | of those "
        "without |"
    )
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    base = runs["without"]
    clusters = base["video"].tolist()
    for arm, rows in runs.items():
        gained = [
            100.0 * (after - before)
            for after, before in zip(rows["right"], base["right"], strict=True)
        ]
        share = ratio_of_sums(rows["tokens"].tolist(), base["tokens"].tolist(), clusters)
        cells = [
            arm,
            f"{len(rows)}",
            bounded(interval(rows["right"].astype(float).tolist(), clusters), ".1%"),
            bounded(interval(gained, clusters, are_shares=False), ".1f"),
            f"{sum(gain > 0 for gain in gained)}, {sum(gain < 0 for gain in gained)}",
            f"{statistics.mean(rows['calls']):,.1f}",
            f"{statistics.mean(rows['tokens']):,.0f}",
            bounded(share, ".2f"),
        ]
        yield f"| {' | '.join(cells)} |"


def main(
    page: Path | None = None,
    worlds: int = WORLDS,
    name: str = "development",
    arms: Sequence[str] = tuple(ARMS),
    skip: int = 0,
) -> int:
    """Print the table, and write it to a page if one is given.

    Args:
        page: The Markdown page.
        worlds: The number of worlds.
        name: The range of their seeds.
        arms: The names of the searches, "without" among them.
        skip: How many worlds to leave out at the beginning.
    """
    home = MEDIA / "nano"
    cache = ak.Cache(home / "replies")
    first = FIRST[name] + skip
    cases = list[Case]()
    for seed in seeds(name)[first : first + worlds]:
        cases += aw.world(seed, HOURS_10, questions=QUESTIONS, directory=home).cases()
    runs = dict[str, "pd.DataFrame"]()
    with ak.serve("nano", data_parallel="auto") as vlm:
        for arm in arms:
            search = ak.Search(**ARMS[arm])
            runs[arm] = ak.evaluate(cases, vlm=vlm, search=search, cache=cache, parallel=IN_FLIGHT)
    publish({f"nano {name}": table(runs)}, page)
    return 0


if __name__ == "__main__":
    parser = page_and_worlds(__doc__, WORLDS)
    parser.add_argument("--seeds", choices=FIRST, default="development", help="range of the seeds")
    parser.add_argument(
        "--arms", nargs="+", choices=ARMS, default=[*ARMS], help="which searches, without first"
    )
    parser.add_argument(
        "--skip", type=int, default=0, help="worlds to leave out: those that were asked before"
    )
    arguments = parser.parse_args()
    sys.exit(
        main(
            page=arguments.write,
            worlds=arguments.worlds,
            name=arguments.seeds,
            arms=arguments.arms,
            skip=arguments.skip,
        )
    )
