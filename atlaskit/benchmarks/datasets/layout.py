"""`Layout`: how a dataset lies in a folder; `Loading`: makes cases of its rows, and notes what has
no file.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic

from atlaskit.benchmarks.benchmark import Benchmark
from atlaskit.benchmarks.case import Case
from atlaskit.benchmarks.datasets.files import SUBTITLE_SUFFIXES, VIDEO_SUFFIXES, LazyVideo, MediaFiles, packed_in
from atlaskit.benchmarks.datasets.lines import LineParser
from atlaskit.benchmarks.datasets.rows import R, holds_rows, leave_out, question_from_row, read_rows, row_files
from atlaskit.errors import InputError, printable

MOST_NAMED = 3
"""Number of missing videos that the warning names."""


def check_one_of(name: str, value: Any, accepted: Collection[str]) -> None:
    """Raise InputError if an option of a loader is none of its values."""
    if value not in accepted:
        raise InputError(f"{name} must be one of {', '.join(accepted)}; got {value!r:.40}.")


@dataclass(frozen=True)
class Layout(Generic[R]):
    """How a published dataset lies in a folder."""

    name: str
    row: type[R]
    """What validates a row."""
    videos: tuple[str, ...] = ("videos", "video", "data")
    """Folders that may hold the videos."""
    subtitles: tuple[str, ...] = ("subtitles", "subtitle")
    """Folders that may hold the subtitles; none if the dataset has none."""
    files: Callable[..., Sequence[Path]] = row_files
    """Returns the row files of a folder, none if they are missing; called with the split too, where
    there are several."""
    wanted: str = "JSON or Parquet file with questions"
    """The row files in words, for the error where there are none."""
    splits: Mapping[str, str] = field(default_factory=dict)
    """The splits, if there are several, with the row files of each in words."""
    own: re.Pattern[str] = re.compile("(?!)")
    """Names of files that are certainly the dataset's, so that a damaged one is an error."""
    parse_line: LineParser | None = None
    """What reads the fields of a row from a line, if the files have a form of the dataset's own."""

    def files_in(self, home: Path, split: str = "") -> Sequence[Path]:
        """Return the row files of a split in a folder."""
        return self.files(home, split) if self.splits else self.files(home)

    def is_own(self, path: Path) -> bool:
        """Return whether the name of a row file says that it is the dataset's."""
        return self.own.fullmatch(path.name) is not None

    def is_in(self, home: Path) -> bool:
        """Return whether a folder holds rows of the dataset, of any split."""
        paths = [path for split in self.splits or ("",) for path in self.files_in(home, split)]
        return any(map(self.is_own, paths)) or holds_rows(paths, self.row)


@dataclass
class Loading(Generic[R]):
    """One loading of a dataset from a folder.

    Raises:
        InputError: The split is none of the dataset's, or the folder holds no row files.
    """

    layout: Layout[R]
    root: str | Path
    given: Iterable[Mapping[str, Any]] | None = None
    """Rows that the caller has read; None to read those of the folder."""
    wants_lines: bool = True
    """Whether the videos get their subtitles, as far as the dataset has any."""
    split: str = ""
    cases: list[Case] = field(default_factory=list)
    missing: dict[str, None] = field(default_factory=dict)
    """Videos that have questions but no file, as the dataset names them."""
    _taken: Counter[str] = field(default_factory=Counter)
    """How often each id was given so far."""
    _number: int = -1
    """Number of the row that was yielded last."""

    def __post_init__(self) -> None:
        layout, self.home = self.layout, Path(self.root)
        if layout.splits:
            check_one_of("split", self.split, layout.splits)
        self._files = [] if self.given is not None else layout.files_in(self.home, self.split)
        if self.given is None and not self._files:
            wanted = layout.splits.get(self.split, layout.wanted)
            raise InputError(f"{self.home} holds no {wanted}; pass the folder of {layout.name}.")
        self.wants_lines = self.wants_lines and bool(layout.subtitles)
        self._videos = MediaFiles(self.home, layout.videos, VIDEO_SUFFIXES)
        self._subtitles = MediaFiles(self.home, layout.subtitles, SUBTITLE_SUFFIXES)

    def rows(self) -> Iterator[tuple[str, R]]:
        """Yield each row, validated, with its location for error messages: see `read_rows`."""
        layout, source = self.layout, self._files if self.given is None else self.given
        own = list(filter(layout.is_own, self._files))
        found = read_rows(source, layout.row, dataset=layout.name, own=own, parse_line=layout.parse_line)
        for self._number, (location, row) in enumerate(found):
            yield location, row

    def add(
        self,
        location: str,
        *,
        video: Sequence[str],
        text: str,
        name: str = "",
        choices: Sequence[str] = (),
        id: str = "",
        facts: Mapping[str, Any],
        lines: Sequence[str] | None = None,
        videos: MediaFiles | None = None,
        subtitles: MediaFiles | None = None,
        starts_at_s: float = 0.0,
        **fields: Any,
    ) -> None:
        """Add the case of one question, or note that its video is missing.

        The fact `subtitles` says whether the case has any. An id that an earlier question has gets
        a number, so that a table finds each question by its id. Neither this number nor that of a
        question without an id depends on which videos are missing.

        Args:
            location: Where the row stands, for the error message.
            video: Names under which the video's file may lie; the first is the dataset's own.
            text: The question.
            name: Name of the video in the case; "" for the first of `video`.
            choices: Its choices, in the dataset's order.
            id: The dataset's id of the question; "" if it has none.
            facts: The dataset's own columns.
            lines: Names of its subtitle file; None for those of the video.
            videos: Where this video may lie, if not where all of the dataset do.
            subtitles: The same for its subtitles.
            starts_at_s: Second of the subtitle file at which the video starts.
            **fields: Further fields of `Question`.

        Raises:
            InputError: The row makes no valid question, and its video is not missing.
        """
        name = name or video[0]
        id = id or f"{name}-{self._number}"
        self._taken[id] += 1
        path = (videos or self._videos).find(*video)
        if path is None:
            self.missing[video[0]] = None
            return
        own_id = f"{id}#{self._taken[id]}" if self._taken[id] > 1 else id
        try:
            question = question_from_row(location, text, choices, id=own_id, **fields)
        except InputError as error:
            leave_out(error)
            return
        names = [name, *video] if lines is None else lines
        found = (subtitles or self._subtitles).find(*names) if self.wants_lines else None
        facts = {**facts, "subtitles": found is not None}
        self.cases.append(Case(question, name, LazyVideo(path, found, starts_at_s), facts))

    def benchmark(self, name: str = "") -> Benchmark:
        """Return the benchmark; warn the loader's caller of missing videos and packed archives.

        Args:
            name: Its name; "" for the dataset's.
        """
        name, home = name or self.layout.name, self.home
        if self.missing:
            named = ", ".join(printable(video, 60) for video in list(self.missing)[:MOST_NAMED])
            more = ", …" if len(self.missing) > MOST_NAMED else ""
            warnings.warn(f"{name}: {len(self.missing)} videos are missing: {named}{more}", stacklevel=3)
        lacks_lines = self.wants_lines and not any(case.facts["subtitles"] for case in self.cases)
        for archive, command in (packed_in(home) if self.missing or lacks_lines else {}).items():
            if self.missing or "subtitle" in archive:
                warnings.warn(f"{name}: {home / archive} is still packed; this unpacks it: {command}", stacklevel=3)
        return Benchmark(name, tuple(self.cases), tuple(self.missing), name)
