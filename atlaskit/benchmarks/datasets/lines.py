"""Reads texts with one row on each line: JSON Lines, or a form of the dataset's own."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from atlaskit.errors import printable

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
