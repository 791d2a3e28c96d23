"""The project's own parser of SRT and WebVTT.

pysubs2 is not used for these formats: it takes karaoke text for a line of times, ends a text at a
WebVTT identifier or note that belongs to the next one, and reads a negative time as a positive one.
"""

from __future__ import annotations

import re
from itertools import takewhile

from atlaskit.video.subtitles.clock import CLOCK, clock_seconds
from atlaskit.video.subtitles.markup import plain_text
from atlaskit.video.subtitles.track import SourceLine

_TIMING = re.compile(rf"\s*{CLOCK}\s*-{{1,2}}>\s*{CLOCK}", re.ASCII)


def parse_srt(text: str) -> list[SourceLine]:
    """Return the lines of an SRT or WebVTT text.

    The header decides which of the two it is, since many files have the other's suffix.
    """
    is_vtt = text.startswith("WEBVTT")
    rows = text.split("\n")
    timings = [(index, match) for index, row in enumerate(rows) if ">" in row and (match := _TIMING.match(row))]
    ends = [index for index, _ in timings[1:]] + [len(rows)]
    lines = []
    # strict=False: a text without any timing still has one entry in `ends`.
    for (index, match), end in zip(timings, ends, strict=False):
        body = rows[index + 1 : end]
        if is_vtt:
            # A blank row ends the text; a note, or the identifier of the next text, follows it.
            body = list(takewhile(str.strip, body))
        elif end < len(rows) and body and body[-1].strip().isdigit():
            body.pop()  # the number of the next text
        times = match.groups()
        lines.append(SourceLine(clock_seconds(*times[:5]), clock_seconds(*times[5:]), plain_text(" ".join(body))))
    return lines
