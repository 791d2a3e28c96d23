"""Compare the tables of a run with those in git: `python tools/compare_tables.py RUN [COMMITTED]`.

Text and whole numbers must be equal; other numbers may differ by a millionth of their value, since
libraries sum in different orders. It prints the first difference of each table, and ends with
status 1 if there is any.
"""

from __future__ import annotations

import csv
import math
import re
import sys
from itertools import zip_longest
from pathlib import Path

RELATIVE = 1e-6
"""The largest relative difference of two numbers that count as equal."""
ABSOLUTE = 1e-9
"""The largest difference of two numbers near zero that count as equal."""
WHOLE = re.compile(r"[+-]?\d+")
COMMITTED = Path("docs/results")


def differences(run: Path, committed: Path) -> list[str]:
    """Return a sentence for each table that differs between two folders of CSV files.

    Raises:
        SystemExit: If `committed` holds no table.
    """
    found = {path.name for path in run.glob("*.csv")}
    expected = {path.name for path in committed.glob("*.csv")}
    if not expected:
        raise SystemExit(
            f"There is no table in {committed}: name the folder of the committed CSV files."
        )
    sentences = list[str]()
    for name in sorted(expected - found):
        sentences.append(f"{committed / name}: {run} has no such table.")
    for name in sorted(found - expected):
        sentences.append(f"{run / name}: {committed} has no such table; commit it.")
    for name in sorted(found & expected):
        sentences.append(difference(run / name, committed / name))
    return [sentence for sentence in sentences if sentence]


def difference(table: Path, committed: Path) -> str:
    """Return the first difference of a table from the committed one, "" if they agree."""
    rows = _rows(table)
    expected = _rows(committed)
    if rows[0] != expected[0]:
        return (
            f"{table}: the columns are {', '.join(rows[0])}; committed are "
            f"{', '.join(expected[0])}."
        )
    if len(rows) != len(expected):
        return f"{table}: there are {len(rows) - 1} rows; committed are {len(expected) - 1}."
    for number, (row, wanted) in enumerate(zip(rows[1:], expected[1:], strict=True), start=1):
        for column, value, want in zip_longest(rows[0], row, wanted, fillvalue=""):
            if not is_same(value, want):
                place = f"{table}, row {number} ({', '.join(row[:1])}), column {column}"
                return f"{place}: {value or 'nothing'}; committed is {want or 'nothing'}."
    return ""


def is_same(value: str, committed: str) -> bool:
    """Return whether two cells agree."""
    if value == committed:
        return True
    if WHOLE.fullmatch(value) and WHOLE.fullmatch(committed):
        return False
    try:
        return math.isclose(float(value), float(committed), rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    except ValueError:
        return False


def _rows(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file)) or [[]]


def main(arguments: list[str]) -> int:
    """Compare the folders that are named; return the status."""
    if not 1 <= len(arguments) <= 2:
        raise SystemExit(
            "Name the folder of the run's tables, and that of the committed ones (docs/results)."
        )
    run = Path(arguments[0])
    committed = Path(arguments[1]) if len(arguments) == 2 else COMMITTED
    found = differences(run, committed)
    if found:
        print(*found, sep="\n")
        return 1
    print(f"All {len(list(committed.glob('*.csv')))} tables are those in {committed}.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
