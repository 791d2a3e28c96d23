"""Tables of results and their cards, as commands write, join, compare and repeat them.

* `atlaskit merge` joins the tables of shards; `atlaskit compare` compares two tables.
* `rows_of`: asks questions, and keeps the rows so far in a file that `browse` follows.
* `command_of`, `Like`, `of_card`: the options of a command on its card, and `--like CARD`, which
  takes them from a card. A card may come from a stranger: its fields are checked, none of them is
  read as an option, and no key goes to its address.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from atlaskit import guests, limits
from atlaskit.agents.settings import Search
from atlaskit.benchmarks.case import Benchmark
from atlaskit.benchmarks.datasets.registry import DATASETS
from atlaskit.benchmarks.datasets.table import FILES
from atlaskit.caching.files import read_whole
from atlaskit.caching.keys import read_json
from atlaskit.cli.model import named_model
from atlaskit.cli.outputs import TABLES, add_output, path_of
from atlaskit.errors import InputError, first_fault, printable, reason
from atlaskit.evaluation import statistics, tables
from atlaskit.evaluation.card import differences
from atlaskit.evaluation.costs import Spending
from atlaskit.evaluation.runner import EvaluationStopped
from atlaskit.evaluation.tables import merged, replaced
from atlaskit.models.spec import ModelSpec, is_address, spec_of

if TYPE_CHECKING:
    import pandas as pd

MERGE_EXAMPLES = """examples:
  atlaskit merge shard-1.csv shard-2.csv shard-3.csv --out rows.csv"""
COMPARE_EXAMPLES = """examples:
  atlaskit compare uniform.csv searched.csv"""
OF_SEARCH = tuple(each.name for each in fields(Search))
"""The settings of a search."""
LISTS = tuple(each.name for each in fields(Search) if isinstance(each.default, tuple))
"""The settings of a search that are lists."""
OF_MODEL = ("dialect", "max_tokens", "thinking", "extra_body")
"""The options of a model's client on which replies depend."""
ON_CARD = (
    "benchmark",
    "root",
    "where",
    "no_subtitles",
    "load",
    "hours",
    "seed",
    "first",
    "skip_bad",
    "method",
    "settings",
    "prices",
    "model",
    *OF_MODEL,
    "oracle",
    "confuse",
    "calls",
    "tokens",
    "usd",
    "seconds",
    "search",
    *OF_SEARCH,
)
"""The options on which scores depend; a card holds them."""
NO_SETTINGS = ("command ", "settings ", "run ", "columns of text")
"""Beginnings of names on a card that `compare` leaves out: facts of the run, and the options as
they were typed, which the settings in full repeat."""
IN_FULL = "settings in full "
"""Beginning of the names of the settings in full, which `compare` shows."""
MOST_CHARS = 60
"""The most characters of a setting's value that a comparison shows."""


def add_tables_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `merge` and `compare` subcommands to the parser."""
    merge = commands.add_parser(
        "merge",
        description="Join the tables of all shards of an evaluation into the table of one run.",
        epilog=MERGE_EXAMPLES,
    )
    merge.set_defaults(run=_merge)
    merge.add_argument(
        "shards",
        type=path_of,
        nargs="+",
        help="the tables that `evaluate --shard` wrote, all of them, in any order",
    )
    add_output(
        merge,
        "--out",
        TABLES,
        makes_folder=True,
        required=True,
        metavar="FILE",
        help="table to write",
    )
    compare = commands.add_parser(
        "compare",
        description=(
            "Compare the scores of two tables on the questions that both have, and list the "
            "settings that\ndiffer."
        ),
        epilog=COMPARE_EXAMPLES,
    )
    compare.set_defaults(run=_compare)
    compare.add_argument("one", type=path_of, help="a table that evaluate wrote, of one method")
    compare.add_argument("other", type=path_of, help="another one")


def rows_of(
    ask: Callable[..., pd.DataFrame],
    cases: Benchmark,
    out: Path,
    name: str,
    spending: Spending,
    found: Mapping[str, pd.DataFrame] = MappingProxyType({}),
    earlier: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Ask questions, and keep the rows so far in a file that `atlaskit browse` follows.

    Args:
        ask: The function that asks questions with one method.
        cases: The questions.
        out: The table that is written when all is done.
        name: The name of the method.
        spending: The limits of all questions together, and what has been spent of them.
        found: Tables of other methods, which belong to the same table.
        earlier: The table whose failed questions are asked again; its other rows stay.

    Raises:
        EvaluationStopped: As from `evaluate`; the message says where the rows so far are.
    """

    def keep(rows: pd.DataFrame) -> None:
        parts = dict(found)
        if len(rows):
            parts[name] = rows
        if parts:
            table = tables.joined(parts) if earlier is None else replaced(earlier, parts)
            tables.save(table, tables.so_far(out))

    try:
        return ask(cases, total=spending, on_rows=keep)
    except EvaluationStopped as stopped:
        keep(stopped.table)
        where = ""
        if found or len(stopped.table):
            where = f" The rows so far are in {tables.so_far(out)}."
        raise EvaluationStopped(f"{stopped}{where}", stopped.table) from stopped


def _merge(options: argparse.Namespace) -> int:
    whole = merged({str(path): tables.load(path) for path in options.shards})
    tables.save(whole, options.out)
    failed = (whole["failure"] != "").sum()
    print(
        f"{printable(str(options.out))}: {len(whole)} rows of {len(options.shards)} shards, "
        f"{failed} of them with a failed call"
    )
    return 0


def _compare(options: argparse.Namespace) -> int:
    one = tables.load(options.one)
    other = tables.load(options.other)
    for path, table in ((options.one, one), (options.other, other)):
        if table["method"].nunique() != 1:
            raise InputError(
                f"{path} holds several methods; `evaluate` has compared them. Pass tables of one "
                "each."
            )
    shared = one.merge(other, on=["id", "video"])[["id", "video"]]
    if shared.empty:
        raise InputError(f"{options.one} and {options.other} share no question.")
    first = one.merge(shared)
    second = other.merge(shared)
    comparison = statistics.compare(first, second)
    means = f"{first['score'].mean():.3f} and {second['score'].mean():.3f}"
    print(f"{len(shared)} questions of both, about {shared['video'].nunique()} videos: {means}.")
    print(f"Difference {comparison.difference:+.3f}: {_certainty(comparison)}")
    print(
        f"Only the first is right on {comparison.only_first}, only the second on "
        f"{comparison.only_second}."
    )
    for path, table in ((options.one, first), (options.other, second)):
        failed = (table["failure"] != "").sum()
        if failed:
            print(
                f"{printable(str(path))}: {failed} questions had a failed call, and those without "
                "an answer count as wrong; `evaluate --rerun failures` asks them again."
            )
    _print_differences(one.attrs, other.attrs)
    return 0


def _certainty(comparison: statistics.Comparison) -> str:
    """Return in words how certain a difference is."""
    low = comparison.low
    high = comparison.high
    if math.isnan(low):
        return "no interval, since one video tells nothing of others."
    verdict = "not significant" if low <= 0 <= high else "significant"
    return f"95 % from {low:+.3f} to {high:+.3f}, p = {comparison.p:.2g}: {verdict}."


def _print_differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    """Print the settings in which two tables differ, then those that only one of them has."""
    if not one or not other:
        print("A table without a card does not tell its settings, so they are not compared.")
        return
    both = list[str]()
    alone = list[str]()
    for name, first, second in differences(one, other):
        if name.startswith(NO_SETTINGS) and not name.startswith(IN_FULL):
            continue
        if first is None or second is None:
            alone.append(printable(name.removeprefix(IN_FULL), MOST_CHARS))
        else:
            values = f"{printable(str(first), MOST_CHARS)} | {printable(str(second), MOST_CHARS)}"
            both.append(f"  {printable(name, MOST_CHARS)}: {values}")
    if both:
        print("\n".join([f"Settings that differ: {len(both)}", *both]))
    else:
        print("All settings that both have are the same.")
    if alone:
        print(f"Only one of them has: {', '.join(alone)}.")


Word = Annotated[str, Field(pattern=r"^[^\x00]*$", max_length=limits.ROW_TEXT)]
"""A text on a card. It holds no zero byte, which no system accepts in the name of a file."""
Pair = Annotated[list[Word], Field(min_length=2, max_length=2)]
Setting = Word | int | float | bool | None


class _Command(BaseModel):
    """The command on a card, without the settings of a search."""

    model_config = ConfigDict(strict=True)

    # The fields are only checked. Their defaults, for options that a card lacks, are not used.
    benchmark: Word = ""
    root: Word = ""
    where: list[Annotated[list[Word], Field(min_length=2)]] = []
    no_subtitles: bool = False
    load: list[Pair] = []
    hours: Annotated[float, Field(gt=0, le=1_000)] = 1
    seed: int = 0
    first: Annotated[int, Field(ge=1)] = 1
    skip_bad: bool = False
    method: Annotated[list[Word], Field(min_length=1)] = [""]
    settings: list[Pair] = []
    prices: Word = ""
    model: Annotated[list[Word], Field(min_length=1, max_length=2)] = [""]
    dialect: Word = ""
    max_tokens: int = 1
    thinking: bool = False
    extra_body: dict[str, Any] = {}
    oracle: float = 0
    confuse: float = 0
    calls: int = 1
    tokens: int = 1
    usd: float = 1
    seconds: float = 1
    search: Word = ""


_SEARCH_SETTINGS: TypeAdapter[dict[str, Setting]] = TypeAdapter(
    dict[str, Setting], config=ConfigDict(strict=True)
)
_SEARCH_LISTS: TypeAdapter[dict[str, list[Word] | Word]] = TypeAdapter(dict[str, list[Word] | Word])


def benchmark_names() -> tuple[str, ...]:
    """Return the names of the benchmarks that can be asked."""
    return (*DATASETS, *guests.registered(guests.BENCHMARKS))


def command_of(options: argparse.Namespace, spec: ModelSpec | None) -> dict[str, Any]:
    """Return the options of a command for its card, as JSON values.

    Args:
        options: The options.
        spec: The model that they name. Its parts are recorded one by one, so that the model on a
            card is an address and a name, without options.
    """
    named = dict[str, Any]()
    if spec is not None:
        named = {name: getattr(spec, name) for name in OF_MODEL}
        named["model"] = [spec.model] if spec.name is None else [spec.model, spec.name]
    command = dict[str, Any]()
    for name in ON_CARD:
        value = named.get(name, getattr(options, name, None))
        is_flag_unset = value is False and name in ("no_subtitles", "skip_bad")
        if value is not None and value != [] and not is_flag_unset:
            command[name] = str(value.absolute()) if isinstance(value, Path) else value
    return command


class Like(argparse.Action):
    """Takes options from a card; an option on the command line wins, before `--like` or after.

    Before `--like`, an option that is given its default counts as not given.
    """

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Path | str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Set the options of the card, unless the command line sets them."""
        try:
            found = _options_of_card(read_json(read_whole(str(values))), parser)
        except (OSError, ValueError) as error:
            name = printable(str(values), 200)
            parser.error(
                f"--like {name} is no card of `evaluate` ({reason(error)}): name a rows.csv.json"
            )
        found["folder"] = Path(str(values)).parent
        # `evaluate` reads the questions from `like`: argparse sets missing arguments to None later.
        namespace.like = found
        for name, value in found.items():
            if not hasattr(namespace, name) or getattr(namespace, name) == parser.get_default(name):
                setattr(namespace, name, value)


def _options_of_card(card: Any, parser: argparse.ArgumentParser) -> dict[str, Any]:
    """Return the options on a card, with the types that the command line would give them.

    Raises:
        ValueError: `card` is not a card, or an option has a type or a value that the command does
            not accept.
    """
    command = card.get("command") if isinstance(card, dict) else None
    if not isinstance(command, dict):
        raise ValueError("it holds no command")
    found = {name: command[name] for name in ON_CARD if name in command}
    lists = {name: found[name] for name in LISTS if name in found}
    settings = {name: found[name] for name in OF_SEARCH if name in found and name not in LISTS}
    try:
        _Command.model_validate({name: found[name] for name in found if name not in OF_SEARCH})
        _SEARCH_LISTS.validate_python(lists)
        _SEARCH_SETTINGS.validate_python(settings)
    except ValidationError as error:
        field, fault = first_fault(error)
        raise ValueError(f"{field}: {fault}") from error
    for action in parser._actions:
        if action.choices is None or found.get(action.dest) is None:
            continue
        value = found[action.dest]
        _check_choice(action.dest, value if isinstance(value, list) else [value], action.choices)
    questions = found.get("benchmark", "")
    if questions and Path(questions).suffix not in FILES:
        _check_choice("benchmark", [questions], benchmark_names())
    for name, value in lists.items():
        found[name] = tuple(value) if isinstance(value, list) else value
    if "root" in found:
        found["root"] = Path(found["root"])
    return found


def _check_choice(name: str, values: Sequence[Any], choices: Iterable[Any]) -> None:
    """Raise ValueError unless the values of an option are among its choices."""
    accepted = list(choices)
    for value in values:
        if value not in accepted:
            raise ValueError(
                f"{name} is {printable(str(value), 80)!r}, which this command does not take"
            )


def of_card(options: argparse.Namespace) -> ModelSpec | None:
    """Return the model of a command with `--like`; print its address if only the card names it.

    An address that only a card names gets no key, not even that of OPENAI_API_KEY, unless
    --key-env names one.

    Raises:
        InputError: The card's model is more than an address and a name.
    """
    # `Like` sets the card's own list. An equal one that was typed is another object.
    if options.model is None or options.model is not options.like.get("model"):
        return named_model(options)
    words: list[str] = options.model
    if is_address(words[0]) and len(words[0].split()) > 1:
        raise InputError(
            f"The card's model {printable(words[0], 200)!r} is more than an address: name the "
            "model with --model."
        )
    spec = spec_of(options)
    if not spec.is_address:
        return spec
    if spec.key_env is None:
        spec = replace(spec, key_env="")
    if spec.key_env:
        key = f"with the key in {spec.key_env}"
    else:
        key = "without a key; --key-env VARIABLE sends one"
    print(
        f"atlaskit: the card names the endpoint {printable(spec.model, 200)}: what is asked goes "
        f"there, {key}.",
        file=sys.stderr,
        flush=True,
    )
    return spec
