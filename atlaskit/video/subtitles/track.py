"""`Line` and `Subtitles`: the subtitle lines of a video.

`place_lines` puts the lines of a source on the time axis of the video. `write_srt` writes lines to
a file from which the same text and times are read.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, chain
from pathlib import Path
from typing import NamedTuple

from atlaskit.caching.files import write_whole
from atlaskit.errors import InputError, reason
from atlaskit.video.subtitles.text import decode_text, plain_text

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "{": "&#123;", "\\": "&#92;"})
ROUNDING_MS = 1e-3
"""A time that differs from a whole millisecond by at most this, in ms, is rounded to it, since sums
of floats are inexact."""


def write_srt(path: str | Path, lines: Sequence[tuple[float, float, str]]) -> None:
    """Write lines as an SRT file, which appears only once it is complete.

    Starts are rounded down and ends up to milliseconds, so that no line becomes empty.

    Args:
        path: A file that ends in .srt; an existing one is replaced.
        lines: Start and end in seconds, and text, of each line in order.

    Raises:
        InputError: The path does not end in .srt, there are no lines, a line starts before 0, or
            the file cannot be written.
    """
    path = Path(path)
    if path.suffix.lower() != ".srt":
        raise InputError(f"{path} must end in .srt.")
    if not lines:
        raise InputError(f"There are no lines to write to {path}.")
    if lines[0][0] < -ROUNDING_MS / 1000:
        raise InputError(
            f"An SRT file begins at 0 s; a line to write to {path} starts at {lines[0][0]:.3f} s."
        )
    text = "\n".join(map(_cue, range(1, len(lines) + 1), lines))
    data = text.encode("utf-8")
    if decode_text(data) != text:  # rare: the text would be read in another encoding
        data = codecs.BOM_UTF8 + data
    try:
        write_whole(path, data)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be written: {reason(error)}.") from error


def _cue(number: int, line: tuple[float, float, str]) -> str:
    """Return one entry of an SRT file."""
    start_s, end_s, text = line
    start_ms = max(0, math.floor(start_s * 1000 + ROUNDING_MS))
    end_ms = max(start_ms + 1, math.ceil(end_s * 1000 - ROUNDING_MS))
    return f"{number}\n{_clock(start_ms)} --> {_clock(end_ms)}\n{_escaped(text)}\n"


def _clock(time_ms: int) -> str:
    """Return a time as SRT writes it: 01:02:03,456."""
    seconds, ms = divmod(time_ms, 1000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02},{ms:03}"


def _escaped(text: str) -> str:
    """Return a row of SRT that is read as the given text. Most texts need no escapes."""
    text = " ".join(text.split())
    if plain_text(text) == text and ">" not in text:
        return text
    return text.translate(_ESCAPES)


LAST_LINE_S = 5.0
"""Duration of a line without an end that no other line follows."""


@dataclass(frozen=True)
class Line:
    """One subtitle line, shown during `[start_s, end_s)` seconds. Its text has no markup."""

    start_s: float
    end_s: float
    text: str


@dataclass(frozen=True)
class Subtitles:
    """All lines of a video. They may be given in any order; they are sorted by start, then end."""

    lines: tuple[Line, ...] = ()
    original: tuple[Line, ...] = field(default=(), compare=False, repr=False)
    """For rolling captions, the lines as in their source; otherwise empty."""

    def __post_init__(self) -> None:
        ordered = tuple(sorted(self.lines, key=lambda line: (line.start_s, line.end_s)))
        object.__setattr__(self, "lines", ordered)

    @classmethod
    def merged(cls, parts: Sequence[Subtitles]) -> Subtitles:
        """Return one track with all lines of several tracks, repeated lines included."""
        lines = tuple(chain.from_iterable(part.lines for part in parts))
        if not any(part.original for part in parts):
            return cls(lines)
        originals = tuple(chain.from_iterable(part.original or part.lines for part in parts))
        return cls(lines, originals)

    def shifted(self, offset_s: float, end_s: float | None = None) -> Subtitles:
        """Return the track `offset_s` seconds later (earlier if negative), cut to `[0, end_s)`.

        Args:
            offset_s: Seconds added to every time.
            end_s: Where the result ends, in the new time; None means no end. A file that plays from
                60 to 90 s of a playlist is `shifted(60, 90)`.

        Raises:
            InputError: `offset_s` or `end_s` is not a finite number.
        """
        check_finite("offset_s", offset_s)
        if end_s is not None:
            check_finite("end_s", end_s)
        placed = []
        for lines in (self.lines, self.original):
            source = [SourceLine(line.start_s, line.end_s, line.text) for line in lines]
            placed.append(place_lines(source, -offset_s, end_s).lines)
        return Subtitles(*placed)

    def between(self, start_s: float, end_s: float) -> tuple[Line, ...]:
        """Return every line that overlaps `[start_s, end_s)`, uncut and in order of time.

        Raises:
            InputError: `[start_s, end_s)` is not an interval of non-negative seconds.
        """
        if not 0 <= start_s <= end_s:
            raise InputError(
                f"[{start_s}, {end_s}) s is not an interval: give a start of 0 or more and an end "
                "not before it."
            )
        if start_s == end_s:
            return ()
        starts, latest_ends = self._index
        # All lines before `first` have ended by start_s; all lines from `last` on begin at end_s or
        # later.
        first = bisect_right(latest_ends, start_s)
        last = bisect_left(starts, end_s)
        return tuple(line for line in self.lines[first:last] if start_s < line.end_s)

    def save(self, path: str | Path, *, starts_at_s: float = 0.0) -> None:
        """Write the track as an SRT file, from which `open_video` reads the same lines.

        Times are rounded to milliseconds. The file appears only once it is complete.

        Args:
            path: A file that ends in .srt; an existing one is replaced.
            starts_at_s: Second of the file's time at which the video begins; see `read_subtitles`.

        Raises:
            InputError: The path does not end in .srt, the track is empty, or the file cannot be
                written.
        """
        check_finite("starts_at_s", starts_at_s)
        rows = []
        for line in self.lines:
            rows.append((line.start_s + starts_at_s, line.end_s + starts_at_s, line.text))
        write_srt(path, rows)

    @cached_property
    def as_json(self) -> str:
        """The lines as a JSON list of [start, end, text]."""
        return json.dumps([[line.start_s, line.end_s, line.text] for line in self.lines])

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the lines, in hexadecimal."""
        return hashlib.sha256(self.as_json.encode()).hexdigest()

    @cached_property
    def _index(self) -> tuple[list[float], list[float]]:
        """The start of each line, and the latest end of this line and all lines before it."""
        starts = [line.start_s for line in self.lines]
        ends = [line.end_s for line in self.lines]
        return starts, list(accumulate(ends, max))

    def __len__(self) -> int:
        return len(self.lines)


class SourceLine(NamedTuple):
    """One line of a source: plain text, and times in the source's own seconds."""

    start_s: float
    """NaN if the start cannot be read."""
    end_s: float | None
    """None if the source gives no end, so that the line ends where the next one starts; infinity if
    the line lasts until the end of the video."""
    text: str


class Placement(NamedTuple):
    """Lines on the time axis of a video, and the faulty ones among all lines of the source.

    `lines` and `untimed` have the times of the video, the others those of the source.
    """

    lines: tuple[Line, ...]
    """The lines to show, cut to the video."""
    before: list[Line]
    """Lines that end before the first frame."""
    after: list[Line]
    """Lines that start after the end of the video."""
    untimed: list[Line]
    """Lines whose times cannot be read: each is placed after the line before it."""
    backward: list[Line]
    """Lines that end before they start: each is shown until the next one starts."""


def place_lines(
    lines: Iterable[SourceLine], origin_s: float, duration_s: float | None
) -> Placement:
    """Place lines of a source on the time axis of a video.

    A line whose end is missing or not after its start ends where the next line starts, or after
    LAST_LINE_S if none does. Lines are then moved `origin_s` seconds earlier and cut to
    `[0, duration_s)`.

    Args:
        lines: Lines in the source's time, in any order. Those without text are left out.
        origin_s: Second of the source at which the video begins.
        duration_s: Length of the video in seconds; None if it is not known.
    """
    lines = [line for line in lines if line.text]
    starts = sorted({line.start_s for line in lines if not math.isnan(line.start_s)})
    limit_s = math.inf if duration_s is None else duration_s
    placement = Placement((), [], [], [], [])
    placed: list[Line] = []
    last_end_s = origin_s
    for start_s, end_s, text in lines:
        is_untimed = math.isnan(start_s)
        is_backward = False
        given_end_s = end_s
        if is_untimed:
            start_s = last_end_s
            end_s = None
        is_endless = duration_s is None and end_s == math.inf
        if end_s is None or is_endless or math.isnan(end_s) or end_s <= start_s:
            following = bisect_right(starts, start_s)
            end_s = starts[following] if following < len(starts) else start_s + LAST_LINE_S
            is_backward = given_end_s is not None and given_end_s < start_s
        last_end_s = end_s
        line = Line(max(0.0, start_s - origin_s), min(end_s - origin_s, limit_s), text)
        if is_untimed:
            placement.untimed.append(line)
        elif is_backward:
            placement.backward.append(Line(start_s, end_s, text))
        if end_s <= origin_s:
            placement.before.append(Line(start_s, end_s, text))
        elif line.start_s < min(line.end_s, limit_s):
            placed.append(line)
        else:  # after the end, or too short for its start and end to differ as floats
            placement.after.append(Line(start_s, end_s, text))
    return placement._replace(lines=tuple(placed))


def check_finite(name: str, value: float) -> None:
    """Raise InputError unless a number of seconds is finite."""
    if not math.isfinite(value):
        raise InputError(f"{name} must be a finite number of seconds; got {value}.")


def check_duration(duration_s: float | None) -> None:
    """Raise InputError unless a length is a finite number of seconds above 0, or None."""
    if duration_s is not None and not 0 < duration_s < math.inf:
        raise InputError(
            f"duration_s must be a finite number of seconds above 0, or None; got {duration_s}."
        )
