"""FORMATS: the parser of each subtitle format, by file suffix. A new format is one entry here."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from atlaskit.video.subtitles.ass import parse_ass
from atlaskit.video.subtitles.jsons import parse_json, parse_json_lines
from atlaskit.video.subtitles.simple import parse_lrc, parse_sami, parse_sbv, parse_sub, parse_tsv
from atlaskit.video.subtitles.srt import parse_srt
from atlaskit.video.subtitles.track import SourceLine
from atlaskit.video.subtitles.ttml import parse_ttml

Parser: TypeAlias = Callable[..., list[SourceLine]]
"""From a decoded text, whose rows end in `\\n`, to its lines in the file's own time.

Raises SubtitleError for a text that is not of the format; `read_subtitles` puts the file's path
before the message."""


class Format(NamedTuple):
    """How `read_subtitles` reads the files of one suffix."""

    parse: Parser
    may_be_empty: bool = False
    """Whether a whole file of this format may hold no line, for a video in which nobody speaks."""
    counts_frames: bool = False
    """Whether `parse` takes the video's frames per second as `fps`."""


FORMATS: dict[str, Format] = {
    ".srt": Format(parse_srt),
    ".vtt": Format(parse_srt),
    ".ass": Format(parse_ass),
    ".ssa": Format(parse_ass),
    ".json": Format(parse_json, may_be_empty=True),
    ".json3": Format(parse_json, may_be_empty=True),
    ".jsonl": Format(parse_json_lines, may_be_empty=True),
    ".ttml": Format(parse_ttml),
    ".dfxp": Format(parse_ttml),
    ".xml": Format(parse_ttml),
    ".sbv": Format(parse_sbv),
    ".lrc": Format(parse_lrc),
    ".tsv": Format(parse_tsv),
    ".srv1": Format(parse_ttml),
    ".srv2": Format(parse_ttml),
    ".srv3": Format(parse_ttml),
    ".sub": Format(parse_sub, counts_frames=True),
    ".smi": Format(parse_sami),
    ".sami": Format(parse_sami),
}
SIGNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"WEBVTT"), ".vtt"),
    (re.compile(r"\[Script Info\]", re.IGNORECASE), ".ass"),
    (
        re.compile(
            r"(?:<\?xml[^>]*>\s*)?(?:<!--.{0,2000}?-->\s*)?<(?:(?:\w+:)?tt|transcript|timedtext)[\s>]", re.DOTALL
        ),
        ".ttml",
    ),
    (re.compile(r"<sami", re.IGNORECASE), ".smi"),
    (re.compile(r"\{\d+\}\{\d*\}", re.ASCII), ".sub"),
    (re.compile(r"(?:\d+[ \t]*\n\s*)?(?:\d+:){1,2}\d+[,.:]\d+\s*-->", re.ASCII), ".srt"),
    (re.compile(r"\d+:\d\d:\d\d\.\d{3},\d+:\d\d:\d\d\.\d{3}[ \t]*\n", re.ASCII), ".sbv"),
    (re.compile(r"start\tend\ttext[ \t]*\n"), ".tsv"),
    (re.compile(r"(?:\[[a-zA-Z]{1,20}:[^\]\n]*\][ \t]*\n+)*\[\d{1,3}:\d\d[.:]\d\d\d?\]", re.ASCII), ".lrc"),
    (re.compile(r"\{[^\n]*\}[ \t]*\n\s*\{"), ".jsonl"),
    (re.compile(r"\[\s*[\[{]|\{\s*\""), ".json"),
)
"""How a text begins that is certainly of a format, whatever its suffix."""
SIGN_CHARS = 10_000
"""Characters in which it shows."""


def format_of(suffix: str, text: str) -> Format | None:
    """Return the format of a text; None if neither its beginning nor its suffix tells."""
    for sign, certain in SIGNS:
        if sign.match(text[:SIGN_CHARS]):
            return FORMATS[certain]
    return FORMATS.get(suffix)
