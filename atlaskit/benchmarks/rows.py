"""Reads rows of a dataset from JSON or Parquet files, and validates each.

Rows come from outside and are untrusted. A row that breaks a rule ends the loading with one
sentence that names the file, the row and the field.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from atlaskit.environment.question import Question
from atlaskit.errors import InputError, first_fault, reason


class Row(BaseModel):
    """Base class of dataset rows; ignores fields that a subclass does not declare."""

    model_config = ConfigDict(extra="ignore", frozen=True)


R = TypeVar("R", bound=Row)


def read_rows(source: Iterable[Path] | Iterable[Mapping[str, Any]], row_type: type[R]) -> Iterator[tuple[str, R]]:
    """Yield each row, validated, with its location for error messages ("lvb_val.json, row 3").

    Args:
        source: JSON or Parquet files, or rows that the caller has already read.
        row_type: The class that validates a row.

    Raises:
        InputError: A file cannot be read, holds no list of rows, or a row is invalid.
    """
    for position, item in enumerate(source):
        if not isinstance(item, Path):
            yield f"Row {position}", _validate(f"Row {position}", item, row_type)
            continue
        for number, row in enumerate(_read_file(item)):
            location = f"{item}, row {number}"
            yield location, _validate(location, row, row_type)


def _read_file(path: Path) -> list[Any]:
    try:
        rows = _read_parquet(path) if path.suffix == ".parquet" else json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"Cannot read {path}: {reason(error)}.") from error
    if not isinstance(rows, list):
        raise InputError(f"{path} must hold a list of rows; got {type(rows).__name__}.")
    return rows


def _read_parquet(path: Path) -> list[dict[str, Any]]:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise InputError(f"Reading {path} needs pyarrow: pip install 'atlaskit[notebook]'.") from error
    try:
        rows: list[dict[str, Any]] = pyarrow.parquet.read_table(path).to_pylist()
    except pyarrow.ArrowException as error:
        raise ValueError(str(error).splitlines()[0]) from error
    return rows


def _validate(location: str, row: Any, row_type: type[R]) -> R:
    try:
        return row_type.model_validate(row)
    except ValidationError as error:
        field, fault = first_fault(error)
        raise InputError(f"{location}: {field or 'the row'}: {fault}.") from error


def question_from_row(location: str, text: str, choices: Sequence[str], **fields: Any) -> Question:
    """Return the question of a row.

    Args:
        location: Where the row stands, for the error message.
        text: The question.
        choices: Its choices, in the dataset's order.
        **fields: Further fields of `Question`.

    Raises:
        InputError: The row makes no valid question.
    """
    try:
        return Question(text, tuple(choices), **fields)
    except InputError as error:
        raise InputError(f"{location}: {error}") from error
