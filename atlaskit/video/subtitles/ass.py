"""Parses ASS and SSA subtitles, whose own `Format:` row tells the order of the fields."""

from __future__ import annotations

from atlaskit.video.subtitles.clock import parse_clock
from atlaskit.video.subtitles.markup import plain_ass_text
from atlaskit.video.subtitles.track import SourceLine

USUAL_FIELDS = ["layer", "start", "end", "style", "name", "marginl", "marginr", "marginv", "effect", "text"]


def parse_ass(text: str) -> list[SourceLine]:
    """Return the dialogue of an ASS or SSA text, without its comments and drawings.

    What is drawn in several layers at once is one line.

    Each event is parsed by itself, so that a damaged event costs no other. An event whose times
    cannot be read gets NaN for its start.
    """
    lines: list[SourceLine] = []
    fields, is_events = USUAL_FIELDS, True
    for row in text.split("\n"):
        name, _, content = row.strip().partition(":")
        if row.lstrip().startswith("["):
            is_events = row.strip().lower() == "[events]"
        elif name.lower() == "format" and is_events:
            fields = [field.strip().lower() for field in content.split(",")]
        elif name.lower() == "dialogue":
            lines.append(_event(content, fields))
    return list(dict.fromkeys(lines))


def _event(content: str, fields: list[str]) -> SourceLine:
    """Return the line of one event. The last field may hold commas."""
    values = dict(zip(fields, content.split(",", len(fields) - 1), strict=False))
    start_s, end_s = parse_clock(values.get("start", "")), parse_clock(values.get("end", ""))
    text = plain_ass_text(values.get("text", ""))
    return SourceLine(float("nan") if start_s is None else start_s, end_s, text)
