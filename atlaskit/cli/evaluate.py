"""`atlaskit evaluate`: run a method on a benchmark and write the table of results."""

from __future__ import annotations

import argparse
import difflib
import inspect
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlaskit import guests
from atlaskit.agents.budget import Budget
from atlaskit.benchmarks.case import Benchmark, MakesModel
from atlaskit.benchmarks.datasets import table as own
from atlaskit.benchmarks.datasets.layout import find_inside
from atlaskit.benchmarks.datasets.registry import DATASETS
from atlaskit.benchmarks.datasets.rows import skip_bad
from atlaskit.benchmarks.tenhour import ten_hour
from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import canonical_json
from atlaskit.cli.cache import add_cache_option
from atlaskit.cli.model import (
    add_budget_options,
    add_model_options,
    add_money_options,
    add_search_options,
    asking,
    budget_of,
    changes_of,
    goes_on,
    named_model,
    search_of,
)
from atlaskit.cli.outputs import TABLES, add_output, check_outputs, count, part_of, positive
from atlaskit.cli.tables import Like, benchmark_names, command_of, of_card, rows_of
from atlaskit.environment.question import ABSENT
from atlaskit.errors import InputError, printable
from atlaskit.evaluation import metrics, statistics, tables
from atlaskit.evaluation.baselines import METHODS, settings_of
from atlaskit.evaluation.card import questions_card
from atlaskit.evaluation.costs import Spending
from atlaskit.evaluation.executors import ENGINES
from atlaskit.evaluation.runner import EvaluationStopped, evaluate
from atlaskit.evaluation.tables import SHARD, failed, shard, with_retried
from atlaskit.models.prices import read_prices
from atlaskit.models.protocol import Model
from atlaskit.models.serving.server import as_model, copies_for
from atlaskit.models.spec import ModelSpec
from atlaskit.video.names import no_such_file

if TYPE_CHECKING:
    import pandas as pd

HOUR_S = 3600.0
VIDEO_RLM = "video-rlm"
ALL = "all"
SEARCHING = (VIDEO_RLM, "composite")
"""The methods with a `Search`."""
EXAMPLES = """examples:
  atlaskit evaluate questions.csv --model Qwen/Qwen3-VL-8B-Instruct
  atlaskit evaluate lvbench --root data/lvbench --model Qwen/Qwen3-VL-8B-Instruct --out rows.csv
  atlaskit evaluate mlvu --root data/mlvu --model MODEL --method video-rlm uniform \\
    --out rows.parquet
  atlaskit evaluate videomme --root data/videomme --where duration long --hours 10 \\
    --model MODEL --out long.csv"""


def add_evaluate_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `evaluate` subcommand to the parser."""
    parser = commands.add_parser(
        "evaluate",
        description=(
            "If it is interrupted, run the same command again: it continues from the cached "
            "replies."
        ),
        epilog=EXAMPLES,
    )
    parser.set_defaults(run=_evaluate)
    told = f"{', '.join(benchmark_names())}; or a table of your own questions: questions.csv"
    parser.add_argument("benchmark", nargs="?", metavar="QUESTIONS", help=told)
    parser.add_argument(
        "--like",
        action=Like,
        type=Path,
        metavar="CARD",
        help=(
            "take dataset, model, method and settings from a table's card, rows.csv.json; other "
            "options win"
        ),
    )
    told = (
        "folder of the dataset, or of the videos of a table (default: the table's own); of one "
        "that makes its videos, where they are stored"
    )
    parser.add_argument("--root", type=Path, help=told)
    told = (
        "table to write, .csv or .parquet; settings are written beside it (default: "
        "QUESTIONS.rows.csv in this folder)"
    )
    add_output(parser, "--out", TABLES, makes_folder=True, metavar="FILE", help=told)

    _add_questions(parser)
    _add_method_and_model(parser)
    _add_run(parser)


def _check_named(name: str) -> None:
    """Raise InputError unless a benchmark, or a file, has this name."""
    if name in benchmark_names() or Path(name).is_file():
        return
    shown = printable(name, 120)
    if Path(name).suffix.lower() in own.FILES:
        raise InputError(no_such_file(Path(name)))
    near = difflib.get_close_matches(name, benchmark_names(), 1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    raise InputError(
        f"{shown} is no benchmark{hint} and no table: name one of "
        f"{', '.join(benchmark_names())}, or a file such as questions.csv."
    )


def _add_questions(parser: argparse.ArgumentParser) -> None:
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
    pair: dict[str, Any] = {
        "nargs": 2,
        "action": "append",
        "default": [],
        "metavar": ("NAME", "VALUE"),
    }
    chosen.add_argument(
        "--load", help="set an option of the dataset's loader: --load split full", **pair
    )
    chosen.add_argument(
        "--hours",
        type=positive,
        help="embed each video among others, to this total duration in hours (paper: 10)",
    )
    chosen.add_argument(
        "--seed", type=int, default=0, help="seed of the positions for --hours (default 0)"
    )
    chosen.add_argument("--first", type=count, metavar="N", help="keep the first N questions")
    chosen.add_argument(
        "--skip-bad",
        action="store_true",
        help="report invalid rows of the dataset and leave them out",
    )


def _add_method_and_model(parser: argparse.ArgumentParser) -> None:
    how = parser.add_argument_group("method and model")
    told = "one or several, or all, which are then compared (default video-rlm)"
    how.add_argument("--method", nargs="+", choices=(*METHODS, ALL), default=[VIDEO_RLM], help=told)
    pair: dict[str, Any] = {
        "nargs": 2,
        "action": "append",
        "default": [],
        "metavar": ("NAME", "VALUE"),
    }
    told = "set a parameter of the methods that have it: --set workers 8"
    how.add_argument("--set", dest="settings", help=told, **pair)
    models = how.add_mutually_exclusive_group()
    add_model_options(how, among=models)
    told = (
        "a simulated model that comes with a benchmark, and misses what is looked for with this "
        "probability"
    )
    models.add_argument("--oracle", type=float, metavar="MISS", help=told)
    told = "probability that the oracle takes one thing for another (default 0)"
    how.add_argument("--confuse", type=float, default=0.0, metavar="RATE", help=told)
    add_budget_options(how)
    add_search_options(parser.add_argument_group("search, of video-rlm and composite"))


def _add_run(parser: argparse.ArgumentParser) -> None:
    run = parser.add_argument_group("the run; nothing here moves a score")
    add_money_options(run)
    told = "ask part I of N; `atlaskit merge` joins their tables"
    run.add_argument("--shard", type=part_of, metavar="I/N", help=told)
    told = "keep the rows of FILE, and ask only the questions that failed"
    run.add_argument("--rerun", choices=("failures",), help=told)
    run.add_argument(
        "--parallel", type=count, default=4, help="questions in flight at once (default 4)"
    )
    run.add_argument(
        "--engine", choices=ENGINES, default="local", help="threads (local) or Ray (default local)"
    )
    run.add_argument(
        "--address", help="address of a Ray cluster (default: start one on this machine)"
    )
    add_output(
        run, "--traces", metavar="FOLDER", help="folder to save each run in, for `atlaskit browse`"
    )
    add_cache_option(run)


def _evaluate(options: argparse.Namespace) -> int:
    if options.benchmark is None and options.like is not None:
        options.benchmark = _of_card(options.like)
    if options.benchmark is None or (options.model is None and options.oracle is None):
        raise InputError(
            "Name questions and a model: atlaskit evaluate QUESTIONS --model MODEL, or --like CARD."
        )
    _check_named(options.benchmark)
    if options.out is None:
        options.out = Path(f"{Path(options.benchmark).stem}.rows.csv")
        check_outputs(options)
    tables.check_path(options.out)
    methods = list(METHODS) if ALL in options.method else list(dict.fromkeys(options.method))
    prices = None if options.prices is None else read_prices(options.prices)
    spec = named_model(options) if options.like is None else of_card(options)
    cache = Cache(options.cache)
    settings = {name: literal(value) for name, value in options.settings}
    if (budget := budget_of(options, prices)) is not None:
        settings["budget"] = budget
    total = budget_of(options, prices, "total_")
    of_method = _settings_of(methods, settings)
    changes = changes_of(options)
    searching = [name for name in methods if name in SEARCHING]
    if (options.search or changes) and not searching:
        raise InputError(
            f"--search and its settings are for {' and '.join(SEARCHING)}, not for "
            f"{', '.join(methods)}."
        )
    vlm: Model | MakesModel | ModelSpec = _oracle(options) if spec is None else spec
    cases = _cases(options)
    part = dict[str, Any]()
    if options.shard is not None:
        cases, part = shard(cases, *options.shard)
    if isinstance(vlm, ModelSpec):
        is_replay = settings.get("replay") is True
        opened = as_model(
            vlm, cache, is_replay=is_replay, data_parallel=copies_for(options.parallel)
        )
        vlm = asking(opened, options)
    for name in searching:
        if changes:
            of_method[name]["search"] = search_of(options, vlm, changes)
        elif options.search:
            of_method[name]["search"] = options.search
    how = {
        "vlm": vlm,
        "prices": prices,
        "parallel": options.parallel,
        "cache": cache,
        "engine": options.engine,
        "address": options.address,
        "traces": options.traces,
    }
    ask: dict[str, Callable[..., pd.DataFrame]] = {}
    for name in methods:
        ask[name] = partial(evaluate, **{**how, **of_method[name], "method": name})
    if options.estimate is not None and not goes_on(options, ask, cases, total):
        return 0
    line = canonical_json([command_of(options, spec), part, questions_card(cases)])
    spending = Spending(total or Budget(), cache, line)
    earlier = tables.load(options.out) if options.rerun else None
    found: dict[str, pd.DataFrame] = {}
    try:
        for name in methods:
            chosen = cases
            if earlier is not None:
                chosen = replace(cases, cases=tuple(failed(earlier, cases, name)))
            if len(chosen):
                found[name] = rows_of(
                    ask[name], chosen, options.out, name, spending, found, earlier
                )
    except EvaluationStopped as stopped:
        print(f"atlaskit: {stopped}", file=sys.stderr)
        return 1
    options.benchmark = _portable(options)
    card = {"command": command_of(options, spec)}
    if part:
        card[SHARD] = part
    if methods == [VIDEO_RLM]:  # in full, since what "best" names may change
        card["command"] |= {"search": "paper", **search_of(options, vlm, changes).changed()}
    return _write(options.out, found, cases, earlier, card)


def _portable(options: argparse.Namespace) -> str:
    """Return the questions as a card names them: a table beside the results by its name."""
    name: str = options.benchmark
    folder = options.out.resolve().parent
    if name in benchmark_names():
        return name
    path = Path(name).resolve()
    if path.is_relative_to(folder):
        return path.relative_to(folder).as_posix()
    return str(path)


def _write(
    out: Path,
    found: Mapping[str, pd.DataFrame],
    cases: Benchmark,
    earlier: pd.DataFrame | None,
    card: Mapping[str, Any],
) -> int:
    """Write the table and print what it says; return the exit status."""
    if not found:
        print(f"{out}: no question failed")
        return 0
    table = asked = tables.joined(found)
    table.attrs |= card
    done = f"{len(cases)} questions"
    if earlier is not None:
        done = f"{len(asked)} of {len(cases)} questions asked again"
        table = with_retried(earlier, found)
        found = {}
        for name, rows in table.groupby("method", sort=False):
            found[name] = rows.reset_index(drop=True)
    tables.save(table, out)
    if (table["failure"] != "").all() and table["prediction"].isna().all():
        for why, number in table["failure"].value_counts().items():
            print(f"{number} failed: {printable(str(why))}", file=sys.stderr)
        print(f"atlaskit: no question was answered; the rows are in {out}.", file=sys.stderr)
        return 1
    _print(found, cases)
    if len(found) > 1:
        done += f" by {len(found)} methods"
    paid = f"{asked['calls_paid'].sum():.0f}" if "calls_paid" in asked else "no"
    print(f"{out}: {done}, {paid} model calls paid now; how it was made: {out}.txt")
    return 0


def _settings_of(methods: Sequence[str], settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the settings of each method: those that it has.

    Raises:
        InputError: If no method has one of the settings; `evaluate` tells of it for a single one.
    """
    if len(methods) == 1:
        return {methods[0]: dict(settings)}
    had = {name: set(settings_of(METHODS[name]) or ()) for name in methods}
    for name in set(SEARCHING) & had.keys():
        had[name].discard("search")  # that is --search; retrieval has another setting of this name
    unknown = next(
        (each for each in settings if not any(each in names for names in had.values())), None
    )
    if unknown is not None:
        raise InputError(f"None of {', '.join(methods)} has a setting {printable(unknown, 80)!r}.")
    return {
        name: {key: value for key, value in settings.items() if key in had[name]}
        for name in methods
    }


def _print(found: Mapping[str, pd.DataFrame], cases: Benchmark) -> None:
    """Print scores, costs and failures of each method, and a comparison of several."""
    for name, table in found.items():
        if len(found) > 1:
            print(f"\n{name}")
        for by in ("category", None):
            print(
                statistics.accuracy(table, by).to_string(
                    index=False, na_rep="", float_format="{:.3f}".format
                )
            )
        if cases.dataset in metrics.METRICS or any(
            case.question.answer == ABSENT for case in cases
        ):
            print(_official(table, cases))
        print(statistics.compute(table).round(1).T.to_string(header=False))
        for why, number in table.loc[table["failure"] != "", "failure"].value_counts().items():
            print(f"{number} with a failed call: {printable(str(why))}")
    if len(found) > 1:
        to = VIDEO_RLM if VIDEO_RLM in found else next(iter(found))
        print(f"\nCompared with {to}")
        print(
            statistics.comparison(found, to).T.to_string(
                header=False, na_rep="", float_format="{:,.4g}".format
            )
        )


def _official(table: pd.DataFrame, cases: Benchmark) -> str:
    """Return the dataset's own metric as text, or why there is none.

    That is no error, because the questions are answered and the table is written by then.
    """
    try:
        official = metrics.official(table, cases)
    except InputError as error:
        return f"{cases.dataset}'s own metric is left out: {error}"
    title = f"{cases.dataset}'s own metric" if cases.dataset in metrics.METRICS else "Rejection"
    return f"{title}:\n{official.to_string(index=False, na_rep='', float_format='{:.3f}'.format)}"


def _loading(load: Callable[..., Benchmark], options: argparse.Namespace) -> dict[str, Any]:
    """Return what a loader is called with; raise InputError for an option that it does not have."""
    name = options.benchmark
    takes = inspect.signature(load).parameters
    had = [each for each in takes if each not in ("root", "rows", "subtitles", "source")]
    unknown = next((each for each, _ in options.load if each not in had), None)
    if unknown is not None:
        offered = f"it has {', '.join(had)}" if had else "it has none"
        raise InputError(f"{name} has no option {printable(unknown, 80)!r} for --load; {offered}.")
    loading = {each: literal(value) for each, value in options.load}
    if "subtitles" in takes:
        loading["subtitles"] = not options.no_subtitles
    elif options.no_subtitles:
        raise InputError(f"{name} always has its subtitles: leave out --no-subtitles.")
    if options.root is None and takes["root"].default is inspect.Parameter.empty:
        raise InputError(f"{name} needs its folder: --root FOLDER.")
    usual = options.cache / name if name in benchmark_names() else None
    return {"root": options.root or usual, **loading}


def _of_card(like: Mapping[str, Any]) -> str | None:
    """Return the questions that a card names.

    Raises:
        InputError: It names a table outside its own folder: a card may be somebody else's.
    """
    name = like.get("benchmark")
    if name is None or name in benchmark_names():
        return name
    found = find_inside(like["folder"], name)
    if found is None:
        raise InputError(
            f"The table {printable(name, 200)}, which the card names, is not in the card's folder: "
            "name it on this line, atlaskit evaluate TABLE --like CARD."
        )
    return str(found)


def _cases(options: argparse.Namespace) -> Benchmark:
    name = options.benchmark
    load: Callable[..., Benchmark]
    if name in DATASETS:
        load = DATASETS[name].load
    elif name in benchmark_names():
        load = guests.load(guests.BENCHMARKS, name)
    else:
        load = partial(own.table, name)
    loading = _loading(load, options)
    with ExitStack() as stack:
        bad = stack.enter_context(skip_bad()) if options.skip_bad else []
        found = whole = load(**loading)
    for sentence in bad:
        print(f"left out: {sentence}", file=sys.stderr)
    if options.where:
        if short := next((each for each in options.where if len(each) < 2), None):
            raise InputError(f"--where {short[0]} needs at least one value: --where COLUMN VALUE …")
        found = found.where(
            **{column: tuple(map(literal, values)) for column, *values in options.where}
        )
    if options.first is not None:
        found = found[: options.first]
    if options.hours is not None:
        length_s = HOUR_S * options.hours
        found = ten_hour(found, among=whole, seed=options.seed, duration_s=length_s, progress=True)
    return found


def _oracle(options: argparse.Namespace) -> MakesModel:
    """Return what makes the oracle of a benchmark's worlds; raise InputError if it has none."""
    if options.benchmark not in guests.registered(guests.ORACLES):
        raise InputError(f"No oracle comes with {options.benchmark}; pass --model.")
    if options.hours is not None:
        raise InputError(
            "An oracle knows the videos of its benchmark alone: leave out --hours, or pass --model."
        )
    return partial(
        guests.load(guests.ORACLES, options.benchmark), miss=options.oracle, confuse=options.confuse
    )


def literal(text: str) -> Any:
    """Return a command-line word read as JSON, or the word itself if it is not JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return text
