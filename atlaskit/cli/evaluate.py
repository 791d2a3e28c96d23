"""`atlaskit evaluate`: run methods on questions of a table or a benchmark; write the results."""

from __future__ import annotations

import argparse
import difflib
import inspect
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlaskit import guests
from atlaskit.agents.budget import Budget
from atlaskit.benchmarks.case import Benchmark, MakesModel
from atlaskit.benchmarks.datasets import table as own_questions
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
    add_search_options,
    add_total_options,
    agrees,
    budget_of,
    changes_of,
    named_model,
    print_estimates,
    search_of,
    with_consent,
)
from atlaskit.cli.outputs import (
    TABLES,
    add_output,
    check_outputs,
    count,
    part_of,
    path_of,
    positive,
    shown_table,
)
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
"""The methods that have the settings of `Search`."""
NAME_AND_VALUE: dict[str, Any] = {
    "nargs": 2,
    "action": "append",
    "default": [],
    "metavar": ("NAME", "VALUE"),
}
"""Arguments of `add_argument` for an option that may be repeated."""
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
            "Ask all questions of a table or of a benchmark, and write a table with the answers, "
            "their scores\nand their costs. If the command is interrupted, run it again: it "
            "continues from the cached replies."
        ),
        epilog=EXAMPLES,
    )
    parser.set_defaults(run=_evaluate)
    parser.add_argument(
        "benchmark",
        nargs="?",
        metavar="QUESTIONS",
        help=f"a table of your own questions, such as questions.csv; or {_benchmarks()}",
    )
    parser.add_argument(
        "--like",
        action=Like,
        type=path_of,
        metavar="CARD",
        help=(
            "take questions, model, method and settings from the card of a table, the file "
            "rows.csv.json beside it; other options of this command come first"
        ),
    )
    parser.add_argument(
        "--root",
        type=path_of,
        metavar="FOLDER",
        help=(
            "folder of the benchmark, or of the videos of a table (default: the table's own "
            "folder); a benchmark that makes its videos stores them there"
        ),
    )
    add_output(
        parser,
        "--out",
        TABLES,
        makes_folder=True,
        metavar="FILE",
        help=(
            "table to write, .csv or .parquet, with its settings in a file beside it (default: "
            "QUESTIONS.rows.csv in the current folder)"
        ),
    )
    _add_questions(parser)
    _add_method_and_model(parser)
    _add_run(parser)


def _benchmarks() -> str:
    return f"one of {', '.join(benchmark_names())}"


def _check_questions(name: str) -> None:
    """Raise InputError unless this is the name of a benchmark or of a file."""
    if name in benchmark_names() or Path(name).is_file():
        return
    shown = printable(name, 120)
    if Path(name).exists():
        raise InputError(f"{shown} is not a file: name {_benchmarks()}, or a table of questions.")
    if Path(name).suffix.lower() in own_questions.FILES:
        raise InputError(no_such_file(Path(name)))
    hint = ""
    for near in difflib.get_close_matches(name, benchmark_names(), 1):
        hint = f" (did you mean {near}?)"
    raise InputError(
        f"{shown} is no benchmark{hint} and no table: name {_benchmarks()}, or a file such as "
        "questions.csv."
    )


def _add_questions(parser: argparse.ArgumentParser) -> None:
    chosen = parser.add_argument_group("which questions")
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
        "--load",
        help="set an option of the benchmark's loader: --load split full",
        **NAME_AND_VALUE,
    )
    chosen.add_argument(
        "--hours",
        type=positive,
        metavar="N",
        help="hide each video among others, in so many hours together (in the paper: 10)",
    )
    chosen.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="random seed for the place of each video in --hours (default 0)",
    )
    chosen.add_argument("--first", type=count, metavar="N", help="keep the first N questions")
    chosen.add_argument(
        "--skip-bad",
        action="store_true",
        help="report invalid rows of the benchmark and leave them out",
    )


def _add_method_and_model(parser: argparse.ArgumentParser) -> None:
    how = parser.add_argument_group("method and model")
    how.add_argument(
        "--method",
        nargs="+",
        choices=(*METHODS, ALL),
        default=[VIDEO_RLM],
        metavar="METHOD",
        help=(
            f"one method, several, or all, which are then compared: {', '.join(METHODS)} (default "
            "video-rlm, the search)"
        ),
    )
    how.add_argument(
        "--set",
        dest="settings",
        help="set a parameter of the methods that have it: --set workers 8",
        **NAME_AND_VALUE,
    )
    models = how.add_mutually_exclusive_group()
    add_model_options(how, among=models)
    models.add_argument(
        "--oracle",
        type=float,
        metavar="MISS",
        help=(
            "in place of a model, the scripted oracle of the benchmark, which knows the answers "
            "and misses a thing with this probability, from 0 to 1"
        ),
    )
    how.add_argument(
        "--confuse",
        type=float,
        default=0.0,
        metavar="RATE",
        help="probability that the oracle takes one thing for another (default 0)",
    )
    add_budget_options(how)
    add_search_options(parser.add_argument_group("the search (methods video-rlm and composite)"))


def _add_run(parser: argparse.ArgumentParser) -> None:
    run = parser.add_argument_group("the run (no score depends on these options)")
    add_total_options(run)
    run.add_argument(
        "--shard",
        type=part_of,
        metavar="I/N",
        help="ask only part I of N, for instance on another machine; `atlaskit merge` joins the "
        "tables",
    )
    run.add_argument(
        "--rerun",
        choices=("failures",),
        help="keep the table that --out names, and ask only the questions that failed",
    )
    run.add_argument(
        "--parallel",
        type=count,
        default=4,
        metavar="N",
        help="questions that are asked at the same time (default 4)",
    )
    run.add_argument(
        "--engine",
        choices=ENGINES,
        default="local",
        help="ask on this machine (local) or on a cluster of Ray (default local)",
    )
    run.add_argument(
        "--address", help="address of a cluster of Ray (default: start one on this machine)"
    )
    add_output(
        run, "--traces", metavar="FOLDER", help="folder to save each run in, for `atlaskit browse`"
    )
    add_cache_option(run)


def _evaluate(options: argparse.Namespace) -> int:
    _complete(options)
    methods = list(dict.fromkeys(options.method))
    if ALL in methods:
        methods = list(METHODS)
    prices = None if options.prices is None else read_prices(options.prices)
    spec = named_model(options) if options.like is None else of_card(options)
    cache = Cache(options.cache)
    settings = {name: literal(value) for name, value in options.settings}
    budget = budget_of(options, prices)
    if budget is not None:
        settings["budget"] = budget
    total = budget_of(options, prices, "total_")
    settings_by_method = _settings_by_method(methods, settings)
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
        opened = as_model(
            vlm,
            cache,
            is_replay=settings.get("replay") is True,
            data_parallel=copies_for(options.parallel),
        )
        vlm = with_consent(opened, options)
    for name in searching:
        if changes:
            settings_by_method[name]["search"] = search_of(options, vlm, changes)
        elif options.search:
            settings_by_method[name]["search"] = options.search
    shared = {
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
        ask[name] = partial(evaluate, **{**shared, **settings_by_method[name], "method": name})
    if options.estimate is not None:
        print_estimates(options, ask, cases, total)
        if not agrees(options):
            return 0
    # This identifies the evaluation: all runs of it share the total.
    line = canonical_json([command_of(options, spec), part, questions_card(cases)])
    spending = Spending(total or Budget(), cache, line)
    earlier = tables.load(options.out) if options.rerun else None
    try:
        found = _ask_all(ask, cases, options.out, spending, earlier)
    except EvaluationStopped as stopped:
        print(f"atlaskit: {stopped}", file=sys.stderr)
        return 1
    options.benchmark = _portable(options)
    card = {"command": command_of(options, spec)}
    if part:
        card[SHARD] = part
    if methods == [VIDEO_RLM]:
        # All settings, as changes of the paper's: "best" may mean others in a later version.
        card["command"] |= {"search": "paper", **search_of(options, vlm, changes).changed()}
    return _write(options.out, found, cases, earlier, card)


def _complete(options: argparse.Namespace) -> None:
    """Set the questions and the output that the options leave out, and check both.

    Raises:
        InputError: No questions or no model are named, or one of the names is wrong.
    """
    if options.benchmark is None and options.like is not None:
        options.benchmark = _questions_of_card(options.like)
    if options.benchmark is None or (options.model is None and options.oracle is None):
        raise InputError(
            "Name questions and a model: atlaskit evaluate QUESTIONS --model MODEL, or --like CARD."
        )
    _check_questions(options.benchmark)
    if options.out is None:
        options.out = Path(f"{Path(options.benchmark).stem}.rows.csv")
    check_outputs(options)
    tables.check_path(options.out)


def _ask_all(
    ask: Mapping[str, Callable[..., pd.DataFrame]],
    cases: Benchmark,
    out: Path,
    spending: Spending,
    earlier: pd.DataFrame | None,
) -> dict[str, pd.DataFrame]:
    """Ask the questions with every method, and keep the rows so far in a file beside `out`.

    Args:
        ask: For each method, the function that asks questions with it.
        cases: All questions.
        out: The table that is written when all is done.
        spending: The limits of all questions together, and what they have taken.
        earlier: The table whose failed questions alone are asked again; None to ask all.

    Returns:
        The rows of the questions that were asked, by method.

    Raises:
        EvaluationStopped: As from `evaluate`; the message says where the rows so far are.
    """
    found: dict[str, pd.DataFrame] = {}
    for name, ask_by_method in ask.items():
        chosen = cases
        if earlier is not None:
            chosen = replace(cases, cases=tuple(failed(earlier, cases, name)))
        if len(chosen):
            found[name] = rows_of(ask_by_method, chosen, out, name, spending, found, earlier)
    return found


def _portable(options: argparse.Namespace) -> str:
    """Return the name of the questions for a card.

    A table of questions is named by its path from the folder of the results if it lies in that
    folder, so that the folder can be moved; else by its whole path.
    """
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
    """Write the table and print its summary; return the exit status.

    If no question was answered, the rows are written to the file of the rows so far instead, so
    that an earlier table stays.

    Args:
        out: The table to write.
        found: The rows of the questions that were asked, by method; empty if none had to be.
        cases: All questions.
        earlier: The table whose failed questions were asked again.
        card: The command and the shard, for the card of the table.
    """
    shown = printable(str(out))
    if not found:
        print(f"{shown}: no question failed")
        return 0
    asked = tables.joined(found)
    asked.attrs |= card
    table = asked
    done = f"{len(cases)} questions"
    if earlier is not None:
        done = f"{len(asked)} of {len(cases)} questions asked again"
        table = with_retried(earlier, found)
        found = {}
        for name, rows in table.groupby("method", sort=False):
            found[name] = rows.reset_index(drop=True)
    if (table["failure"] != "").all() and table["prediction"].isna().all():
        place = tables.so_far(out)
        tables.save(table, place)
        for why, number in table["failure"].value_counts().items():
            print(f"{number} failed: {printable(str(why))}", file=sys.stderr)
        where = printable(str(place))
        print(f"atlaskit: no question was answered; the rows are in {where}.", file=sys.stderr)
        return 1
    tables.save(table, out)
    _print(found, cases)
    if len(found) > 1:
        done += f" by {len(found)} methods"
    paid = f"{asked['calls_paid'].sum():.0f}" if "calls_paid" in asked else "no"
    print(f"{shown}: {done}, {paid} model calls paid now; how it was made: {shown}.txt")
    return 0


def _settings_by_method(
    methods: Sequence[str], settings: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return, for each method, those of the settings that it has.

    Raises:
        InputError: If no method has one of the settings. For a single method, `evaluate` raises it.
    """
    if len(methods) == 1:
        return {methods[0]: dict(settings)}
    own = dict[str, dict[str, Any]]()
    unknown = dict(settings)
    for name in methods:
        known = set(settings_of(METHODS[name]) or ())
        if name in SEARCHING:
            known.discard("search")  # --search sets it; --set sets the "search" of retrieval
        own[name] = {key: value for key, value in settings.items() if key in known}
        for key in own[name]:
            unknown.pop(key, None)
    for key in unknown:
        raise InputError(f"None of {', '.join(methods)} has a setting {printable(key, 80)!r}.")
    return own


def _print(found: Mapping[str, pd.DataFrame], cases: Benchmark) -> None:
    """Print scores, costs and failures of each method, and a comparison of several."""
    for name, table in found.items():
        if len(found) > 1:
            print(f"\n{name}")
        for by in ("category", None):
            means = statistics.accuracy(table, by)
            print(shown_table(means, index=False, na_rep="", float_format="{:.3f}".format))
        has_absent = any(case.question.answer == ABSENT for case in cases)
        if cases.dataset in metrics.METRICS or has_absent:
            print(_official(table, cases))
        print(shown_table(statistics.compute(table).round(1).T, header=False))
        for why, number in table.loc[table["failure"] != "", "failure"].value_counts().items():
            print(f"{number} with a failed call: {printable(str(why))}")
    if len(found) > 1:
        to = VIDEO_RLM if VIDEO_RLM in found else next(iter(found))
        print(f"\nCompared with {to}")
        compared = statistics.comparison(found, to)
        print(shown_table(compared.T, header=False, na_rep="", float_format="{:,.4g}".format))


def _official(table: pd.DataFrame, cases: Benchmark) -> str:
    """Return the dataset's own metric as text, or the reason why it cannot be computed.

    That is no error, since the questions are answered and the table is written.
    """
    try:
        official = metrics.official(table, cases)
    except InputError as error:
        return f"{cases.dataset}'s own metric is left out: {error}"
    title = "Rejection"
    if cases.dataset in metrics.METRICS:
        title = f"{cases.dataset}'s own metric"
    rows = shown_table(official, index=False, na_rep="", float_format="{:.3f}".format)
    return f"{title}:\n{rows}"


def _loading(load: Callable[..., Benchmark], options: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments for the function that loads a benchmark.

    Raises:
        InputError: The function has no such option, or needs `--root`.
    """
    name = options.benchmark
    parameters = inspect.signature(load).parameters
    # `root` and `subtitles` have options of the command; `rows` are given in Python alone.
    own_options = [each for each in parameters if each not in ("root", "rows", "subtitles")]
    loading = dict[str, Any]()
    for option, value in options.load:
        if option not in own_options:
            offered = ", ".join(own_options) or "none"
            raise InputError(
                f"{name} has no option {printable(option, 80)!r} for --load; it has {offered}."
            )
        loading[option] = literal(value)
    if "subtitles" in parameters:
        loading["subtitles"] = not options.no_subtitles
    elif options.no_subtitles:
        raise InputError(f"{name} always has its subtitles: leave out --no-subtitles.")
    loading["root"] = options.root
    if options.root is None:
        if parameters["root"].default is inspect.Parameter.empty:
            raise InputError(f"{name} needs its folder: --root FOLDER.")
        if name in benchmark_names():
            loading["root"] = options.cache / name
    return loading


def _questions_of_card(like: Mapping[str, Any]) -> str | None:
    """Return the benchmark or the table that a card names; None if it names neither.

    Raises:
        InputError: The card names a table outside its own folder. A card may come from a stranger,
            and must not choose which files are read.
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
        load = partial(own_questions.table, name)
    loading = _loading(load, options)
    with skip_bad() if options.skip_bad else nullcontext(list[str]()) as bad:
        whole = load(**loading)
    for sentence in bad:
        print(f"left out: {sentence}", file=sys.stderr)
    found = whole
    if options.where:
        conditions = dict[str, tuple[Any, ...]]()
        for column, *values in options.where:
            if not values:
                raise InputError(f"--where {column} needs a value: --where COLUMN VALUE …")
            if column in conditions:
                raise InputError(
                    f"--where names {column} twice: give all of its values at once, --where "
                    f"{column} VALUE VALUE …"
                )
            conditions[column] = tuple(map(literal, values))
        found = found.where(**conditions)
    if options.first is not None:
        found = found[: options.first]
    if options.hours is not None:
        length_s = HOUR_S * options.hours
        found = ten_hour(found, among=whole, seed=options.seed, duration_s=length_s, progress=True)
    return found


def _oracle(options: argparse.Namespace) -> MakesModel:
    """Return the function that makes the benchmark's oracle; raise InputError if there is none."""
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
    except (ValueError, RecursionError):
        return text
