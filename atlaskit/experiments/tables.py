"""`table_html`: a CSV file as an HTML table that fits the width of a page.

The page rounds numbers, joins a mean with its interval, says what is equal in all rows once, and
leaves out rows and columns that do not fit. The file has everything.
"""

from __future__ import annotations

import csv
import re
from html import escape
from pathlib import Path
from urllib.parse import quote

from atlaskit.errors import printable

ROWS, COLUMNS, CHARS = 20, 10, 90
"""Most rows and columns of a table on the page, and characters of one cell."""
NARROW = 8
"""A table of no more columns keeps those that are equal in all rows."""
INTERVAL = " (95 %)"
"""End of the header of a column that holds values with their intervals."""
DIGITS = 3
"""Significant digits of a number."""
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
LONG_WORD = re.compile(r"(\S{20})(?=\S)")
UNITS = ("s", "ms")

Table = list[tuple[str, list[str]]]
"""Columns: the header and the cells of each."""


def read_table(path: Path) -> dict[str, list[str]]:
    """Return the columns of a CSV file by their headers; {} if it is no table."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            head, *rows = list(csv.reader(file)) or [[]]
    except (UnicodeDecodeError, csv.Error):
        return {}
    return {name: [row[index] if index < len(row) else "" for row in rows] for index, name in enumerate(head)}


def table_html(path: Path) -> str:
    """Return a CSV file as an HTML table with a caption that links the file; text is escaped."""
    columns = [_column(name, cells) for name, cells in read_table(path).items()]
    count = len(columns[0][1]) if columns else 0
    columns, constants = _without_constants(_with_intervals(columns), count)
    notes = [f"in all rows: {', '.join(f'{name} {value}' for name, value in constants)}"] if constants else []
    if len(columns) > COLUMNS:
        notes.append(f"{len(columns) - COLUMNS} more columns in the file")
    if count > ROWS:
        notes.append(f"{count - ROWS} more rows in the file")
    shown = columns[:COLUMNS]
    head = "".join(f"<th{_align(cells)}>{_text(name)}</th>" for name, cells in shown)
    rows = "".join(
        f"<tr>{''.join(f'<td{_align(cells)}>{_text(cells[index])}</td>' for _, cells in shown)}</tr>"
        for index in range(min(count, ROWS))
    )
    link = f'<a href="{escape(quote(path.name))}">{_text(path.name)}</a>'
    caption = "; ".join([link, *map(_text, notes)])
    return f'<div class="table"><table><caption>{caption}</caption><tr>{head}</tr>{rows}</table></div>'


def number(text: str) -> str:
    """Return a number with three significant digits, a whole one with all, other text as it is."""
    if not NUMBER.fullmatch(text):
        return text
    value = float(text)
    if abs(value) > 10**DIGITS - 0.5 or value == int(value):
        return f"{value:,.0f}".replace("-", "−")
    return f"{value:.{DIGITS}g}".replace("-", "−")


def _column(name: str, cells: list[str]) -> tuple[str, list[str]]:
    """Return a column as it is shown, with its unit in the header: "duration_s" is "duration (s)".

    Durations that are all whole minutes are shown in minutes or hours instead.
    """
    words = name.split("_")
    if words[-1] == "s" and cells and all(_is_minutes(cell) for cell in cells):
        return " ".join(words[:-1]), [_minutes(float(cell) / 60) for cell in cells]
    if len(words) > 1 and words[-1] in UNITS:
        words[-1] = f"({words[-1]})"
    return " ".join(words), [number(cell) for cell in cells]


def _is_minutes(cell: str) -> bool:
    return bool(NUMBER.fullmatch(cell)) and float(cell) > 0 and float(cell) % 60 == 0


def _minutes(minutes: float) -> str:
    return f"{number(str(minutes / 60))} h" if minutes % 60 == 0 else f"{number(str(minutes))} min"


def _with_intervals(columns: Table) -> Table:
    """Join the columns `low` and `high` with the column before them."""
    joined, left = Table(), list(columns)
    while left:
        (name, cells), *left = left
        if [each for each, _ in left[:2]] == ["low", "high"]:
            (_, lows), (_, highs), *left = left
            rows = zip(cells, lows, highs, strict=True)
            name, cells = f"{name}{INTERVAL}", [f"{cell} ({low} to {high})" for cell, low, high in rows]
        joined.append((name, cells))
    return joined


def _without_constants(columns: Table, count: int) -> tuple[Table, list[tuple[str, str]]]:
    """Split a wide table: columns that differ between rows, and name and value of the others.

    Means with intervals are results and stay.
    """
    if len(columns) <= NARROW or count < 2:
        return columns, []
    varying = [(name, cells) for name, cells in columns if len(set(cells)) > 1 or name.endswith(INTERVAL)]
    constant = [(name, cells[0]) for name, cells in columns if (name, cells) not in varying and cells[0]]
    return varying, constant


def _align(cells: list[str]) -> str:
    """Return the class attribute of a column of numbers, intervals or times; "" for text."""
    is_number = re.compile(r"−?[\d.,]+(e[−+]?\d+)?( (h|min|s)| \(.* to .*\))?|nan|inf|")
    return ' class="n"' if all(is_number.fullmatch(cell) for cell in cells) else ""


def _text(text: str) -> str:
    """Return text, cut and escaped, in which long words may wrap."""
    pieces = LONG_WORD.sub("\\1\n", printable(text, CHARS)).split("\n")
    return "<wbr>".join(escape(piece) for piece in pieces)
