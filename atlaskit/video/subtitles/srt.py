"""The project's own parser of SRT and WebVTT.

pysubs2 is not used for these formats: it takes karaoke text for a line of times, ends a text at a
WebVTT identifier or note that belongs to the next one, and reads a negative time as a positive one.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from itertools import groupby
from typing import NamedTuple

from atlaskit.video.subtitles.clock import CLOCK, clock_seconds, parse_clock
from atlaskit.video.subtitles.markup import plain_text
from atlaskit.video.subtitles.track import SourceLine

_ARROW = r"\s*(?:-{1,3}|[–—=])\s?>\s*"
_TIMING = re.compile(rf"\s*{CLOCK}{_ARROW}{CLOCK}", re.ASCII)
_LIKE_TIMING = re.compile(r"\s*-?\d{1,6}\s?[:;.,h]?[\w\s:;.,]{0,30}?(?:-{1,3}|[–—=])\s?>[\w\s:;.,-]{0,80}", re.ASCII)
"""A row that may be times that cannot be read."""
_WIDE = str.maketrans("：，．", ":,.")
_BLOCK = re.compile(r"(?:NOTE|WEBVTT)(?:[ \t].*)?|(?:STYLE|REGION)[ \t]*", re.ASCII)
"""The first row of a block of a WebVTT file that is no text."""
_FEWEST_DIGITS, _MOST_LETTERS = 4, 3
"""How a row of damaged times differs from a sentence with an arrow."""


def parse_srt(text: str) -> list[SourceLine]:
    """Return the lines of an SRT or WebVTT text.

    The header decides which of the two it is, since many files have the other's suffix. A text
    whose times cannot be read gets NaN for its start.
    """
    is_vtt = text.startswith("WEBVTT")
    rows = text.split("\n")
    cues = _cues(rows)
    ends = [cue.row for cue in cues[1:]] + [len(rows)]
    lines = []
    # strict=False: a text without any timing still has one entry in `ends`.
    for cue, end in zip(cues, ends, strict=False):
        body = rows[cue.row + 1 : end]
        is_last = end == len(rows)
        body = _vtt_body(body, is_last) if is_vtt else _srt_body(body, is_last)
        lines.append(SourceLine(cue.start_s, cue.end_s, plain_text(" ".join([cue.words, *body]))))
    return _of_segments(lines, cues, rows) if is_vtt else lines


def _of_segments(lines: list[SourceLine], cues: list[_Cue], rows: list[str]) -> list[SourceLine]:
    """Return the lines of WebVTT segments in one file; each header may shift the times of its own.

    A line that spans a joint is in both segments, and is shown once.
    """
    headers = [row for row, text in enumerate(rows) if text.startswith("WEBVTT")]
    if len(headers) < 2:
        return lines
    placed: list[SourceLine] = []
    for line, cue in zip(lines, cues, strict=True):
        header = headers[bisect_right(headers, cue.row) - 1]
        shift_s = _shift_s(rows[header : header + 4]) - _shift_s(rows[:4])
        start_s, end_s = line.start_s + shift_s, None if line.end_s is None else line.end_s + shift_s
        for number in range(len(placed) - 1, max(-1, len(placed) - 9), -1):
            before = placed[number]
            if before.text == line.text and (before.end_s or start_s) >= start_s and end_s is not None:
                placed[number] = before._replace(end_s=max(before.end_s or end_s, end_s))
                break
        else:
            placed.append(SourceLine(start_s, end_s, line.text))
    return placed


def _shift_s(header: list[str]) -> float:
    """Return the seconds to add to the times of a WebVTT segment of HLS (RFC 8216, 3.5)."""
    text = "\n".join(header)
    ticks, local = re.search(r"MPEGTS:(\d{1,12})", text), re.search(r"LOCAL:([\d:.]+)", text)
    return int(ticks[1]) / 90_000 - (parse_clock(local[1]) or 0.0) if ticks and local else 0.0


class _Cue(NamedTuple):
    """A row of times."""

    row: int
    start_s: float
    end_s: float | None
    words: str = ""
    """What stands behind the times, unless it is settings."""


def _cues(rows: list[str]) -> list[_Cue]:
    cues = []
    for index, row in enumerate(rows):
        if ">" not in row:
            continue
        match = _TIMING.match(row.translate(_WIDE))
        if match:
            times = match.groups()
            behind = row[match.end() :]
            words = "" if all(":" in word for word in behind.split()) else behind
            cues.append(_Cue(index, clock_seconds(*times[:5]), clock_seconds(*times[5:]), words))
        elif _is_damaged_timing(row.translate(_WIDE)):
            cues.append(_Cue(index, math.nan, None))
    return cues


def _is_damaged_timing(row: str) -> bool:
    """Tell whether a row holds times that cannot be read. It ends one text and begins another."""
    if not _LIKE_TIMING.fullmatch(row):
        return False
    digits, letters = sum(map(str.isdigit, row)), sum(map(str.isalpha, row))
    return digits >= _FEWEST_DIGITS and letters <= _MOST_LETTERS and any(mark in row for mark in ":;")


def _srt_body(body: list[str], is_last: bool) -> list[str]:
    """Return the rows of a text, without the number of the next one.

    There may be an empty row behind each row, or behind the number.
    """
    count = len(body)
    while count and not body[count - 1].strip():
        count -= 1
    is_number = count and not is_last and body[count - 1].strip().isdigit()
    is_beside = count == len(body) or (
        count > 1 and not body[count - 2].strip() and any(map(str.strip, body[: count - 1]))
    )
    return body[: count - 1] if is_number and is_beside else body


def _vtt_body(body: list[str], is_last: bool) -> list[str]:
    """Return the rows of a text: all up to the next one's times but its identifier, and no notes.

    An empty row ends a text. A row with a space does not: YouTube's captions begin with one. Rows
    after an empty row belong to no text by the standard; they are kept, so that no word is lost.
    """
    blocks = [list(block) for is_empty, block in groupby(body, key=lambda row: row == "") if not is_empty]
    # Rows right behind the times are text, whatever they say.
    own, others = (blocks[:1], blocks[1:]) if body and body[0] != "" else ([], blocks)
    if blocks and not is_last and body[-1] != "" and len(blocks[-1]) == 1:
        identifier = blocks[-1][0].strip()
        is_own = len(blocks) == 1 and len(body) == 1  # directly behind the times: it is the text
        if not is_own and (len(blocks) > 1 or " " not in identifier):
            (others or own).pop()
    return [row for block in [*own, *(rest for rest in others if not _BLOCK.fullmatch(rest[0]))] for row in block]
