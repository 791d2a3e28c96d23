"""`open_videos`: opens the films of a folder as a collection.

* `found_in` lists the video files of a folder, a pattern, a list, or a table with names and dates
  (`read_listing`).
* `open_videos` opens these files in parallel, and leaves out those that cannot be opened. The facts
  about a file are cached by its path, size and time of change, so opening a folder again is fast,
  and an interrupted call continues where it stopped.
* `began_at` reads when a film was recorded from its file name or its container.
"""

from __future__ import annotations

import glob
import os
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from atlaskit import limits
from atlaskit.caching.cache import Cache, default_cache
from atlaskit.caching.keys import Kind
from atlaskit.errors import (
    DamagedVideo,
    InputError,
    SubtitleError,
    VideoError,
    check_flags,
    printable,
    reason,
)
from atlaskit.progress import bar as progress_bar
from atlaskit.video.collection import Collection, moment_of
from atlaskit.video.file import VideoFile
from atlaskit.video.names import exists, local_path, name_as_text
from atlaskit.video.readers import CORES
from atlaskit.video.records import cached_facts, facts_of, put_facts
from atlaskit.video.spreadsheet import read_spreadsheet
from atlaskit.video.subtitles.files import subtitle_files, subtitles_beside
from atlaskit.video.tracks import open_media

Videos: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"
"""What a person may give for several videos: a folder, a pattern, a table of files, or a list."""
SUFFIXES = frozenset({
    ".3gp", ".asf", ".avi", ".flv", ".gif", ".m2ts", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg",
    ".mpg", ".mts", ".mxf", ".ogv", ".ts", ".vob", ".webm", ".wmv",
})  # fmt: skip
"""Suffixes of video files."""
TABLES = (".csv", ".tsv")
"""Suffixes of tables that list video files."""
FILE_COLUMNS = ("file", "video", "path", "filename")
NAME_COLUMNS = ("name", "title")
DATE_COLUMNS = ("began", "date", "datetime", "recorded", "start", "timestamp")
DATED_NAME = re.compile(
    r"(?<!\d)((?:19|20)\d\d)[-_.]?(0[1-9]|1[0-2])[-_.]?([0-2]\d|3[01])"
    r"[-_ T.]{0,3}([01]\d|2[0-3])[-_.:h]?([0-5]\d)[-_.:m]?([0-5]\d)(?!\d{1,2}(?!\d))"
)
"""A date and a time of day in a name: 20261127_183000, 2026-11-27 18.30.00."""
DATE_TAGS = ("com.apple.quicktime.creationdate", "creation_time", "date")
"""Tags of a container that hold the time of recording, the preferred one first. Only that one is in
local time."""
FIRST_YEAR = 1990
"""Earlier dates are ignored: cameras whose clock was never set record 1904, 1970 or 1980."""
MOST_LISTED = 5
"""The most files that are listed in a warning."""
FILM = Kind("film", 1)
"""The fingerprint and the date of a file, by its path, size and time of change. The recording of a
run leaves such entries out, since they are about files of this machine."""


class Source(NamedTuple):
    """A video file to open as a film of a collection."""

    path: Path
    name: str
    began: datetime | None = None
    """When its recording began, if a table gives it."""
    lines: Path | None = None
    """The subtitle file beside it, if there is one."""


class _Opened(NamedTuple):
    """A file of a collection after it was opened."""

    film: VideoFile
    began: datetime | None


def open_videos(source: Videos, *, cache: Cache | None = None, progress: bool = True) -> Collection:
    """Open the films of a folder as one collection, each under its own name.

    Files that cannot be opened, and copies of an earlier file, are left out. A warning names the
    first of them, and `left_out` of the collection names all. A subtitle file beside a film, such
    as `x.srt` beside `x.mp4`, is read with the film.

    Args:
        source: A folder, with its subfolders; a pattern, such as `night/*.mp4`; a list of files,
            folders and patterns; or a table, `.csv` or `.tsv`, with a column `file` and,
            optionally, `name` and `began`.
        cache: Where the facts about the files are stored; None for the default cache.
        progress: Whether to show a progress bar after two seconds.

    Returns:
        The collection. Its films are sorted by name, with numbers compared as numbers; a list or a
        table keeps its order.

    Raises:
        InputError: There is no video file, or the table cannot be read.
        VideoError: None of the files can be opened.

    Examples:
        >>> films = ak.open_videos("*.mp4")
        >>> film = films.film_at(65.0)
        >>> film.name, film.start_s
        ('match.mp4', 0.0)
    """
    check_flags(progress=progress)
    sources = _with_subtitles(found_in(source))
    opened = dict[int, _Opened]()
    faults = dict[int, str]()
    for number, outcome in enumerate(_open_all(sources, cache or default_cache(), progress)):
        if isinstance(outcome, str):
            faults[number] = outcome
        else:
            opened[number] = outcome
    first_of = dict[str, int]()
    for number, (film, _) in list(opened.items()):
        first = first_of.setdefault(film.fingerprint, number)
        if first != number:
            name = printable(sources[number].name, 200)
            faults[number] = f"{name} is a copy of {printable(sources[first].name, 200)}."
            del opened[number]
    left_out = [faults[number] for number in sorted(faults)]
    if not opened:
        raise VideoError(f"None of {len(sources)} files can be opened. {_listed(left_out)}")
    if left_out:
        warnings.warn(
            f"{len(left_out)} of {len(sources)} files are left out. {_listed(left_out)}",
            DamagedVideo,
            stacklevel=2,
        )
    films = list[VideoFile]()
    names = list[str]()
    began = list[datetime | None]()
    for number, (film, moment) in opened.items():
        films.append(film)
        names.append(sources[number].name)
        began.append(moment)
    return Collection(films, names, began, left_out)


def _with_subtitles(sources: Sequence[Source]) -> list[Source]:
    """Return the sources with the subtitle file beside each. Each folder is listed once."""
    files_in = dict[Path, list[Path]]()
    completed = list[Source]()
    for source in sources:
        folder = source.path.parent
        if folder not in files_in:
            files_in[folder] = subtitle_files(folder)
        lines = subtitles_beside(source.path, files_in[folder])
        completed.append(source._replace(lines=lines))
    return completed


def _listed(sentences: Sequence[str]) -> str:
    """Return the first sentences, and the number of those that are not listed."""
    listed = list(sentences[:MOST_LISTED])
    rest = len(sentences) - MOST_LISTED
    if rest > 0:
        listed.append(f"And {rest} more.")
    return " ".join(listed)


def _open_all(sources: Sequence[Source], cache: Cache, progress: bool) -> Iterator[_Opened | str]:
    """Yield each opened file, or a sentence that says why it cannot be opened; show a bar."""
    with (
        ThreadPoolExecutor(CORES, thread_name_prefix="atlaskit-films") as pool,
        progress_bar(
            total=len(sources),
            desc="Opens videos",
            unit="file",
            delay=2,
            leave=False,
            disable=not progress,
        ) as bar,
    ):
        try:
            for outcome in pool.map(lambda source: _opened(source, cache), sources):
                bar.update()
                yield outcome
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _opened(source: Source, cache: Cache) -> _Opened | str:
    """Return a file as a film, or a sentence that says why it cannot be opened."""
    try:
        status = source.path.stat()
        key = FILM.key(
            path=os.fsencode(source.path.absolute()).hex(),
            size=status.st_size,
            changed_ns=status.st_mtime_ns,
        )
        known = _Known.of(cache.get_json(key))
        facts = None if known is None else cached_facts(known.fingerprint, cache)
        if known is None or facts is None:
            read = VideoFile(source.path, cache=cache)
            began = began_at(source.path)
            known = _Known(read.fingerprint, None if began is None else began.isoformat())
            facts = facts_of(read)
            put_facts(read, cache)
            cache.put_json(key, list(known))
        # Made from facts, the film opens its file only for a frame: a thousand open containers
        # would take 2 GB.
        film = VideoFile(source.path, source.lines, "pyav", known.fingerprint, cache, facts=facts)
        return _Opened(film, source.began or known.moment)
    except (VideoError, SubtitleError, InputError) as error:
        return printable(str(error), 400)
    except OSError as error:
        return f"{printable(source.name, 200)} cannot be read: {reason(error)}."


class _Known(NamedTuple):
    """What a cache entry says about a file."""

    fingerprint: str
    began: str | None

    @classmethod
    def of(cls, entry: Any) -> _Known | None:
        """Parse a cache entry; return None if it is invalid."""
        match entry:
            case [str(fingerprint), (str() | None) as began]:
                return cls(fingerprint, began)
        return None

    @property
    def moment(self) -> datetime | None:
        """When the recording began; None if that is unknown."""
        return moment_of(self.began or "")


# --- files


def found_in(source: Videos) -> list[Source]:
    """Return the video files of a folder, a pattern, a table or a list of these.

    Raises:
        InputError: There is no video file, or the table cannot be read.
    """
    entries = [source] if isinstance(source, str | os.PathLike) else list(source)
    if not entries:
        raise InputError("Give at least one video: the list is empty.")
    by_path = dict[Path, Source]()
    for entry in entries:
        if not isinstance(entry, str | os.PathLike):
            raise InputError(
                f"Videos are a folder, a pattern, a table, or a list of these; got {entry!r:.80}."
            )
        for film in _found(entry):
            by_path.setdefault(film.path, film)
    films = list(by_path.values())
    if any(film.name != film.path.name for film in films):  # a folder or a table named them
        return films
    if len({film.name for film in films}) < len(films):
        # Files in several folders have the same name: add the folders below the common one.
        root = os.path.commonpath([film.path.parent.absolute() for film in films])
        for number, film in enumerate(films):
            relative = film.path.absolute().relative_to(root)
            films[number] = film._replace(name=name_as_text(relative))
    return films


def _found(source: str | os.PathLike[str]) -> list[Source]:
    """Return the video files of one folder, pattern or table, or the one file that is named."""
    path = local_path(source)
    if path.is_dir():
        paths = sorted(_walk(path), key=lambda each: _natural(str(each.relative_to(path))))
        if not paths:
            raise InputError(f"There is no video file in {printable(str(path))}. {_endings(path)}")
        return [Source(each, name_as_text(each.relative_to(path))) for each in paths]
    if path.suffix.lower() in TABLES and path.is_file():
        return read_listing(path)
    if not exists(path) and glob.has_magic(str(path)):
        # Path.glob does not accept an absolute pattern.
        named = glob.iglob(str(path), recursive=True)  # noqa: PTH207
        paths = sorted(map(Path, named), key=lambda each: _natural(str(each)))
        paths = [each for each in paths if each.is_file() and _is_video(each)]
        if not paths:
            raise InputError(f"No video file is named {printable(str(path))}.")
        return [Source(each, name_as_text(each.name)) for each in paths]
    return [Source(path, name_as_text(path.name))]


def is_several(source: str | os.PathLike[str]) -> bool:
    """Return whether a source is a folder, a pattern or a table, and so may hold several videos."""
    path = local_path(source)
    if exists(path):
        return path.is_dir() or path.suffix.lower() in TABLES
    return glob.has_magic(str(path))


def _walk(folder: Path) -> Iterator[Path]:
    """Yield the video files in a folder and its subfolders, without hidden ones."""
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = Path(parent, name)
            if _is_video(path):
                yield path


def _is_video(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".")


def _endings(folder: Path) -> str:
    """Return a sentence that counts the files in a folder by the endings of their names."""
    endings = Counter[str]()
    for _, _, names in os.walk(folder):
        endings.update(Path(name).suffix.lower() or "no ending" for name in names)
    if not endings:
        return "It is empty."
    listed = list[str]()
    for ending, count in endings.most_common(MOST_LISTED):
        listed.append(f"{count} with {ending}")
    return f"Its files: {printable(', '.join(listed), 200)}."


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key that compares the numbers in names as numbers: 2 before 10."""
    key = list[tuple[int, str]]()
    for part in re.split(r"(\d{1,18})", name.casefold()):
        # Not isdigit(), which is also true of ① and ².
        key.append((int(part), "") if part.isdecimal() else (-1, part))
    return key


def read_listing(path: Path) -> list[Source]:
    """Return the films that a table lists in its column `file`, with `name` and `began` if given.

    Paths are relative to the table's folder.

    Raises:
        InputError: The table cannot be read, has no column `file`, lists no file, or a date or a
            name is invalid.
    """
    rows = read_spreadsheet(path)
    headings = dict[str, str]()
    for _, row in rows:
        headings |= {heading.strip().casefold(): heading for heading in row}
    file_column = _first_of(headings, FILE_COLUMNS)
    name_column = _first_of(headings, NAME_COLUMNS)
    date_column = _first_of(headings, DATE_COLUMNS)
    if rows and not file_column:
        raise InputError(
            f"{printable(str(path))} has no column {FILE_COLUMNS[0]!r}; its columns are "
            f"{printable(', '.join(headings.values()), 200)}."
        )
    listed = []
    for place, row in rows:
        file = row.get(file_column)
        if not file:
            continue
        date = row.get(date_column, "")
        moment = moment_of(date)
        if date and moment is None:
            raise InputError(
                f"{printable(place)}, column {date_column}: a date is as in 2026-11-27 18:30:00; "
                f"got {printable(date, 80)!r}."
            )
        name = row.get(name_column) or file
        if len(name) > limits.LINE:
            raise InputError(
                f"{printable(place)}, column {name_column}: a name has at most {limits.LINE:,} "
                f"characters; got {len(name):,}."
            )
        film_path = local_path(path.parent / local_path(file))
        listed.append(Source(film_path, name, moment))
    if not listed:
        raise InputError(f"{printable(str(path))} lists no file.")
    return listed


def _first_of(headings: Mapping[str, str], wanted: Sequence[str]) -> str:
    """Return the heading of the first wanted column that a table has; empty if it has none."""
    return next((headings[name] for name in wanted if name in headings), "")


# --- dates


def began_at(path: Path) -> datetime | None:
    """Return when the recording of a file began, by its name or its container; None if unknown.

    A name gives local time without a time zone. Most containers give UTC.
    """
    found = DATED_NAME.search(path.name)
    if found:
        with suppress(ValueError):  # an impossible date, such as 31 February
            return datetime(*map(int, found.groups()))  # type: ignore[arg-type]
    try:
        with open_media(path, {}) as container:
            tags = {str(name).lower(): str(value) for name, value in container.metadata.items()}
    except (OSError, ValueError):
        return None
    for name in DATE_TAGS:
        moment = moment_of(tags.get(name, ""))
        if moment is not None and moment.year >= FIRST_YEAR:
            return moment
    return None
