"""What commands do with tables and their cards.

* `atlaskit merge`, `atlaskit compare`: tables of shards, and two tables side by side.
* `rows_of`: the rows so far of `evaluate` and `paper`, in a file that `browse` follows.
* `command_of`, `Like`, `of_card`: the options of a line that a card keeps, and `--like CARD`, which
  takes them from one. A card may be somebody else's: its fields are checked, none is read as an
  option, and no key goes to its address.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Mapping, Sequence
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
from atlaskit.cli.outputs import TABLES, add_output
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
KEPT = (
    *("benchmark", "root", "where", "no_subtitles", "load", "hours", "seed", "first", "skip_bad"),
    *("method", "settings", "prices", "model", "dialect", "max_tokens", "thinking", "extra_body"),
    *(
        "oracle",
        "confuse",
        "calls",
        "tokens",
        "usd",
        "seconds",
        "search",
        *(each.name for each in fields(Search)),
    ),
)
"""The options that move a score: what a card keeps of the command."""
OF_MODEL = ("dialect", "max_tokens", "thinking", "extra_body")
"""The options of a model's client among them."""
LISTS = tuple(each.name for each in fields(Search) if isinstance(each.default, tuple))
"""The settings of a search that are several."""
NO_SETTINGS = ("command ", "settings ", "run ", "columns of text")
"""Parts of a card that `compare` leaves out: the run, and what was typed (the settings in full tell
it)."""
IN_FULL = "settings in full "
MOST_CHARS = 60
"""Most characters of a setting's value that a comparison shows."""


def add_tables_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `merge` and `compare` subcommands to the parser."""
    merge = commands.add_parser(
        "merge",
        epilog=MERGE_EXAMPLES,
    )
    merge.set_defaults(run=_merge)
    merge.add_argument(
        "shards",
        type=Path,
        nargs="+",
        help="what `evaluate --shard` wrote, all shards in any order",
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
        epilog=COMPARE_EXAMPLES,
    )
    compare.set_defaults(run=_compare)
    compare.add_argument("one", type=Path, help="a table of one method")
    compare.add_argument("other", type=Path, help="another, of questions that both have")


def rows_of(
    ask: Callable[..., pd.DataFrame],
    cases: Benchmark,
    out: Path,
    name: str,
    spending: Spending | None,
    found: Mapping[str, pd.DataFrame] = MappingProxyType({}),
    earlier: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Ask questions, with the rows so far in a file that `atlaskit browse` follows.

    Args:
        ask: Asks questions with one method.
        cases: The questions.
        out: The table that is written when all is done.
        name: The name of the method.
        spending: What all questions together may take, and have taken.
        found: Tables of other methods, which belong to the same table.
        earlier: The table whose failed questions are asked again; its other rows stay.

    Raises:
        EvaluationStopped: As `evaluate`; it says where the rows so far are.
    """

    def keep(rows: pd.DataFrame) -> None:
        if parts := {**found, **({name: rows} if len(rows) else {})}:
            table = tables.joined(parts) if earlier is None else replaced(earlier, parts)
            tables.save(table, tables.so_far(out))

    try:
        return ask(cases, total=spending, on_rows=keep)
    except EvaluationStopped as stopped:
        keep(stopped.table)
        if found or len(stopped.table):
            where = f" The rows so far are in {tables.so_far(out)}."
        else:
            where = ""
        raise EvaluationStopped(f"{stopped}{where}", stopped.table) from stopped


def _merge(options: argparse.Namespace) -> int:
    whole = merged({str(path): tables.load(path) for path in options.shards})
    tables.save(whole, options.out)
    failed = (whole["failure"] != "").sum()
    print(
        f"{options.out}: {len(whole)} rows of {len(options.shards)} shards, {failed} of them with "
        "a failed call"
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
    found = statistics.compare(first, second)
    means = f"{first['score'].mean():.3f} and {second['score'].mean():.3f}"
    print(f"{len(shared)} questions of both, about {shared['video'].nunique()} videos: {means}.")
    print(f"Difference {found.difference:+.3f}: {_certainty(found)}")
    print(f"Only the first is right on {found.only_first}, only the second on {found.only_second}.")
    for path, table in ((options.one, first), (options.other, second)):
        if failed := (table["failure"] != "").sum():
            print(
                f"{path}: {failed} questions had a failed call, and those without an answer count "
                "as wrong; `evaluate --rerun failures` asks them again."
            )
    _print_apart(one.attrs, other.attrs)
    return 0


def _certainty(found: statistics.Comparison) -> str:
    """Return in words how sure a difference is."""
    if math.isnan(found.low):
        return "no interval, since one video tells nothing of others."
    verdict = "not to be told from none" if found.low <= 0 <= found.high else "more than chance"
    return f"95 % from {found.low:+.3f} to {found.high:+.3f}, p = {found.p:.2g}: {verdict}."


def _print_apart(one: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    """Print in which settings two tables differ from each other, then what only one has."""
    if not one or not other:
        print("A table without a card does not tell its settings, so they are not compared.")
        return
    apart = [
        each
        for each in differences(one, other)
        if each[0].startswith(IN_FULL) or not each[0].startswith(NO_SETTINGS)
    ]
    both = [each for each in apart if None not in each[1:]]
    print(
        f"Settings that differ: {len(both)}"
        if both
        else "All settings that both have are the same."
    )
    for name, *values in both:
        first, second = (printable(str(value), MOST_CHARS) for value in values)
        print(f"  {printable(name, MOST_CHARS)}: {first} | {second}")
    if len(apart) > len(both):
        alone = [name.removeprefix(IN_FULL) for name, *values in apart if None in values]
        print(f"Only one of them has: {', '.join(printable(name, MOST_CHARS) for name in alone)}.")


Word = Annotated[str, Field(pattern=r"^[^\x00]*$", max_length=limits.ROW_TEXT)]
"""A word of a card; no name of a file has a zero byte."""
Pair = Annotated[list[Word], Field(min_length=2, max_length=2)]
Setting = Word | int | float | bool | None


class _Kept(BaseModel):
    """What a card may keep of a command, but for the settings of a search."""

    model_config = ConfigDict(strict=True)

    benchmark: Word = ""
    root: Word = ""
    where: list[Annotated[list[Word], Field(min_length=2)]] = []
    no_subtitles: bool = False
    load: list[Pair] = []
    hours: Annotated[float, Field(gt=0, le=1_000)] = 1
    seed: int = 0
    first: Annotated[int, Field(ge=1)] = 1
    skip_bad: bool = False
    method: list[Word] = []
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


_OF_SEARCH: TypeAdapter[dict[str, Setting]] = TypeAdapter(
    dict[str, Setting], config=ConfigDict(strict=True)
)
_OF_LISTS: TypeAdapter[dict[str, list[Word] | Word]] = TypeAdapter(dict[str, list[Word] | Word])


def benchmark_names() -> tuple[str, ...]:
    """Return the names of the benchmarks that can be asked."""
    return (*DATASETS, *guests.registered(guests.BENCHMARKS))


def command_of(options: argparse.Namespace, spec: ModelSpec | None) -> dict[str, Any]:
    """Return the options of a command that a card keeps, as JSON values.

    Args:
        options: The options.
        spec: The model that they name. Its parts are kept one by one: no word holds options.
    """
    named = dict[str, Any]()
    if spec is not None:
        named = {name: getattr(spec, name) for name in OF_MODEL}
        named["model"] = [spec.model] if spec.name is None else [spec.model, spec.name]
    kept = dict[str, Any]()
    for name in KEPT:
        value = named.get(name, getattr(options, name, None))
        is_flag_unset = value is False and name in ("no_subtitles", "skip_bad")
        if value is not None and value != [] and not is_flag_unset:
            kept[name] = str(value.absolute()) if isinstance(value, Path) else value
    return kept


class Like(argparse.Action):
    """Takes options from a card; those that stand on the line win, before it or after it."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Path | str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Set the options that a card keeps."""
        try:
            kept = _kept(read_json(read_whole(str(values))), parser)
        except (OSError, ValueError) as error:
            name = printable(str(values), 200)
            parser.error(
                f"--like {name} is no card of `evaluate` ({reason(error)}): name a rows.csv.json"
            )
        kept["folder"] = Path(str(values)).parent
        namespace.like = kept  # argparse sets the dataset, where it is left out, to None after this
        for name, value in kept.items():
            if not hasattr(namespace, name) or getattr(namespace, name) == parser.get_default(name):
                setattr(namespace, name, value)


def _kept(card: Any, parser: argparse.ArgumentParser) -> dict[str, Any]:
    """Return the options that a card keeps, with the types that the line would give them.

    Raises:
        ValueError: It is no card, or an option has a type or a value that the line does not take.
    """
    command = card.get("command") if isinstance(card, dict) else None
    if not isinstance(command, dict):
        raise ValueError("it holds no command")
    kept = {name: command[name] for name in KEPT if name in command}
    of_search = {each.name for each in fields(Search)}
    try:
        _Kept.model_validate({name: value for name, value in kept.items() if name not in of_search})
        _OF_LISTS.validate_python({name: value for name, value in kept.items() if name in LISTS})
        _OF_SEARCH.validate_python(
            {name: kept[name] for name in kept if name in of_search - set(LISTS)}
        )
    except ValidationError as error:
        field, fault = first_fault(error)
        raise ValueError(f"{field}: {fault}") from error
    for action in parser._actions:
        values = kept.get(action.dest) if action.choices is not None else None
        for value in values if isinstance(values, list) else [values]:
            if value is not None and value not in (action.choices or ()):
                raise ValueError(
                    f"{action.dest} is {printable(str(value), 80)!r}, which this command does not "
                    "take"
                )
    questions = kept.get("benchmark", "")
    if questions and questions not in benchmark_names() and Path(questions).suffix not in FILES:
        raise ValueError(
            f"benchmark is {printable(questions, 80)!r}, which this command does not take"
        )
    for name in LISTS:
        if isinstance(kept.get(name), list):
            kept[name] = tuple(kept[name])
    return {**kept, **({"root": Path(kept["root"])} if "root" in kept else {})}


def of_card(options: argparse.Namespace) -> ModelSpec | None:
    """Return the model of a line with `--like`; say where its questions go, if a card names that.

    No key goes to an address that only a card names, not even the usual one.

    Raises:
        InputError: The card's model is more than an address and a name.
    """
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
