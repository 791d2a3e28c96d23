"""`python -m atlaskit evaluate …`: put a number on a method without a notebook, and keep the table."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from atlaskit.agents.baselines import METHODS
from atlaskit.benchmarks.atlasworld import Oracle, World, atlasworld
from atlaskit.benchmarks.benchmark import Benchmark
from atlaskit.benchmarks.longvideobench import longvideobench
from atlaskit.benchmarks.tenhour import ten_hour
from atlaskit.benchmarks.videomme import videomme
from atlaskit.caching.cache import Cache
from atlaskit.cli.cache import add_cache_option
from atlaskit.errors import InputError, printable
from atlaskit.evaluation import statistics, tables
from atlaskit.evaluation.executors import ENGINES
from atlaskit.evaluation.runner import evaluate
from atlaskit.models.protocol import Model
from atlaskit.models.serving.server import serve

HOUR_S = 3600.0
SYNTHETIC = "atlasworld"
DATASETS = {"longvideobench": longvideobench, "videomme": videomme}


def add_evaluate_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `evaluate` to the commands of the command line."""
    asking = commands.add_parser(
        "evaluate",
        help="ask all questions of a benchmark by a method, and keep a table of it",
        description="Killed, the same command goes on where it was: what was answered is in the cache.",
    )
    asking.set_defaults(run=_evaluate)
    asking.add_argument("benchmark", choices=(*DATASETS, SYNTHETIC))
    asking.add_argument("--root", type=Path, help="the dataset's folder; of AtlasWorld, where its films lie")
    asking.add_argument(
        "--out", type=Path, required=True, help="the table: a .csv or .parquet file; its settings come beside it"
    )
    asking.add_argument("--samples", type=Path, metavar="FILE", help="also as lmms-eval's samples, a .jsonl file")

    chosen = asking.add_argument_group("which questions")
    chosen.add_argument(
        "--where",
        nargs="+",
        action="append",
        default=[],
        metavar=("COLUMN", "VALUE"),
        help="only those whose column has one of the values: --where duration_group 600 3600",
    )
    chosen.add_argument("--no-subtitles", action="store_true", help="leave subtitles out")
    chosen.add_argument("--hours", type=float, help="each video among others, so many hours in all (the paper: 10)")
    chosen.add_argument("--seed", type=int, default=0, help="of the places among others (0)")
    chosen.add_argument("--first", type=int, metavar="N", help="only the first N questions")
    chosen.add_argument("--worlds", type=int, default=1, help="of AtlasWorld: how many, from seed 0 on (1)")
    chosen.add_argument("--minutes", type=float, default=10.0, help="of AtlasWorld: how long each is (10)")

    how = asking.add_argument_group("how")
    how.add_argument("--method", choices=tuple(METHODS), default="video-rlm")
    how.add_argument(
        "--set",
        nargs=2,
        action="append",
        default=[],
        dest="settings",
        metavar=("NAME", "VALUE"),
        help="a setting of the method: --set workers 8",
    )
    models = how.add_mutually_exclusive_group(required=True)
    models.add_argument(
        "--model", help="served by vLLM on this machine: a name on the hub, a folder, nano, or a server's address"
    )
    models.add_argument("--oracle", type=float, metavar="MISS", help="of AtlasWorld: what knows the world, and misses")
    how.add_argument("--parallel", type=int, default=4, help="questions under way at once (4)")
    how.add_argument("--engine", choices=ENGINES, default="local", help="threads, or Ray (local)")
    how.add_argument("--address", help="of a Ray cluster (one of this machine alone)")
    add_cache_option(how)


def _evaluate(options: argparse.Namespace) -> int:
    tables.check_path(options.out)
    cases = _cases(options)
    table = evaluate(
        cases,
        options.method,
        vlm=_model(options),
        parallel=options.parallel,
        cache=Cache(options.cache),
        engine=options.engine,
        address=options.address,
        **{name: literal(value) for name, value in options.settings},
    )
    tables.save(table, options.out)
    if options.samples:
        tables.save_samples(table, cases, options.samples)
    for by in ("category", None):
        print(statistics.accuracy(table, by).to_string(index=False, float_format="{:.3f}".format))
    print(statistics.compute(table).round(1).T.to_string(header=False))
    for why, count in table.loc[table["failure"] != "", "failure"].value_counts().items():
        print(f"{count} ×: {printable(str(why))}")
    print(f"{options.out}: {len(table)} questions, {table['calls_paid'].sum():.0f} model calls paid now")
    return 0


def _cases(options: argparse.Namespace) -> Benchmark:
    if options.benchmark == SYNTHETIC:
        if options.no_subtitles or options.hours is not None:
            raise InputError("An AtlasWorld is as long as --minutes says, and keeps its subtitles.")
        home = options.root or options.cache / SYNTHETIC
        worlds = [atlasworld(seed, 60 * options.minutes, directory=home) for seed in range(options.worlds)]
        found = Benchmark("AtlasWorld", tuple(case for world in worlds for case in world.cases()))
    elif options.root is None:
        raise InputError(f"Name the folder of {options.benchmark}: --root FOLDER.")
    else:
        found = DATASETS[options.benchmark](options.root, subtitles=not options.no_subtitles)
    if options.where:
        if short := next((each for each in options.where if len(each) < 2), None):
            raise InputError(f"--where {short[0]} names no value: --where COLUMN VALUE …")
        found = found.where(**{column: tuple(map(literal, values)) for column, *values in options.where})
    if options.first is not None:
        if options.first < 1:
            raise InputError(f"--first is at least 1, got {options.first}.")
        found = found[: options.first]
    if options.hours is not None:
        found = ten_hour(found, seed=options.seed, duration_s=HOUR_S * options.hours, progress=True)
    return found


def _model(options: argparse.Namespace) -> Model | Callable[[World], Model]:
    if options.oracle is None:
        return serve(options.model)
    if options.benchmark != SYNTHETIC:
        raise InputError("Only of AtlasWorld there is an oracle: name a --model.")
    return partial(Oracle, miss=options.oracle)


def literal(text: str) -> Any:
    """Return what a word of the command line says as JSON; the word itself, where it is none."""
    try:
        return json.loads(text)
    except ValueError:
        return text
