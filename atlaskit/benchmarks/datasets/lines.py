"""Reads rows of a dataset from a text file with one row on each line.

Blank lines, a byte-order mark and any line ending are accepted. The first line that is no row ends
the loading with one sentence that names the file and the line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from atlaskit.benchmarks.datasets.rows import R, read_rows
from atlaskit.errors import InputError, printable, reason

LineParser = Callable[[str], Mapping[str, Any]]
"""Reads the fields of a row from a line; raises ValueError for a line that is no row."""


def read_lines(path: Path, parse: LineParser, row_type: type[R], *, dataset: str) -> Iterator[tuple[str, R]]:
    """Yield each row of a file, validated, with its location for error messages.

    Args:
        path: The file.
        parse: What reads the fields of a row from its line.
        row_type: The class that validates a row.
        dataset: Name of the dataset, for error messages.

    Raises:
        InputError: The file cannot be read or holds no row, or a row is invalid.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")  # JSON texts may hold other line breaks
    except (OSError, ValueError) as error:
        raise InputError(f"Cannot read {path}: {reason(error)}.") from error
    rows = [(f"{path}, line {number}", line) for number, line in enumerate(lines, start=1) if line.strip()]
    if not rows:
        raise InputError(f"{path} must hold the questions of {dataset}, one on each line; it is empty.")
    for location, line in rows:
        try:
            ((_, row),) = read_rows([parse(line)], row_type, dataset=dataset)
        except InputError as error:
            raise InputError(f"{location}{str(error).removeprefix('Row 0')}") from error
        except (ValueError, RecursionError) as error:
            raise InputError(f"{location}: {error or 'it is no row'}; got {printable(line, 60)!r}.") from error
        yield location, row


def parse_json(line: str) -> Mapping[str, Any]:
    """Return the object that a line of JSON holds; raise ValueError if it holds none."""
    try:
        row = json.loads(line)
    except ValueError as error:
        raise ValueError("each line must be a JSON object") from error
    if not isinstance(row, dict):
        raise ValueError("each line must be a JSON object")
    return row
