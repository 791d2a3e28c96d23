"""Writes SRT files, so that reading them back gives the same text and times."""

from __future__ import annotations

import codecs
import math
from collections.abc import Sequence
from pathlib import Path

from atlaskit.caching.files import write_whole
from atlaskit.errors import InputError, reason
from atlaskit.video.encoding import decode_text
from atlaskit.video.subtitles.markup import plain_text

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "{": "&#123;", "\\": "&#92;"})
ROUNDING_MS = 1e-3
"""A time this near to a millisecond is that millisecond: sums of floats are not exact."""


def write_srt(path: str | Path, lines: Sequence[tuple[float, float, str]]) -> None:
    """Write lines as an SRT file; it appears only once it is complete.

    A start is rounded down and an end up, so that no line becomes empty.

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
        raise InputError(f"An SRT file begins at 0 s; a line to write to {path} starts at {lines[0][0]:.3f} s.")
    text = "\n".join(map(_cue, range(1, len(lines) + 1), lines))
    data = text.encode("utf-8")
    if decode_text(data) != text:  # rare: text that looks like another encoding
        data = codecs.BOM_UTF8 + data
    try:
        write_whole(path, data)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be written: {reason(error)}.") from error


def _cue(number: int, line: tuple[float, float, str]) -> str:
    start_s, end_s, text = line
    start_ms = max(0, math.floor(start_s * 1000 + ROUNDING_MS))
    end_ms = max(start_ms + 1, math.ceil(end_s * 1000 - ROUNDING_MS))
    return f"{number}\n{_clock(start_ms)} --> {_clock(end_ms)}\n{_escaped(text)}\n"


def _clock(time_ms: int) -> str:
    seconds, ms = divmod(time_ms, 1000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02},{ms:03}"


def _escaped(text: str) -> str:
    """Return a text as a row that is read back as the same text; most texts as they are."""
    text = " ".join(text.split())
    return text if plain_text(text) == text and ">" not in text else text.translate(_ESCAPES)
