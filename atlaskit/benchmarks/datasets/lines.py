"""Reads files of rows: texts with one on each line, in JSON or a form of their own, and Parquet."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlaskit import limits
from atlaskit.errors import InputError, missing, printable

if TYPE_CHECKING:
    import pyarrow

LineParser = Callable[[str], Any]
"""Reads the fields of a row from a line; raises ValueError for a line that is no row."""


class BadLineError(ValueError):
    """A line that holds no row."""

    def __init__(self, number: int, line: str, why: str, *, is_first: bool) -> None:
        """Say why. `number` counts from 1; `is_first` is whether all lines before are blank."""
        super().__init__(f"line {number}: {why}; got {printable(line, 60)!r}")
        self.is_first = is_first


def read_lines(text: str, parse: LineParser) -> list[tuple[int, Any]]:
    """Return what each line holds that is not blank, after its number.

    Args:
        text: The text.
        parse: What reads the fields of a row from its line.

    Raises:
        BadLineError: A line holds no row.
    """
    rows = []
    for number, line in enumerate(text.split("\n"), start=1):  # splitlines would cut at U+2028 too
        if line.strip():
            try:
                rows.append((number, parse(line)))
            except (ValueError, RecursionError) as error:
                raise BadLineError(number, line, str(error) or "it is no row", is_first=not rows) from error
    return rows


def parse_json(line: str) -> Any:
    """Return what a line of JSON holds; raise ValueError for another line."""
    try:
        return json.loads(line)
    except ValueError as error:
        raise ValueError("each line must be a JSON object") from error


def read_parquet(path: Path) -> pyarrow.Table:
    """Return the table of a Parquet file, of which little may unpack to much.

    Raises:
        InputError: pyarrow is not installed.
        OSError: The file cannot be read.
        ValueError: It is damaged, or holds more than a limit of `atlaskit.limits`.
    """
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise InputError(missing(f"Reading {path}", "pyarrow>=18")) from error
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            told = file.metadata
            if told.num_rows > limits.PARTS or told.num_columns > limits.COMMAS:
                raise ValueError(f"it has more than {limits.PARTS:,} rows or {limits.COMMAS:,} columns")
            groups = [told.row_group(number) for number in range(told.num_row_groups)]
            values = sum(group.column(number).num_values for group in groups for number in range(told.num_columns))
            if values > limits.VALUES:
                raise ValueError(f"it has more than {limits.VALUES:,} values")
            large, batches, unpacked = ValueError(limits.too_long("it holds a table", limits.UNPACKED)), [], 0
            if sum(group.total_byte_size for group in groups) > limits.UNPACKED:
                raise large
            for batch in file.iter_batches(batch_size=256):
                batches.append(batch)
                unpacked += batch.nbytes
                if unpacked > limits.UNPACKED:
                    raise large
            return pyarrow.Table.from_batches(batches, file.schema_arrow)
    except pyarrow.ArrowException as error:
        raise ValueError(str(error).splitlines()[0]) from error
