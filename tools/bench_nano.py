"""Measure nano at ten hours with what finds more and looks less, paired with nano without it.

A part of `make bench`, with few questions; `--worlds 36` asks the 200 or so that tell five points.
Worlds are of the development seeds; `--seeds test` is for the one measurement of a release. vLLM
serves nano with as many engines as serve best. Replies are cached in cache/bench/nano, so that a
measurement that was interrupted continues.
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
from atlaskit.evaluation.intervals import interval
from atlasworld.ranges import seeds

if TYPE_CHECKING:
    import pandas as pd

WORLDS, QUESTIONS = 3, 6
"""Worlds of a short measurement, and questions about each."""
FIRST = {"development": 500_000, "test": 900}
"""Where in each range of seeds the worlds begin: no other measurement of nano reads these."""
IN_FLIGHT = 16
ARMS: dict[str, dict[str, Any]] = {
    "without": {},
    "once": {"max_rounds": 4},
    "shots": {"sampling": "shots"},
}
"""The searches that are compared. Four rounds of four workers visit each root cell once. nano is
told no hints, and at temperature 0 it has no votes."""


def table(runs: dict[str, pd.DataFrame]) -> Iterator[str]:
    """Yield the lines of the table: accuracy and cost, beside those of the search without all."""
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
    """Print the table, and write it to a page if one is given."""
    home = MEDIA / "nano"
    cache, chosen = ak.Cache(home / "replies"), seeds(name)[FIRST[name] + skip :][:worlds]
    films = [aw.world(seed, HOURS_10, questions=QUESTIONS, directory=home) for seed in chosen]
    cases = [case for film in films for case in film.cases()]
    every = {"cache": cache, "parallel": IN_FLIGHT}
    with ak.serve("nano", data_parallel="auto") as vlm:
        runs = {
            arm: ak.evaluate(cases, vlm=vlm, search=ak.Search(**ARMS[arm]), **every) for arm in arms
        }
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
    chosen = arguments.seeds, arguments.arms, arguments.skip
    sys.exit(main(arguments.write, arguments.worlds, *chosen))
