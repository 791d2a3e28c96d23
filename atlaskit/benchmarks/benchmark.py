"""A dataset as cases: rows that are read and checked, videos that are looked for; what the loaders have in common.

Untrusted: rows, file names in them, videos and subtitles. A row that is none ends the loading with one sentence; a
video that is not there is listed, since hardly anybody has them all.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, overload

from pydantic import BaseModel, ConfigDict, ValidationError

from atlaskit.benchmarks.case import Case
from atlaskit.environment.question import Question
from atlaskit.errors import InputError, first_fault, printable, reason
from atlaskit.video.opening import open_video
from atlaskit.video.subtitles import read_subtitles
from atlaskit.video.video import Video

MOST_NAMED = 3
"""Missing videos that are named in a warning."""


class Row(BaseModel):
    """Base of the rows of datasets: fields that are not listed are left alone."""

    model_config = ConfigDict(extra="ignore", frozen=True)


R = TypeVar("R", bound=Row)


@dataclass(frozen=True)
class Benchmark(Sequence[Case]):
    """The questions of a dataset whose videos are there."""

    name: str
    cases: tuple[Case, ...]
    missing: tuple[str, ...] = ()
    """Videos that are asked about and are not there, as they are named in the dataset."""

    def where(self, **facts: Any) -> Benchmark:
        """Return the cases with these facts, each a value or a collection of values: `where(duration_group=(900,
        3600), category="S2O")`. Raises InputError for a fact that no case has, or where none is left."""
        columns = sorted({"category", *(name for case in self.cases for name in case.facts)})
        unknown = [name for name in facts if name not in columns]
        if unknown:
            raise InputError(f"{self.name} has no column {unknown[0]!r}; it has {', '.join(columns)}.")
        kept = tuple(case for case in self.cases if all(_has(case, name, value) for name, value in facts.items()))
        if not kept:
            raise InputError(f"No question of {self.name} is left where {facts}.")
        return Benchmark(self.name, kept, self.missing)

    @overload
    def __getitem__(self, index: int) -> Case: ...
    @overload
    def __getitem__(self, index: slice) -> Benchmark: ...
    def __getitem__(self, index: int | slice) -> Case | Benchmark:
        if isinstance(index, slice):
            return Benchmark(self.name, self.cases[index], self.missing)
        return self.cases[index]

    def __len__(self) -> int:
        return len(self.cases)

    def __iter__(self) -> Iterator[Case]:
        return iter(self.cases)

    def __repr__(self) -> str:
        videos = len({case.video for case in self.cases})
        missing = f", {len(self.missing)} videos missing" if self.missing else ""
        return f"<{self.name}: {len(self.cases)} questions about {videos} videos{missing}>"


def _has(case: Case, name: str, wanted: Any) -> bool:
    value = case.question.category if name == "category" else case.facts.get(name)
    return value in wanted if isinstance(wanted, Collection) and not isinstance(wanted, str) else value == wanted


def read_rows(given: Iterable[Path] | Iterable[Mapping[str, Any]], form: type[R]) -> Iterator[tuple[str, R]]:
    """Read rows out of files, or check rows that were read already; say of each where it stands.

    Raises InputError with one sentence that names file, row and field.
    """
    for place, each in enumerate(given):
        if not isinstance(each, Path):
            yield f"Row {place}", row_of(f"Row {place}", each, form)
            continue
        for number, row in enumerate(_rows_in(each)):
            where = f"{each}, row {number}"
            yield where, row_of(where, row, form)


def _rows_in(path: Path) -> list[Any]:
    try:
        found = _parquet(path) if path.suffix == ".parquet" else json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read: {reason(error)}.") from error
    if not isinstance(found, list):
        raise InputError(f"{path} holds no list of rows.")
    return found


def row_of(where: str, given: Any, form: type[R]) -> R:
    """Check one row; raise InputError with one sentence that says `where`."""
    try:
        return form.model_validate(given)
    except ValidationError as error:
        field, fault = first_fault(error)
        raise InputError(f"{where}: {field or 'it'}: {fault}.") from error


def question_of(where: str, text: str, choices: Sequence[str], **about: Any) -> Question:
    """Make a question of a row; raise InputError that says `where` for one that is none."""
    try:
        return Question(text, tuple(choices), **about)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


def _parquet(path: Path) -> list[dict[str, Any]]:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise InputError(f"{path} is Parquet, which needs pyarrow: pip install 'atlaskit[notebook]'.") from error
    try:
        rows: list[dict[str, Any]] = pyarrow.parquet.read_table(path).to_pylist()
    except pyarrow.ArrowException as error:
        raise ValueError(str(error).splitlines()[0]) from error
    return rows


def within(folder: Path, name: str) -> Path | None:
    """Return the file of a name in a folder, None where it is not there; a name that leads out of it is none."""
    path = folder / name
    try:
        is_there = path.is_file() and path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError):
        return None
    return path if is_there else None


@dataclass(frozen=True)
class LazyVideo:
    """A video of a dataset and its subtitles, opened when it is needed."""

    path: Path
    subtitles: Path | None
    starts_at_s: float = 0.0
    """The second of the subtitles at which the video begins: some are those of a longer source."""

    def __call__(self) -> Video:
        """Open it; lines are cut to the video, and one without an end lasts until the video's."""
        video = open_video(self.path)
        if self.subtitles is not None:  # whose lines are cut to a length that only the open video knows
            given = {"starts_at_s": self.starts_at_s, "duration_s": video.duration_s}
            video.subtitles = read_subtitles(self.subtitles, **given)
        return video


def collected(name: str, cases: Sequence[Case], missing: Mapping[str, None]) -> Benchmark:
    """Put together what was found, and warn of what is missing."""
    if missing:
        named = ", ".join(printable(each, 60) for each in list(missing)[:MOST_NAMED])
        more = ", …" if len(missing) > MOST_NAMED else ""
        warnings.warn(f"{name}: {len(missing)} videos are not there: {named}{more}", stacklevel=3)
    return Benchmark(name, tuple(cases), tuple(missing))
