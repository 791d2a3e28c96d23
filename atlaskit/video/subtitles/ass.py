"""Parses ASS and SSA subtitles with pysubs2, one dialogue line at a time."""

from __future__ import annotations

import warnings

from atlaskit.video.subtitles.markup import plain_ass_text
from atlaskit.video.subtitles.track import SourceLine


def parse_ass(text: str) -> list[SourceLine]:
    """Return the dialogue of an ASS or SSA text, without its comments and drawings.

    Each event is parsed by itself, so that a damaged event costs no other.
    """
    import pysubs2  # here, so that `import atlaskit` stays light

    lines: list[SourceLine] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pysubs2 warns of margins and the like, which are not used here
        for row in text.split("\n"):
            if not row.lstrip().startswith("Dialogue:"):
                continue
            try:
                events = pysubs2.SSAFile.from_string(row, format_="ass")
            except (pysubs2.exceptions.Pysubs2Error, ValueError):
                continue
            lines += [SourceLine(event.start / 1000, event.end / 1000, plain_ass_text(event.text)) for event in events]
    return lines
