"""A dataset's folder: the files of its rows, its videos and its subtitles.

* `MediaFiles`: finds a video or a subtitle file by the name that a row gives it.
* `Layout`: how a published dataset lies in a folder.
* `Loading`: what all loaders share, from the rows to the benchmark.
"""

from __future__ import annotations

import re
import shlex
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, Generic

from atlaskit.benchmarks.case import Benchmark, Case
from atlaskit.benchmarks.datasets.rows import (
    LineParser,
    R,
    holds_rows,
    leave_out,
    question_from_row,
    read_rows,
    row_files,
)
from atlaskit.errors import InputError, check_flags, printable
from atlaskit.video.opening import open_video
from atlaskit.video.subtitles import read_subtitles
from atlaskit.video.video import Video

VIDEO_SUFFIXES = (".mp4", ".mkv", ".webm", ".avi", ".mov", ".m4v", ".ts", ".flv")
SUBTITLE_SUFFIXES = (".srt", ".vtt", ".jsonl", ".json", ".ass", ".ssa", ".ttml", ".tsv")


PACKED = {
    "*.zip": "unzip -n {path} -d {home}",
    "*.tar": "tar -xf {path} -C {home}",
    "*.tar.gz": "tar -xzf {path} -C {home}",
    "*.tgz": "tar -xzf {path} -C {home}",
    "*.tar.part*": "cat {parts} | tar -x -C {home}",
}
"""Patterns of the archives that datasets are published in, with the shell command to unpack one."""


def packed_in(home: Path) -> dict[str, str]:
    """Return the archives that lie in a folder, with the command that unpacks each.

    The parts of one archive (`videos.tar.part.aa`) share a command, and so do numbered archives
    (`chunk_01.zip`).
    """
    found = dict[str, str]()
    folder = shlex.quote(str(home))
    for pattern, command in PACKED.items():
        for path in sorted(home.glob(pattern)):
            name = re.sub(r"(?<=[.]part).*|[0-9]+(?=[.]zip$)", "*", path.name)
            # The shell would take a quoted asterisk as it is; an empty part needs no quotes.
            # `unzip` itself reads the asterisk of its quoted path.
            parts = "*".join(part and shlex.quote(part) for part in name.split("*"))
            found[name] = command.format(
                path=shlex.quote(str(home / name)), parts=f"{folder}/{parts}", home=folder
            )
    return found


def find_inside(folder: Path, name: str) -> Path | None:
    """Return the file `name` of a folder, or None if it is missing or lies outside the folder.

    Names come from untrusted rows, so "../secret" and links out of the folder count as missing. In
    the cache of the Hugging Face hub, each file is a link into `blobs`, beside `snapshots`.
    """
    path = folder / name
    try:
        root = folder.resolve()
        allowed = [root]
        for each in (root, *root.parents):
            if each.name == "snapshots":
                allowed.append(each.parent / "blobs")
                break
        is_inside = any(map(path.resolve().is_relative_to, allowed))
        return path if path.is_file() and is_inside else None
    except (OSError, ValueError):
        return None


def existing(home: Path, *names: str) -> list[Path]:
    """Return those of the named files that exist in a folder."""
    paths = [home / name for name in names]
    return list(filter(Path.is_file, paths))


@dataclass(frozen=True)
class MediaFiles:
    """Files of one kind in a dataset's folder, found by the name that a row gives.

    Mirrors of a dataset differ in where the files lie: in the folders that the dataset names, one
    level below these (archives bring folders of their own), or directly in its folder. Mirrors also
    differ in the suffixes of files. The folders are listed once, because a dataset has thousands of
    names.
    """

    home: Path
    folders: tuple[str, ...]
    """Folders inside `home`, in the order in which they are searched. "" is `home` itself: then the
    folders one level below it are searched too."""
    suffixes: tuple[str, ...] = VIDEO_SUFFIXES
    """Suffixes of such files, the preferred one first. Their case does not matter."""

    def find(self, *names: str) -> Path | None:
        """Return the file of the first name for which one exists inside the folder, or None.

        A name comes with or without its suffix and its folder. A file with another suffix is
        returned if there is none with the given one.
        """
        for name in names:
            path = self._find(name)
            if path is not None:
                return path
        return None

    def _find(self, name: str) -> Path | None:
        path = PurePosixPath(name)
        if not path.name or path.is_absolute() or ".." in path.parts:
            return None
        has_suffix = path.suffix.lower() in self.suffixes
        if has_suffix and len(path.parts) > 1:
            for folder in ("", *self.folders):
                found = find_inside(self.home / folder, name)
                if found is not None:
                    return found
        stem = path.stem if has_suffix else path.name
        for base, below, names in self._places:
            file_name = names.get(path.name) or names.get(stem)
            if file_name is not None:
                found = find_inside(base, str(Path(below) / file_name))
                if found is not None:
                    return found
        return None

    @cached_property
    def _places(self) -> list[tuple[Path, str, dict[str, str]]]:
        """Each folder that holds files: a base, the folder below it or "", and the files' names."""
        folders = list[tuple[Path, str]]()
        for folder in self.folders:
            base = self.home / folder
            folders.append((base, ""))
            for name in _visible_in(base):
                if (base / name).is_dir():
                    folders.append((base, name))
        folders.append((self.home, ""))
        places = []
        for base, below in folders:
            names = self._names(base / below)
            if names:
                places.append((base, below, names))
        return places

    def _names(self, folder: Path) -> dict[str, str]:
        """Return the names of a folder's files, by name and by stem.

        A name counts before a stem. Of several files with one stem, the one whose suffix comes
        first in `suffixes` counts.
        """
        files = list(map(Path, _visible_in(folder)))
        found = dict[str, str]()
        for suffix in reversed(self.suffixes):
            for file in files:
                if file.suffix.lower() == suffix:
                    found[file.stem] = file.name
        for file in files:
            if file.suffix.lower() in self.suffixes:
                found[file.name] = file.name
        return found


def _visible_in(folder: Path) -> list[str]:
    """Return the names in a folder that do not begin with a dot; none if it cannot be listed."""
    try:
        names = sorted(path.name for path in folder.iterdir())
    except (OSError, ValueError):
        return []
    return [name for name in names if not name.startswith(".")]


@dataclass(frozen=True)
class LazyVideo:
    """A video file and its subtitles, opened on call."""

    path: Path
    subtitles: Path | None
    starts_at_s: float = 0.0
    """Second of the subtitle file at which the video starts.

    Above 0 where the file belongs to a longer source from which the video was cut.
    """

    def __call__(self) -> Video:
        """Open the video, and clip its subtitle lines to it.

        A line without an end lasts until the video ends.
        """
        video = open_video(self.path)
        if self.subtitles is not None:
            starts_at_s = self.starts_at_s + video.lead_s
            video.subtitles = read_subtitles(
                self.subtitles,
                starts_at_s=starts_at_s,
                duration_s=video.duration_s,
                is_excerpt=True,
            )
        return video


MOST_NAMED = 3
"""Number of missing videos that the warning names."""


def check_one_of(name: str, value: Any, accepted: Collection[str]) -> None:
    """Raise InputError if an option of a loader has a value that is not accepted."""
    if value not in accepted:
        raise InputError(f"{name} must be one of {', '.join(accepted)}; got {value!r:.40}.")


@dataclass(frozen=True)
class Layout(Generic[R]):
    """How a published dataset lies in a folder."""

    name: str
    row: type[R]
    """The class that validates a row."""
    videos: tuple[str, ...] = ("videos", "video", "data")
    """Folders that may hold the videos."""
    subtitles: tuple[str, ...] = ("subtitles", "subtitle")
    """Folders that may hold the subtitles; none if the dataset has none."""
    files: Callable[..., Sequence[Path]] = row_files
    """Returns the row files of a folder; none if they are missing. It takes the folder and, if
    there are several splits, the split."""
    wanted: str = "JSON or Parquet file with questions"
    """What the folder lacks if there are no row files: the error says that it holds no …"""
    splits: Mapping[str, str] = field(default_factory=dict)
    """The splits, if there are several; each with a description of its row files."""
    own: re.Pattern[str] = re.compile("(?!)")
    """Matches names of files that are certainly the dataset's: a damaged one is then an error. This
    default matches none."""
    parse_line: LineParser | None = None
    """Reads the fields of a row from a line, if the files have a form of the dataset's own."""

    def files_in(self, home: Path, split: str = "") -> Sequence[Path]:
        """Return the row files of a split in a folder."""
        return self.files(home, split) if self.splits else self.files(home)

    def is_own(self, path: Path) -> bool:
        """Return whether the name of a row file says that it is the dataset's."""
        return self.own.fullmatch(path.name) is not None

    def is_in(self, home: Path) -> bool:
        """Return whether a folder holds rows of the dataset, of any split."""
        paths = list[Path]()
        for split in self.splits or ("",):
            paths += self.files_in(home, split)
        return any(map(self.is_own, paths)) or holds_rows(paths, self.row)


@dataclass
class Loading(Generic[R]):
    """A dataset while it is loaded from a folder.

    Raises:
        InputError: The dataset has no such split, or the folder holds no row files.
    """

    layout: Layout[R]
    root: str | Path
    given: Iterable[Mapping[str, Any]] | None = None
    """Rows that the caller has read; None to read those of the folder."""
    wants_lines: bool = True
    """Whether the videos get their subtitles, if the dataset has any."""
    split: str = ""
    """Name of the split; "" if the dataset has none."""
    cases: list[Case] = field(default_factory=list)
    missing: dict[str, None] = field(default_factory=dict)
    """Videos that have questions but no file, as the dataset names them."""
    missing_lines: dict[str, None] = field(default_factory=dict)
    """Subtitle files that rows name, and that do not exist."""
    _taken: Counter[str] = field(default_factory=Counter)
    """How many questions so far have each id."""
    _number: int = -1
    """Number of the row that was yielded last."""

    def __post_init__(self) -> None:
        check_flags(subtitles=self.wants_lines)
        layout = self.layout
        self.home = Path(self.root)
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
        layout = self.layout
        found = read_rows(
            self._files if self.given is None else self.given,
            layout.row,
            dataset=layout.name,
            own=list(filter(layout.is_own, self._files)),
            parse_line=layout.parse_line,
        )
        for number, (location, row) in enumerate(found):
            self._number = number
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

        The fact `subtitles` tells whether the case has subtitles. If an earlier question has the
        same id, the id gets a number, so that each row of a table can be found by its id. Neither
        this number nor that of a question without an id depends on which videos are missing.

        Args:
            location: Where the row stands, for the error message.
            video: Names under which the video's file may lie; the first is the dataset's own.
            text: The question.
            name: Name of the video in the case; "" for the first of `video`.
            choices: The choices of the question, in the dataset's order.
            id: The dataset's id of the question; "" if it has none.
            facts: The dataset's own columns.
            lines: Names of the video's subtitle file; None if it is named like the video, [] if the
                row says that there is none.
            videos: Where this video may lie, if not where the dataset's others do.
            subtitles: Where its subtitles may lie, if not where the dataset's others do.
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
        unique_id = f"{id}#{self._taken[id]}" if self._taken[id] > 1 else id
        try:
            question = question_from_row(location, text, choices, id=unique_id, **fields)
        except InputError as error:
            leave_out(error)
            return
        names = [name, *video] if lines is None else lines
        found = None
        if self.wants_lines:
            found = (subtitles or self._subtitles).find(*names)
            if found is None and lines:  # the row names a file
                self.missing_lines[lines[0]] = None
        facts = {**facts, "subtitles": found is not None}
        self.cases.append(Case(question, name, LazyVideo(path, found, starts_at_s), facts))

    def benchmark(self, name: str = "") -> Benchmark:
        """Return the benchmark; warn the loader's caller of missing videos and packed archives.

        Args:
            name: Name of the benchmark; "" for the dataset's.
        """
        name = name or self.layout.name
        for files, absent in (("videos", self.missing), ("subtitle files", self.missing_lines)):
            if absent:
                named = [printable(each, 60) for each in list(absent)[:MOST_NAMED]]
                if len(absent) > MOST_NAMED:
                    named.append("…")
                warnings.warn(
                    f"{name}: {len(absent)} {files} are missing: {', '.join(named)}", stacklevel=3
                )
        lacking = parts_missing(self._files)
        if lacking:
            warnings.warn(
                f"{name}: {lacking}; the others hold the rest of its questions.", stacklevel=3
            )
        have_lines = any(case.facts["subtitles"] for case in self.cases)
        for archive, command in packed_in(self.home).items():
            is_for_lines = self.wants_lines and not have_lines and "subtitle" in archive
            if self.missing or is_for_lines:
                path = self.home / archive
                warnings.warn(
                    f"{name}: {path} is still packed; this unpacks it: {command}", stacklevel=3
                )
        return Benchmark(name, tuple(self.cases), tuple(self.missing), name)


PART = re.compile(r"(.*-)(\d{5})-of-(\d{5})(\.\w+)", re.DOTALL)
"""The name of one of several files of rows, such as validation-00000-of-00002.parquet."""
MOST_PARTS = 10_000
"""A name that claims more parts than this is ignored."""


def parts_missing(paths: Sequence[Path]) -> str:
    """Return words about the first missing file of a numbered set; "" if none is missing."""
    found: dict[tuple[str, str, str], set[int]] = {}
    for path in paths:
        part = PART.fullmatch(path.name)
        if part is not None:
            found.setdefault((part[1], part[3], part[4]), set()).add(int(part[2]))
    for (beginning, count, ending), numbers in found.items():
        if len(numbers) < int(count) <= MOST_PARTS:
            absent = min(set(range(int(count))) - numbers)
            return (
                f"only {len(numbers)} of {int(count)} files of rows are there, not "
                f"{beginning}{absent:05d}-of-{count}{ending}"
            )
    return ""
