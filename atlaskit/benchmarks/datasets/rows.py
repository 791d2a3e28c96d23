"""Reads the rows of published datasets from files, and validates them.

* `read_lines`, `read_parquet`, `read_placed`: rows of JSON Lines, Parquet and other files.
* `Row`, `read_rows`: validated rows, from files or from the caller.
* `skip_bad`: leaves out invalid rows.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
from pydantic import (
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)

from atlaskit import limits
from atlaskit.caching.files import open_regular, read_whole
from atlaskit.caching.keys import check_parts
from atlaskit.environment.question import Question
from atlaskit.errors import InputError, first_fault, missing, printable, reason

if TYPE_CHECKING:
    import pyarrow

LineParser = Callable[[str], Any]
"""Reads the fields of a row from a line; raises ValueError for a line that is no row."""
PlacedRow = tuple[str, Any]
"""A row after its place in the file ("row 3", "line 4")."""


class BadLineError(ValueError):
    """A line that holds no row."""

    def __init__(self, number: int, line: str, why: str, *, is_first: bool) -> None:
        """Take the number of the line, from 1, and whether all lines before it are blank."""
        super().__init__(f"line {number}: {why}; got {printable(line, 60)!r}")
        self.is_first = is_first


def read_lines(text: str, parse: LineParser) -> list[PlacedRow]:
    """Return the row on each line that is not blank, after its place, such as "line 4".

    Args:
        text: The text.
        parse: Reads the fields of a row from its line.

    Raises:
        BadLineError: A line holds no row.
    """
    rows = list[PlacedRow]()
    for number, line in enumerate(text.split("\n"), start=1):  # splitlines would cut at U+2028 too
        if line.strip():
            try:
                rows.append((f"line {number}", parse(line)))
            except (ValueError, RecursionError) as error:
                raise BadLineError(
                    number, line, str(error) or "it is no row", is_first=not rows
                ) from error
    return rows


def parse_json(line: str) -> Any:
    """Return the value of a line of JSON; raise ValueError for any other line."""
    try:
        return json.loads(line)
    except ValueError as error:
        raise ValueError("each line must be a JSON object") from error


def read_parquet(path: Path) -> pyarrow.Table:
    """Return the table of a Parquet file, within limits, since a small file may unpack to much.

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
        with open_regular(path) as source, pyarrow.parquet.ParquetFile(source) as file:
            metadata = file.metadata
            if metadata.num_rows > limits.PARTS or metadata.num_columns > limits.COMMAS:
                raise ValueError(
                    f"it has more than {limits.PARTS:,} rows or {limits.COMMAS:,} columns"
                )
            values = 0
            claimed = 0
            for number in range(metadata.num_row_groups):
                group = metadata.row_group(number)
                claimed += group.total_byte_size
                for column in range(metadata.num_columns):
                    values += group.column(column).num_values
            if values > limits.VALUES:
                raise ValueError(f"it has more than {limits.VALUES:,} values")
            large = ValueError(limits.too_long("it holds a table", limits.UNPACKED))
            if claimed > limits.UNPACKED:
                raise large
            unpacked = 0
            batches = []
            for batch in file.iter_batches(batch_size=256):
                batches.append(batch)
                unpacked += batch.nbytes
                if unpacked > limits.UNPACKED:
                    raise large
            return pyarrow.Table.from_batches(batches, file.schema_arrow)
    except pyarrow.ArrowException as error:
        raise ValueError(str(error).splitlines()[0]) from error


MOST_NAMED = 3
"""The most files that a message names."""
_bad_rows: ContextVar[list[str] | None] = ContextVar("bad rows", default=None)
"""A sentence about each row that was left out; None outside of `skip_bad`."""


@contextmanager
def skip_bad() -> Iterator[list[str]]:
    """Leave out invalid rows of the datasets that are loaded in this block.

    Yields:
        A list to which one sentence is added for each: its file, its number and the fault.

    Examples:
        >>> with ak.benchmarks.skip_bad() as bad:
        ...     bench = ak.benchmarks.longvideobench("data/longvideobench")
        >>> bad
        []
    """
    bad = list[str]()
    token = _bad_rows.set(bad)
    try:
        yield bad
    finally:
        _bad_rows.reset(token)


def leave_out(error: InputError, *others: InputError) -> None:
    """Leave out invalid rows within `skip_bad`; outside of it, raise the first error."""
    bad = _bad_rows.get()
    if bad is not None:
        bad.extend(map(str, (error, *others)))
    elif others:
        more = "one more row is" if len(others) == 1 else f"{len(others)} more rows are"
        raise InputError(f"{error} ({more} wrong.)")
    else:
        raise error


class Row(BaseModel):
    """Base class of dataset rows.

    Fields that a subclass does not declare are ignored. A field that is null (or NaN, as pandas
    writes it) counts as absent, and a number is taken where a text is wanted.
    """

    model_config = ConfigDict(
        extra="ignore", frozen=True, coerce_numbers_to_str=True, str_max_length=limits.ROW_TEXT
    )

    marks: ClassVar[tuple[frozenset[str], ...]] = ()
    """A file belongs to the dataset if one of its rows has at least one field of each set."""

    identity: ClassVar[tuple[tuple[str, ...], ...]] = ()
    """Sets of fields whose values two rows share only if they are the same question. The first set
    of which a row has all fields counts, such as its id. If there is none, the last set counts. A
    subclass that `read_rows` reads names at least one set, or has a `key` of its own."""

    @property
    def key(self) -> str:
        """A text that two rows share only if they are the same question."""
        for names in self.identity:
            values = [getattr(self, name) for name in names]
            if all(values):
                break
        return "\n".join(map(str, values))  # of the last set, if no set is complete

    @model_validator(mode="wrap")
    @classmethod
    def _without_nulls(cls, row: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(row, Mapping):
            return validate(row)
        given = dict[str, Any]()
        for name, value in row.items():
            # Checked here, before the validator of a field searches the text.
            if isinstance(value, str) and len(value) > limits.ROW_TEXT:
                raise ValueError(f"{name!s:.40} has more than {limits.ROW_TEXT:,} characters")
            if not is_missing(value):
                given[name] = value
        return validate(given)


def first_given(row: Mapping[str, Any], *names: str) -> Any:
    """Return the first of some fields of a row that has a value; None if none has."""
    for name in names:
        value = row.get(name)
        if not is_missing(value):
            return value
    return None


def is_missing(value: object) -> bool:
    """Return whether a cell of a table has no value: None, NaN, or NaT or NA of pandas."""
    if value is None or type(value).__name__ == "NAType":
        return True
    is_another = value != value  # NaN and NaT are not themselves; an array gives an array
    return isinstance(is_another, bool | np.bool_) and bool(is_another)


def as_tuple(value: Any) -> Any:
    """Return a field that is one value or a list of them as a tuple, for a field validator."""
    if isinstance(value, list | tuple):
        return tuple(each for each in value if not is_missing(each))
    return (value,)


def as_number(value: Any) -> Any:
    """Return a number, or a text that is one, as an integer or float; any other value unchanged.

    Columns with numbers then have one type, whether they come from JSON, Parquet or pandas, and
    `where(level=2)` finds them.
    """
    if not isinstance(value, str | int | float):
        return value
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return value
    if not math.isfinite(number):
        return value
    return int(number) if number.is_integer() else number


R = TypeVar("R", bound=Row)


def read_rows(
    source: Iterable[Path] | Iterable[Mapping[str, Any]],
    row_type: type[R],
    *,
    dataset: str,
    own: Collection[Path] = (),
    parse_line: LineParser | None = None,
) -> Iterator[tuple[str, R]]:
    """Yield each row, validated, with its location for error messages.

    The location is the file with the number of the row from 0 ("lvb_val.json, row 3"), or with the
    number of the line from 1 if the file has a row on each line. Rows of the caller have the number
    alone ("Row 3").

    Files that are not the dataset's are skipped: hidden ones, and those without a row that has the
    fields of a question. A question that several files hold is yielded from the first of them. A
    row that a file holds twice, word for word, is yielded once, with a warning.

    Args:
        source: Parquet, JSON or JSON Lines files, or others with a row on each line; or rows that
            the caller has already read.
        row_type: The class that validates a row.
        dataset: Name of the dataset, for error messages.
        own: Files that are the dataset's by their names, so that a damaged one is an error.
        parse_line: Reads the fields of a row from a line, if the files have a form of the dataset's
            own.

    Raises:
        InputError: A file cannot be read, no file holds questions, or a row is invalid.
    """
    items: list[Any] = list(source)
    if not all(isinstance(item, Path) for item in items):
        placed = ((f"Row {position}", item) for position, item in enumerate(items))
        yield from _validated(dataset, placed, row_type)
        return
    paths = [item for item in items if not item.name.startswith(".")]
    seen = set[str]()
    has_questions = False
    for path in paths:
        rows = _read_file(path, is_certain=len(paths) == 1 or path in own, parse_line=parse_line)
        if not any(_has_marks(row, row_type) for _, row in rows):
            continue
        has_questions = True
        earlier = frozenset(seen)  # rows of one file are different questions, even with one key
        located = ((f"{path}, {place}", row) for place, row in rows)
        for location, valid in _validated(str(path), located, row_type):
            if valid.key not in earlier:
                seen.add(valid.key)
                yield location, valid
    if not has_questions:
        names = ", ".join(map(str, paths[:MOST_NAMED])) or "no file"
        raise InputError(
            f"{names} must hold a list of rows with the questions of {dataset}; none does."
        )


def _validated(
    source: str, placed: Iterable[tuple[str, Any]], row_type: type[R]
) -> Iterator[tuple[str, R]]:
    """Yield each different valid row with its location; warn of those that are there twice."""
    seen = set[str]()
    twice = list[str]()
    for location, row in placed:
        try:
            valid = _validate(location, row, row_type)
        except InputError as error:
            leave_out(error)
            continue
        words = repr(valid)
        if words in seen:
            twice.append(location)
        else:
            seen.add(words)
            yield location, valid
    if twice:
        warnings.warn(
            f"{source}: {len(twice)} questions are listed twice and asked once, as {twice[0]}.",
            stacklevel=4,
        )


def _has_marks(row: Any, row_type: type[Row]) -> bool:
    if not isinstance(row, Mapping):
        return False
    return not any(names.isdisjoint(row) for names in row_type.marks)


def holds_rows(paths: Iterable[Path], row_type: type[Row]) -> bool:
    """Return whether one of the files holds a row of the dataset; an unreadable file holds none."""
    for path in paths:
        if not path.name.startswith("."):
            with suppress(InputError):
                rows = _read_file(path, is_certain=False)
                if any(_has_marks(row, row_type) for _, row in rows):
                    return True
    return False


def row_files(home: Path, *folders: str) -> list[Path]:
    """Return the files that may hold rows: Parquet at any depth, then JSON and JSON Lines.

    Parquet comes first because datasets are published so, and JSON beside it may be anything.

    Args:
        home: Folder of the dataset.
        *folders: Folders inside it that may hold JSON, in order; `home` itself comes last.
    """
    paths = sorted(home.rglob("*.parquet"))
    for folder in (*folders, ""):
        for path in sorted((home / folder).glob("*.json*")):
            if path.suffix in (".json", ".jsonl"):
                paths.append(path)
    return paths


def read_placed(path: Path) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the rows of a JSON, JSON Lines or Parquet file, each after its place, unvalidated.

    Raises:
        InputError: It cannot be read, or a row is no object.
    """
    found = []
    for place, row in _read_file(path, is_certain=True):
        if not isinstance(row, Mapping):
            raise InputError(
                f"{path}, {place} must be an object with fields; got {type(row).__name__}."
            )
        found.append((f"{path}, {place}", row))
    return found


def _read_file(
    path: Path, is_certain: bool, parse_line: LineParser | None = None
) -> list[PlacedRow]:
    """Return the rows of a file.

    A file that holds no rows is an error if it certainly belongs to the dataset; otherwise the list
    is empty. A file that cannot be opened is always an error, and so is a damaged Parquet file,
    since it may be a part of the dataset.
    """
    try:
        if path.suffix == ".parquet":
            rows = _placed(read_parquet(path).to_pylist())
        else:
            rows = _read_text(path, parse_line)
    except (OSError, ValueError, RecursionError) as error:
        is_unopened = isinstance(error, OSError)
        if not (is_certain or is_unopened or path.suffix == ".parquet"):
            return []
        if isinstance(error, BadLineError):
            raise InputError(f"{path}, {error}.") from error
        raise InputError(f"Cannot read {path}: {reason(error)}.") from error
    if isinstance(rows, list):
        return rows
    if is_certain:
        raise InputError(f"{path} must hold a list of rows; got {type(rows).__name__}.")
    return []


def _read_text(path: Path, parse_line: LineParser | None) -> Any:
    """Return the rows of a text file, each after its place; another JSON value unchanged.

    Raises:
        OSError: The file cannot be read.
        BadLineError: The file should have a row on each line, and one line holds none.
        ValueError: It is neither JSON nor JSON Lines, or it is too large.
    """
    text = read_whole(path).decode("utf-8-sig")
    check_parts(text)
    if parse_line is not None:
        return read_lines(text, parse_line)
    try:
        content = json.loads(text)
    except ValueError as whole_error:
        try:
            return read_lines(text, parse_json)
        except BadLineError as error:
            if error.is_first and path.suffix != ".jsonl":  # neither JSON nor JSON Lines
                raise whole_error from None
            raise error from None
    if path.suffix == ".jsonl" and isinstance(content, dict):
        content = [content]
    return _placed(content) if isinstance(content, list) else content


def _placed(rows: Iterable[Any]) -> list[PlacedRow]:
    return [(f"row {number}", row) for number, row in enumerate(rows)]


def _validate(location: str, row: Any, row_type: type[R]) -> R:
    if not isinstance(row, Mapping):
        raise InputError(
            f"{location}: the row must be an object with fields; got {type(row).__name__}."
        )
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
