"""Parses the two JSON forms in which LongVideoBench distributes subtitles.

One has "start", "end" and "line", the other "timestamp" and "text". A null end means that the line
lasts until the end of the video.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Sequence

from atlaskit.errors import SubtitleError
from atlaskit.video.subtitles.clock import parse_clock
from atlaskit.video.subtitles.markup import plain_text
from atlaskit.video.subtitles.track import SourceLine


def parse_entries(entries: Sequence[object]) -> list[SourceLine]:
    """Return the lines of the entries of a LongVideoBench file.

    Raises:
        SubtitleError: An entry has neither of the two forms.
    """
    return [_parse_entry(number, entry) for number, entry in enumerate(entries, start=1)]


def _parse_entry(number: int, entry: object) -> SourceLine:
    match entry:
        case {"start": start, "end": end, "line": str(text)} | {"timestamp": [start, end], "text": str(text)}:
            start_s, end_s = _seconds(start), math.inf if end is None else _seconds(end)
        case _:
            raise SubtitleError(
                f'entry {number} must have "start", "end" and "line", or "timestamp" and "text"; '
                f"got {reprlib.repr(entry)}."
            )
    if start_s is None or end_s is None:
        raise SubtitleError(
            f"entry {number} runs from {reprlib.repr(start)} to {reprlib.repr(end)}; "
            'give finite seconds or "HH:MM:SS.mmm".'
        )
    return SourceLine(start_s, end_s, plain_text(text))


def _seconds(value: object) -> float | None:
    """Return a time in seconds, or None for a value that is not a finite time."""
    if isinstance(value, str):
        return parse_clock(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        seconds = float(value)
    except OverflowError:
        return None
    return seconds if math.isfinite(seconds) else None
