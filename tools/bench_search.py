"""Measure the search with oracles: accuracy and cost by strategy, growth with duration, look-ahead.

A part of `make bench`. An oracle knows the script of a world, so these figures say how good the
search is, not how good a model is. Worlds are selection seeds from 0; intervals are 95 %, clustered
by worlds. With `--write FILE`, the tables also replace those between the markers of a Markdown
page.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from tqdm import tqdm

import atlaskit as ak
import atlasworld as aw
from atlaskit.environment.question import Question
from atlaskit.evaluation.intervals import interval
from atlaskit.models.protocol import CallControl, Reply, Request
from atlasworld import World
from atlasworld.questions import CATEGORIES

HOURS_10 = 36_000
MINUTES_10 = 600
WORLDS = 25
EACH = 4
"""Questions of each kind about each world: with all worlds, 100 of each kind."""
KINDS: dict[str, tuple[str, ...]] = {
    "choice": tuple(code for code in CATEGORIES if code != "WHEN"),
    "open": ("OPEN",),
    "when": ("WHEN",),
    "count": ("TALLY",),
    "summary": ("SUM",),
}
ORACLES = {"perfect": 0.0, "weak (0.1)": 0.1, "weaker (0.3)": 0.3}
STRATEGIES = ("dfs", "bfs", "beam", "auto")
SMALL: dict[str, Any] = {"cell": 32, "fit": "contain"}
"""Cells are small, since an oracle sees no pixels, and square, so that the tokens of the tables
stay comparable with those measured before."""


@dataclass(frozen=True)
class Run:
    """The outcome of one run."""

    seed: int
    oracle: str
    strategy: str
    kind: str
    right: bool
    calls: int
    tokens: int
    rounds: int
    evidence: int
    coverage: float


def world_of(
    seed: int, duration_s: float, categories: tuple[str, ...], count: int, clip_s: int | None = None
) -> World:
    """Return a world with questions of these categories; its video is never encoded."""
    return aw.world(
        seed,
        duration_s,
        questions=count,
        categories=categories,
        size=(128, 72),
        clip_s=clip_s,
        directory="cache/bench",
    )


def questions_of(seed: int, kind: str) -> tuple[World, tuple[Question, ...]]:
    """Return a ten-hour world with EACH questions of a kind; categories vary with the seed."""
    codes = KINDS[kind]
    categories = codes[seed % len(codes) :] + codes[: seed % len(codes)]
    world = world_of(seed, HOURS_10, categories, EACH)
    return world, world.questions


def runs_of(seed: int) -> list[Run]:
    """Run the questions of every kind about one seed's worlds, with every oracle and strategy."""
    runs = list[Run]()
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            world, questions = questions_of(seed, kind)
            for name, rate in ORACLES.items():
                oracle = aw.Oracle(world, miss=rate, confuse=rate, seed=seed)
                cache = ak.Cache(folder)
                for strategy in STRATEGIES:
                    search = ak.Search(traversal=strategy, **SMALL)
                    for question in questions:
                        result = ak.ask(
                            world.drawn, question, vlm=oracle, search=search, cache=cache
                        )
                        run = Run(
                            seed=seed,
                            oracle=name,
                            strategy=strategy,
                            kind=kind,
                            right=bool(result.is_right),
                            calls=result.total.calls,
                            tokens=result.total.tokens,
                            rounds=result.rounds,
                            evidence=len(result.evidence),
                            coverage=result.explored,
                        )
                        runs.append(run)
    return runs


def share(right: Sequence[bool], seeds: Sequence[int]) -> str:
    """Format a share with its interval: 90.4% (87.9 to 92.6)."""
    estimate = interval(list(map(float, right)), list(map(str, seeds)))
    return f"{estimate.mean:.1%} ({100 * estimate.low:.1f} to {100 * estimate.high:.1f})"


def amount(values: Sequence[float], seeds: Sequence[int], form: str = ".1f") -> str:
    """Format a mean with its interval: 9.3 (8.6 to 10.0)."""
    estimate = interval(list(map(float, values)), list(map(str, seeds)), are_shares=False)
    return f"{estimate.mean:{form}} ({estimate.low:{form}} to {estimate.high:{form}})"


def grouped(runs: list[Run]) -> Iterator[tuple[str, list[Run]]]:
    """Yield the runs of each oracle and strategy, with the first two cells of their row."""
    for oracle in ORACLES:
        for strategy in STRATEGIES:
            group = [run for run in runs if (run.oracle, run.strategy) == (oracle, strategy)]
            yield f"| {oracle} | {strategy} |", group


def scores(runs: list[Run]) -> Iterator[str]:
    """Yield the lines of the table: accuracy by kind and in all, of each oracle and strategy."""
    counts = dict[str, int]()
    for kind in KINDS:
        of_kind = sum(run.kind == kind for run in runs)
        counts[kind] = of_kind // len(ORACLES) // len(STRATEGIES)
    heads = [f"{kind} ({count})" for kind, count in counts.items()]
    yield f"| oracle | strategy | {' | '.join(heads)} | all ({sum(counts.values())}) |"
    yield "|---|---|" + "---:|" * (len(heads) + 1)
    for head, rows in grouped(runs):
        cells = [
            f"{statistics.mean(run.right for run in rows if run.kind == kind):.0%}"
            for kind in KINDS
        ]
        cells.append(share([run.right for run in rows], [run.seed for run in rows]))
        yield f"{head} {' | '.join(cells)} |"


def costs(runs: list[Run]) -> Iterator[str]:
    """Yield the lines of the table: the mean costs of each oracle and strategy."""
    forms = {
        "calls": ".1f",
        "tokens": ",.0f",
        "rounds": ".2f",
        "evidence": ".1f",
        "coverage": ".1%",
    }
    yield f"| oracle | strategy | {' | '.join(forms)} |"
    yield "|---|---|" + "---:|" * len(forms)
    for head, rows in grouped(runs):
        seeds = [run.seed for run in rows]
        cells = [
            amount([getattr(run, cost) for run in rows], seeds, form)
            for cost, form in forms.items()
        ]
        yield f"{head} {' | '.join(cells)} |"


def behind(runs: list[Run]) -> Iterator[str]:
    """Yield the lines of the table: points by which "auto" is behind the better of dfs and bfs."""
    yield "| oracle | the better of dfs and bfs | `auto` is behind it by |"
    yield "|---|---|---:|"
    for oracle in ORACLES:
        by_strategy: dict[str, list[Run]] = {strategy: [] for strategy in STRATEGIES}
        for run in runs:
            if run.oracle == oracle:
                by_strategy[run.strategy].append(run)
        better = max(("dfs", "bfs"), key=lambda name: sum(run.right for run in by_strategy[name]))
        # Both are in the same order of questions.
        pairs = list(zip(by_strategy[better], by_strategy["auto"], strict=True))
        points = [100.0 * (one.right - other.right) for one, other in pairs]
        yield f"| {oracle} | {better} | {amount(points, [one.seed for one, _ in pairs])} points |"


def runs_by_duration(seed: int) -> list[tuple[float, int, bool, int]]:
    """Run the same questions on ten minutes and on ten hours, with the perfect oracle.

    Returns:
        Duration in seconds, seed, whether the answer is right, and number of calls, of each run.
    """
    rows = list[tuple[float, int, bool, int]]()
    with tempfile.TemporaryDirectory() as folder:
        for duration_s in (MINUTES_10, HOURS_10):
            world = world_of(seed, duration_s, CATEGORIES, 24, clip_s=75)
            for question in world.questions:
                cache = ak.Cache(folder)
                result = ak.ask(
                    world.drawn,
                    question,
                    vlm=aw.Oracle(world),
                    search=ak.Search(**SMALL),
                    cache=cache,
                )
                rows.append((duration_s, seed, bool(result.is_right), result.total.calls))
    return rows


def growth(rows: list[tuple[float, int, bool, int]]) -> Iterator[str]:
    """Yield the lines of the table: accuracy and calls on ten minutes and on ten hours."""
    yield "| duration | questions | right | calls |"
    yield "|---|---:|---:|---:|"
    calls = list[float]()
    for duration_s, name in ((MINUTES_10, "10 minutes"), (HOURS_10, "10 hours")):
        group = [row for row in rows if row[0] == duration_s]
        _, seeds, right, counts = zip(*group, strict=True)
        calls.append(statistics.mean(counts))
        yield f"| {name} | {len(group)} | {share(right, seeds)} | {amount(counts, seeds)} |"
    yield f"| 60 times as long | | | {calls[1] / calls[0]:.2f} × |"


class SlowOracle:
    """An oracle that takes as long for a reply as a model does."""

    def __init__(self, oracle: aw.Oracle, delay_s: float) -> None:
        self.oracle = oracle
        self.delay_s = delay_s
        self.name = f"late {oracle.name}"
        self.parameters = oracle.parameters

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Return the oracle's reply after the delay."""
        time.sleep(self.delay_s)
        return self.oracle.complete(request)


def look_ahead(delay_s: float = 0.05, worlds: int = 3) -> Iterator[str]:
    """Yield the lines of the table: time and calls with and without look-ahead.

    The oracle is weak enough to need several rounds.
    """
    yield (
        f"| the next probe runs | seconds a question ({delay_s * 1e3:.0f} ms a call) | calls | "
        "rounds |"
    )
    yield "|---|---:|---:|---:|"
    for ahead, name in ((False, "between the rounds"), (True, "beside the workers")):
        seeds = list[int]()
        times_s = list[float]()
        calls = list[int]()
        rounds = list[int]()
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(worlds):
                world = world_of(seed, HOURS_10, CATEGORIES, 8)
                for question in world.questions:
                    model = SlowOracle(aw.Oracle(world, miss=0.3, seed=seed), delay_s)
                    began = time.perf_counter()
                    cache = ak.Cache(Path(folder) / str(seed))
                    search = ak.Search(look_ahead=ahead, **SMALL)
                    result = ak.ask(world.drawn, question, vlm=model, search=search, cache=cache)
                    seeds.append(seed)
                    times_s.append(time.perf_counter() - began)
                    calls.append(result.total.calls)
                    rounds.append(result.rounds)
        yield (
            f"| {name} | {amount(times_s, seeds, '.2f')} | {amount(calls, seeds)} | "
            f"{amount(rounds, seeds)} |"
        )


def write(page: Path, name: str, lines: list[str]) -> None:
    """Replace the lines of a page between `<!-- NAME -->` and `<!-- /NAME -->`."""
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(f"<!-- {name} -->\n")
    after = rest.split(f"<!-- /{name} -->")[1]
    page.write_text(
        f"{before}<!-- {name} -->\n" + "\n".join(lines) + f"\n<!-- /{name} -->{after}",
        encoding="utf-8",
    )


def publish(tables: Mapping[str, Iterable[str]], page: Path | None) -> None:
    """Print tables by name, and write those for which a page has markers.

    Args:
        tables: The lines of each table. A generator is run when its table is printed.
        page: The Markdown page.
    """
    for name, lines in tables.items():
        rows = list(lines)
        print("\n".join(["", name, *rows]), flush=True)
        if page and f"<!-- {name} -->" in page.read_text(encoding="utf-8"):
            write(page, name, rows)


def page_and_worlds(description: str | None, worlds: int) -> argparse.ArgumentParser:
    """Return a parser with `--write` and `--worlds`, which all benchmarks of the search have."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help="Markdown page with markers for the tables"
    )
    parser.add_argument(
        "--worlds", type=int, default=worlds, help=f"number of seeds of ten-hour worlds ({worlds})"
    )
    return parser


def main(page: Path | None = None, worlds: int = WORLDS) -> int:
    """Print all tables, and write them to a page if one is given."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        batches = tqdm(
            pool.map(runs_of, range(worlds)), "oracles and strategies", worlds, file=sys.stderr
        )
        runs = [run for batch in batches for run in batch]
        by_duration = [
            row for batch in pool.map(runs_by_duration, range(max(1, worlds // 5))) for row in batch
        ]
    tables = {
        "strategies": scores(runs),
        "costs": costs(runs),
        "auto": behind(runs),
        "growth": growth(by_duration),
        "look-ahead": look_ahead(),
    }
    publish(tables, page)
    return 0


if __name__ == "__main__":
    arguments = page_and_worlds(__doc__, WORLDS).parse_args()
    sys.exit(main(arguments.write, arguments.worlds))
