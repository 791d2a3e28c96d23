"""The project's own parser of SRT and WebVTT.

pysubs2 is not used for these formats: it takes karaoke text for a line of times, ends a text at a
WebVTT identifier or note that belongs to the next one, and reads a negative time as a positive one.
"""

from __future__ import annotations

import math
import re
from itertools import groupby
from typing import NamedTuple

from atlaskit.video.subtitles.clock import CLOCK, clock_seconds
from atlaskit.video.subtitles.markup import plain_text
from atlaskit.video.subtitles.track import SourceLine

_ARROW = r"\s*(?:-{1,3}|[–—=])\s?>\s*"
_TIMING = re.compile(rf"\s*{CLOCK}{_ARROW}{CLOCK}", re.ASCII)
_LIKE_TIMING = re.compile(r"\s*-?\d[\d\s:.,;]*" + _ARROW + r"[\d\s:.,;-]*\s*", re.ASCII)
"""A row of times that cannot be read. It ends the text before it, and begins another."""
_WIDE = str.maketrans("：，．", ":,.")
_BLOCKS = ("NOTE", "STYLE", "REGION")
"""First words of the blocks of a WebVTT file that are no text."""


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
        lines.append(SourceLine(cue.start_s, cue.end_s, plain_text(" ".join(body))))
    return lines


class _Cue(NamedTuple):
    """A row of times."""

    row: int
    start_s: float
    end_s: float | None


def _cues(rows: list[str]) -> list[_Cue]:
    cues = []
    for index, row in enumerate(rows):
        if ">" not in row:
            continue
        match = _TIMING.match(row.translate(_WIDE))
        if match:
            times = match.groups()
            cues.append(_Cue(index, clock_seconds(*times[:5]), clock_seconds(*times[5:])))
        elif _LIKE_TIMING.fullmatch(row.translate(_WIDE)):
            cues.append(_Cue(index, math.nan, None))
    return cues


def _srt_body(body: list[str], is_last: bool) -> list[str]:
    """Return the rows of a text, without the number of the next one."""
    return body[:-1] if body and not is_last and body[-1].strip().isdigit() else body


def _vtt_body(body: list[str], is_last: bool) -> list[str]:
    """Return the rows of a text: all up to the next one's times but its identifier, and no notes.

    An empty row ends a text. A row with a space does not: YouTube's captions begin with one. Rows
    after an empty row belong to no text by the standard; they are kept, so that no word is lost.
    """
    blocks = [list(block) for is_empty, block in groupby(body, key=lambda row: row == "") if not is_empty]
    if blocks and not is_last and body[-1] != "" and len(blocks[-1]) == 1:
        identifier = blocks[-1][0].strip()
        is_own = len(blocks) == 1 and len(body) == 1  # directly behind the times: it is the text
        if not is_own and (len(blocks) > 1 or " " not in identifier):
            blocks.pop()
    return [row for block in blocks if not block[0].startswith(_BLOCKS) for row in block]
