"""`atlaskit merge` and `atlaskit compare`, and the rows so far of `evaluate` and `paper`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from atlaskit.benchmarks.case import Benchmark
from atlaskit.cli.outputs import TABLES, add_output
from atlaskit.errors import InputError, printable
from atlaskit.evaluation import statistics, tables
from atlaskit.evaluation.card import differences
from atlaskit.evaluation.costs import Spending
from atlaskit.evaluation.runner import EvaluationStopped
from atlaskit.evaluation.tables import merged, replaced

if TYPE_CHECKING:
    import pandas as pd

MERGE_EXAMPLES = """examples:
  atlaskit merge shard-1.csv shard-2.csv shard-3.csv --out rows.csv"""
COMPARE_EXAMPLES = """examples:
  atlaskit compare uniform.csv searched.csv"""
MOST_CHARS = 60
"""Most characters of a setting's value that a comparison shows."""


def add_tables_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `merge` and `compare` subcommands to the parser."""
    merge = commands.add_parser(
        "merge",
        help="join the tables of the shards of an evaluation",
        epilog=MERGE_EXAMPLES,
    )
    merge.set_defaults(run=_merge)
    merge.add_argument("shards", type=Path, nargs="+", help="what `evaluate --shard` wrote, all shards in any order")
    add_output(merge, "--out", TABLES, makes_folder=True, required=True, metavar="FILE", help="table to write")
    compare = commands.add_parser(
        "compare",
        help="say how two tables of `evaluate` were made differently, and compare their scores",
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
        where = f" The rows so far are in {tables.so_far(out)}." if found or len(stopped.table) else ""
        raise EvaluationStopped(f"{stopped}{where}", stopped.table) from stopped


def _merge(options: argparse.Namespace) -> int:
    whole = merged({str(path): tables.load(path) for path in options.shards})
    tables.save(whole, options.out)
    failed = (whole["failure"] != "").sum()
    print(f"{options.out}: {len(whole)} rows of {len(options.shards)} shards, {failed} of them with a failed call")
    return 0


def _compare(options: argparse.Namespace) -> int:
    one, other = tables.load(options.one), tables.load(options.other)
    for path, table in ((options.one, one), (options.other, other)):
        if table["method"].nunique() != 1:
            raise InputError(f"{path} holds several methods; `evaluate` has compared them. Pass tables of one each.")
    apart = differences(one.attrs, other.attrs)
    print(f"Settings that differ: {len(apart)}" if apart else "All settings are the same.")
    for name, *values in apart:
        first, second = (printable(str("not set" if value is None else value), MOST_CHARS) for value in values)
        print(f"  {name}: {first} | {second}")
    shared = one.merge(other, on=["id", "video"])[["id", "video"]]
    one, other = one.merge(shared), other.merge(shared)
    if shared.empty:
        raise InputError(f"{options.one} and {options.other} share no question.")
    found = statistics.compare(one, other)
    print(f"{len(shared)} questions of both: {one['score'].mean():.3f} and {other['score'].mean():.3f}")
    print(f"Difference {found.difference:+.3f}, 95 % from {found.low:+.3f} to {found.high:+.3f}, p = {found.p:.2g}")
    print(f"Only the first is right on {found.only_first}, only the second on {found.only_second}.")
    for path, table in ((options.one, one), (options.other, other)):
        if failed := (table["failure"] != "").sum():
            print(
                f"{path}: {failed} questions had a failed call, and those without an answer count as wrong; "
                "`evaluate --rerun failures` asks them again."
            )
    return 0
