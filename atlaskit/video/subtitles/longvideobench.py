"""Parses the two JSON forms in which LongVideoBench distributes subtitles.

One has "start", "end" and "line", the other "timestamp" and "text". A null end means that the line
lasts until the end of the video.
"""

from __future__ import annotations

import json
import math
import reprlib

from atlaskit.errors import SubtitleError
from atlaskit.video.subtitles.clock import parse_clock
from atlaskit.video.subtitles.markup import plain_text
from atlaskit.video.subtitles.track import SourceLine


def parse_longvideobench(text: str) -> list[SourceLine]:
    """Return the lines of a LongVideoBench JSON text.

    Raises:
        SubtitleError: The text is not JSON, or an entry has neither of the two forms.
    """
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SubtitleError(f"the text is not valid JSON ({error}); copy or download the file again.") from error
    if not isinstance(entries, list):
        raise SubtitleError("the JSON is not a list of lines, as LongVideoBench has it; is it the right file?")
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
