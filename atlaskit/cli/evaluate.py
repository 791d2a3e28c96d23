"""`atlaskit evaluate`: run a method on a benchmark and write the table of results."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlaskit.agents.baselines import METHODS
from atlaskit.benchmarks.atlasworld import Oracle, World, atlasworld
from atlaskit.benchmarks.atlasworld.seeds import RANGES, seeds
from atlaskit.benchmarks.benchmark import Benchmark
from atlaskit.benchmarks.datasets.registry import DATASETS
from atlaskit.benchmarks.tenhour import ten_hour
from atlaskit.caching.cache import Cache
from atlaskit.cli.cache import add_cache_option
from atlaskit.cli.model import add_model_options, named_model
from atlaskit.errors import InputError, printable
from atlaskit.evaluation import metrics, statistics, tables
from atlaskit.evaluation.executors import ENGINES
from atlaskit.evaluation.runner import evaluate
from atlaskit.models.named import as_model, copies_for
from atlaskit.models.protocol import Model
from atlaskit.models.spec import ModelSpec

if TYPE_CHECKING:
    import pandas as pd

HOUR_S = 3600.0
SYNTHETIC = "atlasworld"


def add_evaluate_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `evaluate` subcommand to the parser."""
    parser = commands.add_parser(
        "evaluate",
        help="run a method on a benchmark and write the table of results",
        description="If it is interrupted, run the same command again: it continues from the cached replies.",
    )
    parser.set_defaults(run=_evaluate)
    parser.add_argument("benchmark", choices=(*DATASETS, SYNTHETIC), help="the dataset")
    parser.add_argument("--root", type=Path, help="folder of the dataset; for atlasworld, where its videos are stored")
    parser.add_argument(
        "--out", type=Path, required=True, help="table to write, .csv or .parquet; settings are written beside it"
    )
    parser.add_argument("--samples", type=Path, metavar="FILE", help="also write lmms-eval samples, .jsonl")

    chosen = parser.add_argument_group("questions")
    chosen.add_argument(
        "--where",
        nargs="+",
        action="append",
        default=[],
        metavar=("COLUMN", "VALUE"),
        help="keep questions whose column has one of the values: --where duration_group 600 3600",
    )
    chosen.add_argument("--no-subtitles", action="store_true", help="load no subtitles")
    chosen.add_argument(
        "--hours", type=float, help="embed each video among others, to this total duration in hours (paper: 10)"
    )
    chosen.add_argument("--seed", type=int, default=0, help="seed of the positions for --hours (default 0)")
    chosen.add_argument("--first", type=int, metavar="N", help="keep the first N questions")
    chosen.add_argument("--worlds", type=int, default=1, help="atlasworld: number of worlds (default 1)")
    chosen.add_argument(
        "--seeds", choices=tuple(RANGES), default="selection", help="atlasworld: range of seeds (default selection)"
    )
    chosen.add_argument("--minutes", type=float, default=10.0, help="atlasworld: minutes of each world (default 10)")

    how = parser.add_argument_group("method and model")
    how.add_argument("--method", choices=tuple(METHODS), default="video-rlm", help="default video-rlm")
    how.add_argument(
        "--set",
        nargs=2,
        action="append",
        default=[],
        dest="settings",
        metavar=("NAME", "VALUE"),
        help="set a parameter of the method: --set workers 8",
    )
    models = how.add_mutually_exclusive_group(required=True)
    add_model_options(how, among=models)
    models.add_argument(
        "--oracle",
        type=float,
        metavar="MISS",
        help="atlasworld: a simulated model (oracle) that misses an event with this probability",
    )
    how.add_argument("--parallel", type=int, default=4, help="questions in flight at once (default 4)")
    how.add_argument("--engine", choices=ENGINES, default="local", help="threads (local) or Ray (default local)")
    how.add_argument("--address", help="address of a Ray cluster (default: start one on this machine)")
    add_cache_option(how)


def _evaluate(options: argparse.Namespace) -> int:
    tables.check_path(options.out)
    spec, cache = named_model(options), Cache(options.cache)
    settings = {name: literal(value) for name, value in options.settings}
    cases = _cases(options)
    table = evaluate(
        cases,
        options.method,
        vlm=_model(spec, options, cache, is_replay=settings.get("replay") is True),
        parallel=options.parallel,
        cache=cache,
        engine=options.engine,
        address=options.address,
        **settings,
    )
    tables.save(table, options.out)
    if options.samples:
        tables.save_samples(table, cases, options.samples)
    for by in ("category", None):
        print(statistics.accuracy(table, by).to_string(index=False, float_format="{:.3f}".format))
    if cases.dataset in metrics.METRICS:
        print(_official(table, cases))
    print(statistics.compute(table).round(1).T.to_string(header=False))
    for reason, count in table.loc[table["failure"] != "", "failure"].value_counts().items():
        print(f"{count} failed: {printable(str(reason))}")
    print(f"{options.out}: {len(table)} questions, {table['calls_paid'].sum():.0f} model calls paid now")
    return 0


def _official(table: pd.DataFrame, cases: Benchmark) -> str:
    """Return the dataset's own metric as text, or why there is none.

    That is no error, because the questions are answered and the table is written by then.
    """
    try:
        official = metrics.official(table, cases)
    except InputError as error:
        return f"{cases.dataset}'s own metric is left out: {error}"
    return f"{cases.dataset}'s own metric:\n{official.to_string(index=False, float_format='{:.3f}'.format)}"


def _cases(options: argparse.Namespace) -> Benchmark:
    if options.benchmark == SYNTHETIC:
        if options.no_subtitles or options.hours is not None:
            raise InputError(
                "atlasworld takes its duration from --minutes and always has subtitles: "
                "leave out --hours and --no-subtitles."
            )
        home = options.root or options.cache / SYNTHETIC
        used = seeds(options.seeds)[: options.worlds]
        worlds = [atlasworld(seed, 60 * options.minutes, directory=home) for seed in used]
        found = Benchmark("AtlasWorld", tuple(case for world in worlds for case in world.cases()))
    elif options.root is None:
        raise InputError(f"{options.benchmark} needs its folder: --root FOLDER.")
    else:
        found = DATASETS[options.benchmark].load(options.root, subtitles=not options.no_subtitles)
    if options.where:
        if short := next((each for each in options.where if len(each) < 2), None):
            raise InputError(f"--where {short[0]} needs at least one value: --where COLUMN VALUE …")
        found = found.where(**{column: tuple(map(literal, values)) for column, *values in options.where})
    if options.first is not None:
        if options.first < 1:
            raise InputError(f"--first must be at least 1; got {options.first}.")
        found = found[: options.first]
    if options.hours is not None:
        found = ten_hour(found, seed=options.seed, duration_s=HOUR_S * options.hours, progress=True)
    return found


def _model(
    spec: ModelSpec | None, options: argparse.Namespace, cache: Cache, *, is_replay: bool
) -> Model | Callable[[World], Model]:
    if spec is not None:
        return as_model(spec, cache, is_replay=is_replay, data_parallel=copies_for(options.parallel))
    if options.benchmark != SYNTHETIC:
        raise InputError("The oracle works only on atlasworld; pass --model.")
    return partial(Oracle, miss=options.oracle)


def literal(text: str) -> Any:
    """Return a command-line word read as JSON, or the word itself if it is not JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return text
