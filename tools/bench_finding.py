"""Compare the accuracy and cost of searches with the paper's search: a part of `make bench`.

Oracles answer questions of all kinds about ten-hour AtlasWorlds, the same questions with each
search. Worlds are of the development seeds; `--seeds test` is for the one measurement of a release.
With `--write FILE`, the tables also replace those between the markers of a Markdown page.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench_intervals import bounded, ratio_of_sums
from bench_search import (
    HOURS_10,
    KINDS,
    SMALL,
    SlowOracle,
    page_and_worlds,
    publish,
    questions_of,
    world_of,
)
from tqdm import tqdm

import atlaskit as ak
import atlasworld as aw
from atlaskit.agents.settings import BEST, PAPER
from atlaskit.evaluation.intervals import interval
from atlaskit.runs.result import Result
from atlasworld.questions import CATEGORIES
from atlasworld.ranges import RANGES, seeds

WORLDS = 10
"""Seeds, each with 20 questions: 4 of each kind, on a world of their own."""
RATES = (0.0, 0.1, 0.3)
"""Rates of `miss` and `confuse`."""
ARMS: dict[str, ak.Search] = {"paper": PAPER, "dfs": ak.Search(traversal="dfs"), "best": BEST}
"""The searches that are compared; the others are paired with the first."""
WORDED = {"dfs": ARMS["dfs"], "dfs, words": ak.Search(traversal="dfs", scouts=("words",))}
"""The searches that are compared on misleading subtitles: without and with the scout "words"."""
MISLED = ("S2A", "T2O")
"""Kinds of questions whose object a subtitle line may name in a wrong colour."""
DELAY_S = 0.5
"""Seconds that a call takes in the table of times."""
AT_ONCE = 8
"""Questions in flight in the table of times; their calls sleep, so they hardly compete."""


@dataclass(frozen=True)
class Run:
    """The outcome of one search."""

    seed: int
    rate: float
    arm: str
    right: bool
    calls: int
    tokens: int


def runs_of(seed: int) -> list[Run]:
    """Ask the questions about one seed's worlds with every search and every oracle."""
    runs = list[Run]()
    for kind in KINDS:
        world, questions = questions_of(seed, kind)
        for rate in RATES:
            oracle = aw.Oracle(world, miss=rate, confuse=rate, seed=seed)
            cache = ak.Cache(None)
            for question in questions:
                for arm, search in ARMS.items():
                    search = replace(search, **SMALL)
                    result = ak.ask(world.drawn, question, vlm=oracle, cache=cache, search=search)
                    runs.append(run_of(result, seed, rate, arm))
    return runs


def misled_runs_of(seed: int) -> list[Run]:
    """Ask the questions whose object a subtitle line names in a wrong colour."""
    runs = list[Run]()
    world = world_of(seed, HOURS_10, MISLED, 24)
    for question in world.questions:
        if not question.misleading_subtitle:
            continue
        for rate in RATES:
            oracle = aw.Oracle(world, miss=rate, confuse=rate, seed=seed)
            cache = ak.Cache(None)
            for arm, search in WORDED.items():
                search = replace(search, **SMALL)
                result = ak.ask(world.drawn, question, vlm=oracle, cache=cache, search=search)
                runs.append(run_of(result, seed, rate, arm))
    return runs


def run_of(result: Result, seed: int, rate: float, arm: str) -> Run:
    """Return the outcome of a search with its result."""
    total = result.total
    return Run(seed, rate, arm, bool(result.is_right), total.calls, total.tokens)


def table(runs: Sequence[Run]) -> Iterator[str]:
    """Yield the lines of the table: accuracy and cost, beside those of the paper's search."""
    yield (
        "| oracle | search | n | right | difference, points | calls | of the paper's | tokens | "
        "of the paper's |"
    )
    yield "|---|---|---:|---:|---:|---:|---:|---:|---:|"
    for rate in RATES:
        base = [run for run in runs if (run.rate, run.arm) == (rate, "paper")]
        clusters = [str(run.seed) for run in base]
        for arm in ARMS:
            rows = [run for run in runs if (run.rate, run.arm) == (rate, arm)]
            right = interval([float(run.right) for run in rows], clusters)
            gained = [
                100.0 * (run.right - before.right) for run, before in zip(rows, base, strict=True)
            ]
            better = interval(gained, clusters, are_shares=False)
            cells = [
                f"{rate:g}",
                arm,
                f"{len(rows)}",
                bounded(right, ".1%"),
                bounded(better, ".1f"),
            ]
            for cost, form in (("calls", ",.1f"), ("tokens", ",.0f")):
                spent = [float(getattr(run, cost)) for run in rows]
                before = [getattr(run, cost) for run in base]
                share = ratio_of_sums(spent, before, clusters)
                cells += [f"{statistics.mean(spent):{form}}", bounded(share, ".2f")]
            yield f"| {' | '.join(cells)} |"


def misled(runs: Sequence[Run]) -> Iterator[str]:
    """Yield the lines of the table: misleading subtitles, without and with the scout "words"."""
    yield (
        "| oracle | n | right without | right with words | better, worse | calls without | calls "
        "with words |"
    )
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for rate in RATES:
        before, after = (
            [run for run in runs if (run.rate, run.arm) == (rate, arm)] for arm in WORDED
        )
        better = sum(a.right < b.right for a, b in zip(before, after, strict=True))
        worse = sum(a.right > b.right for a, b in zip(before, after, strict=True))
        right = f"{sum(run.right for run in before)} | {sum(run.right for run in after)}"
        calls = [f"{statistics.mean(run.calls for run in rows):.1f}" for rows in (before, after)]
        yield f"| {rate:g} | {len(before)} | {right} | {better}, {worse} | {' | '.join(calls)} |"


def speed(first: int, worlds: int = 6) -> Iterator[str]:
    """Yield the lines of the table: seconds with one worker and with seven.

    The oracle overlooks 30 % of what it sees. Only questions that take more than one round with
    seven workers are timed.

    Args:
        first: The first seed of the worlds.
        worlds: The number of worlds.
    """
    questions = list[tuple[int, Any, Any]]()
    for seed in range(first, first + worlds):
        world = world_of(seed, HOURS_10, CATEGORIES, 8)
        for question in world.questions:
            questions.append((seed, world, question))

    def ask(case: tuple[int, Any, Any], workers: int, delay_s: float) -> tuple[float, int, int]:
        """Return seconds, calls and rounds of a question."""
        seed, world, question = case
        model = SlowOracle(aw.Oracle(world, miss=0.3, seed=seed), delay_s)
        began = time.perf_counter()
        search = ak.Search(traversal="dfs", **SMALL)
        result = ak.ask(
            world.drawn, question, vlm=model, workers=workers, search=search, cache=ak.Cache(None)
        )
        return time.perf_counter() - began, result.total.calls, result.rounds

    long = [case for case in questions if ask(case, 7, 0.0)[2] > 1]
    heads = ("1 worker: s, calls", "7 workers: s, calls", "times as fast", "at equal workload")
    yield f"| questions | {' | '.join(heads)} |"
    yield "|---|---:|---:|---:|---:|"

    def means(workers: int) -> tuple[float, float]:
        """Return the mean seconds and calls of the questions."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            timed = list(pool.map(lambda case: ask(case, workers, DELAY_S), long))
        mean_s = statistics.mean(elapsed_s for elapsed_s, _, _ in timed)
        return mean_s, statistics.mean(calls for _, calls, _ in timed)

    one_s, one_calls = means(1)
    seven_s, seven_calls = means(7)
    gain = one_s / seven_s
    gain_a_call = (one_s / one_calls) / (seven_s / seven_calls)
    cells = [
        f"{one_s:.1f}, {one_calls:.0f}",
        f"{seven_s:.1f}, {seven_calls:.0f}",
        f"{gain:.2f}",
        f"{gain_a_call:.2f}",
    ]
    yield f"| {len(long)} | {' | '.join(cells)} |"


def main(page: Path | None = None, worlds: int = WORLDS, name: str = "development") -> int:
    """Print the tables, and write them to a page if one is given."""
    chosen = seeds(name)[:worlds]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        batches = tqdm(pool.map(runs_of, chosen), "searches", worlds, file=sys.stderr)
        runs = [run for batch in batches for run in batch]
        misleading = [run for batch in pool.map(misled_runs_of, chosen) for run in batch]
    tables = {f"finding {name}": table(runs), f"misled {name}": misled(misleading)}
    if name == "development":
        tables["speed"] = speed(chosen[0])
    publish(tables, page)
    return 0


if __name__ == "__main__":
    parser = page_and_worlds(__doc__, WORLDS)
    parser.add_argument("--seeds", choices=RANGES, default="development", help="range of the seeds")
    arguments = parser.parse_args()
    sys.exit(main(arguments.write, arguments.worlds, arguments.seeds))
