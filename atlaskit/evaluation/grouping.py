"""Groups of the rows of an evaluation table, and the columns that a table must have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from atlaskit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

SHARES = ("score", "right")
"""Columns whose values are from 0 to 1."""


def check_columns(rows: pd.DataFrame, names: Sequence[str]) -> None:
    """Raise InputError if a table lacks one of the columns."""
    missing = [name for name in names if name not in rows.columns]
    if missing:
        raise InputError(f"The table lacks the column {missing[0]!r}; it has {', '.join(map(str, rows.columns))}.")


def groups(
    rows: pd.DataFrame, by: str | Sequence[str] | None, columns: Sequence[str]
) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield the values of `by` and the rows of each group; without `by`, one group of all rows."""
    names = [] if by is None else [by] if isinstance(by, str) else list(by)
    check_columns(rows, [*names, *columns])
    for key, group in rows.groupby(names, sort=True) if names else [((), rows)]:
        yield dict(zip(names, key, strict=True)), group
