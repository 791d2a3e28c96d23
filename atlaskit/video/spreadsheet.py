"""Reads CSV and TSV files as spreadsheets save them.

Spreadsheets differ in the encoding, in the separator of cells, and in empty columns at the end. All
of these are accepted. This module knows nothing about the meaning of columns.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from atlaskit import limits
from atlaskit.caching.files import read_whole
from atlaskit.errors import InputError, printable, reason
from atlaskit.video.subtitles.text import decode_text

SEPARATORS = (",", ";", "\t", "|")
"""Possible separators of cells. The one that splits the header into the most cells is used; of
several such separators, the first."""
DECLARED = "sep="
"""Beginning of a first line that declares the separator for Excel."""


def read_spreadsheet(path: Path) -> list[tuple[str, dict[str, str]]]:
    """Return (place, row) for each row of a CSV or TSV; a row maps the names of columns to cells.

    The place names the file and the number of the row, which counts from 1 and includes the row
    with the names of the columns. Rows without text are left out, and so are columns that have
    neither a name nor text.

    Raises:
        InputError: The file cannot be read, has no names of columns, or a row has more cells than
            there are columns.
    """
    text = read_text(path)
    separator, text = separator_of(text)
    rows = _records(path, text, separator)
    number, names = next(rows, (0, []))
    if not any(names):
        raise InputError(f"{path} is empty: its first row names the columns.")
    _check_names(f"{path}, row {number}", names)
    numbered_rows = list(islice(rows, limits.TABLE_ROWS + 1))
    if len(numbered_rows) > limits.TABLE_ROWS:
        raise InputError(f"{path} has more than {limits.TABLE_ROWS:,} rows.")
    width = len(names)
    if len(numbered_rows) > 1:
        # If all rows are wider than the header, each of them ends in superfluous separators.
        width = max(width, min(len(cells) for _, cells in numbered_rows))
    placed_rows = []
    for number, cells in numbered_rows:
        place = f"{path}, row {number}"
        _check_cells(place, names, cells, width)
        row = {name: cell for name, cell in zip(names, cells, strict=False) if name}
        placed_rows.append((place, row))
    return placed_rows


def read_text(path: Path) -> str:
    """Return the text of a file in whatever encoding it was saved.

    Raises:
        InputError: The file cannot be read, or is not text.
    """
    try:
        data = read_whole(path)
    except OSError as error:
        raise InputError(f"Cannot read {path}: {reason(error)}.") from error
    text = decode_text(data)
    if text is None or "\0" in text:
        raise InputError(f"{path} is no text: save the table as CSV in UTF-8.")
    return text.removeprefix("\ufeff")


def separator_of(text: str) -> tuple[str, str]:
    """Return the separator of a table, and the table without the line that declares it, if any."""
    first, _, rest = text.partition("\n")
    declared = first.rstrip("\r")
    if declared.startswith(DECLARED) and len(declared) == len(DECLARED) + 1:
        return declared[-1], rest
    header = next((line for line in text.splitlines() if line.strip()), "")

    def cell_count(separator: str) -> int:
        with suppress(csv.Error):  # a cell is too long: reading the rows reports it
            return len(next(csv.reader([header], delimiter=separator), []))
        return 0

    return max(SEPARATORS, key=cell_count), text


def _records(path: Path, text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (number, cells) of each row that has some text."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    number = 0
    while True:
        number += 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            if "limit" in str(error):
                raise InputError(
                    f"{path}, row {number} has a cell of more than {csv.field_size_limit():,} "
                    "characters."
                ) from error
            raise InputError(
                f"{path}, row {number} is no row of a CSV ({error}): put a text with quotation "
                'marks in quotation marks, and double each one inside, as in "a ""small"" dog".'
            ) from error
        if cells is None:
            return
        cells = list(map(str.strip, cells))
        if any(cells):
            yield number, cells


def _check_names(place: str, names: Sequence[str]) -> None:
    """Raise InputError for too many columns, or two with the same name."""
    if len(names) > limits.COMMAS:
        raise InputError(f"{place} has more than {limits.COMMAS:,} columns.")
    for number, name in enumerate(names):
        if name and name in names[:number]:
            raise InputError(f"{place}: two columns are named {printable(name, 60)!r}; rename one.")


def _check_cells(place: str, names: Sequence[str], cells: Sequence[str], width: int) -> None:
    """Raise InputError for a row with more than `width` cells, or text in a column without name."""
    if len(cells) > width:
        raise InputError(
            f"{place} has {len(cells)} cells, and the table {width} columns: put a text that holds "
            "a separator in quotation marks."
        )
    for number, cell in enumerate(cells):
        if cell and (number >= len(names) or not names[number]):
            raise InputError(
                f"{place}: {printable(cell, 60)!r} is in column {number + 1}, which has no name "
                "in the first row. Name it, or put a text that holds a separator in quotation "
                "marks."
            )
