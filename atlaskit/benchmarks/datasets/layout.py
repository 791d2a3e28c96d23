"""A dataset's folder: which files hold its rows, its videos and its subtitles.

* Files: a video or a track by the names that a dataset gives it, in the folders where it may lie.
* `Layout`, `Loading`: what the loaders of most datasets have in common.
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
from atlaskit.errors import InputError, printable
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
"""Archives in which datasets are published, and the shell's line that unpacks one."""


def packed_in(home: Path) -> dict[str, str]:
    """Return the archives that lie in a folder, with the line that unpacks each.

    Parts of an archive (`videos.tar.part.aa`) and numbered ones (`chunk_01.zip`) have one line.
    """
    found = dict[str, str]()
    folder = shlex.quote(str(home))
    for pattern, line in PACKED.items():
        for path in sorted(home.glob(pattern)):
            name = re.sub(r"(?<=[.]part).*|[0-9]+(?=[.]zip$)", "*", path.name)
            quoted = [shlex.quote(part) if part else "" for part in name.split("*")]
            parts = f"{folder}/{'*'.join(quoted)}"
            found[name] = line.format(path=shlex.quote(str(home / name)), parts=parts, home=folder)
    return found


def find_inside(folder: Path, name: str) -> Path | None:
    """Return the file `name` of a folder, or None if it is missing or lies outside the folder.

    Names come from untrusted rows, so "../secret" and links out of the folder count as missing;
    except in the cache of the Hugging Face hub, where each file is a link into `blobs` beside it.
    """
    path = folder / name
    try:
        root = folder.resolve()
        target = path.resolve()
        blobs = next(
            (each.parent / "blobs" for each in (root, *root.parents) if each.name == "snapshots"),
            root,
        )
        return path if path.is_file() and any(map(target.is_relative_to, (root, blobs))) else None
    except (OSError, ValueError):
        return None


@dataclass(frozen=True)
class MediaFiles:
    """Files of one kind in a dataset's folder, found by the name that a row gives.

    They may lie in the dataset's own folders, one level below these (archives bring folders of
    their own), or directly in its folder; mirrors differ in that, and in the suffix. The folders
    are listed once, because a dataset asks for thousands of names.
    """

    home: Path
    folders: tuple[str, ...]
    """Folders inside `home`, in the order in which they are searched."""
    suffixes: tuple[str, ...] = VIDEO_SUFFIXES
    """Suffixes of such files, the preferred one first. Their case does not matter."""

    def find(self, *names: str) -> Path | None:
        """Return the file with the first of some names that exists inside the folder, or None.

        A name comes with or without its suffix and its folder. Another suffix than the one given is
        taken if there is only that.
        """
        return next(filter(None, map(self._find, names)), None)

    def _find(self, name: str) -> Path | None:
        path = PurePosixPath(name)
        if not path.name or path.is_absolute() or ".." in path.parts:
            return None
        is_named = path.suffix.lower() in self.suffixes
        if is_named and len(path.parts) > 1:
            for folder in ("", *self.folders):
                if (found := find_inside(self.home / folder, name)) is not None:
                    return found
        stem = path.stem if is_named else path.name
        for base, below, names in self._places:
            inside = names.get(path.name) or names.get(stem)
            if (
                inside is not None
                and (found := find_inside(base, str(Path(below) / inside))) is not None
            ):
                return found
        return None

    @cached_property
    def _places(self) -> list[tuple[Path, str, dict[str, str]]]:
        """Each folder that holds files: the dataset's folder, the one below it, and the names."""
        places = []
        for base in (self.home / folder for folder in self.folders):
            places += [(base, below) for below in ("", *_folders_in(base))]
        named = [(base, below, self._names(base / below)) for base, below in places]
        named.append((self.home, "", self._names(self.home)))
        return [place for place in named if place[2]]

    def _names(self, folder: Path) -> dict[str, str]:
        """Return the names of a folder's files, by name and by stem."""
        files = [Path(name) for name in _list(folder) if not name.startswith(".")]
        ours = [file for file in files if file.suffix.lower() in self.suffixes]
        best_last = sorted(
            ours, key=lambda file: self.suffixes.index(file.suffix.lower()), reverse=True
        )
        return {file.stem: file.name for file in best_last} | {
            file.name: file.name for file in ours
        }


def _list(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())
    except (OSError, ValueError):
        return []


def _folders_in(folder: Path) -> list[str]:
    return [name for name in _list(folder) if not name.startswith(".") and (folder / name).is_dir()]


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
        """Open the video; clip its lines to it, and end an open-ended line with it."""
        video = open_video(self.path)
        if self.subtitles is not None:  # read after the video, because clipping needs its duration
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
        paths = list[Path]()
        for split in self.splits or ("",):
            paths += self.files_in(home, split)
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
    missing_lines: dict[str, None] = field(default_factory=dict)
    """Subtitle files that rows name and that are not there."""
    _taken: Counter[str] = field(default_factory=Counter)
    """How often each id was given so far."""
    _number: int = -1
    """Number of the row that was yielded last."""

    def __post_init__(self) -> None:
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
        source = self._files if self.given is None else self.given
        own = list(filter(layout.is_own, self._files))
        found = read_rows(
            source, layout.row, dataset=layout.name, own=own, parse_line=layout.parse_line
        )
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
        if found is None and lines and self.wants_lines:  # the row says that there are some
            self.missing_lines[lines[0]] = None
        facts = {**facts, "subtitles": found is not None}
        self.cases.append(Case(question, name, LazyVideo(path, found, starts_at_s), facts))

    def benchmark(self, name: str = "") -> Benchmark:
        """Return the benchmark; warn the loader's caller of missing videos and packed archives.

        Args:
            name: Its name; "" for the dataset's.
        """
        name = name or self.layout.name
        for what, absent in (("videos", self.missing), ("subtitle files", self.missing_lines)):
            if absent:
                named = ", ".join(printable(each, 60) for each in list(absent)[:MOST_NAMED])
                more = ", …" if len(absent) > MOST_NAMED else ""
                warnings.warn(
                    f"{name}: {len(absent)} {what} are missing: {named}{more}", stacklevel=3
                )
        lacking = parts_missing(self._files)
        if lacking:
            warnings.warn(
                f"{name}: {lacking}; the others hold the rest of its questions.", stacklevel=3
            )
        lacks_lines = self.wants_lines and not any(case.facts["subtitles"] for case in self.cases)
        for archive, command in packed_in(self.home).items():
            if self.missing or (lacks_lines and "subtitle" in archive):
                path = self.home / archive
                warnings.warn(
                    f"{name}: {path} is still packed; this unpacks it: {command}", stacklevel=3
                )
        return Benchmark(name, tuple(self.cases), tuple(self.missing), name)


PART = re.compile(r"(.*-)(\d{5})-of-(\d{5})(\.\w+)", re.DOTALL)
"""The name of one of several files of rows, such as validation-00000-of-00002.parquet."""


def parts_missing(paths: Sequence[Path]) -> str:
    """Return in words which of several files of rows is not there; "" if none."""
    found: dict[tuple[str, str, str], set[int]] = {}
    for path in paths:
        part = PART.fullmatch(path.name)
        if part is not None:
            found.setdefault((part[1], part[3], part[4]), set()).add(int(part[2]))
    for (begin, count, end), numbers in found.items():
        if len(numbers) < int(count) <= MOST_PARTS:
            lacking = next(number for number in range(int(count)) if number not in numbers)
            return (
                f"only {len(numbers)} of {int(count)} files of rows are there, not "
                f"{begin}{lacking:05d}-of-{count}{end}"
            )
    return ""


MOST_PARTS = 10_000
"""Parts up to which a name is believed."""
