"""FORMATS: the parser of each subtitle format, by file suffix. A new format is one entry here."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from atlaskit.video.subtitles.ass import parse_ass
from atlaskit.video.subtitles.longvideobench import parse_longvideobench
from atlaskit.video.subtitles.srt import parse_srt
from atlaskit.video.subtitles.track import SourceLine

Parser: TypeAlias = Callable[[str], list[SourceLine]]
"""From a decoded text, whose rows end in `\\n`, to its lines in the file's own time.

Raises SubtitleError for a text that is not of the format; `read_subtitles` puts the file's path
before the message."""


class Format(NamedTuple):
    """How `read_subtitles` reads the files of one suffix."""

    parse: Parser
    may_be_empty: bool = False
    """Whether a whole file of this format may hold no line, for a video in which nobody speaks."""


FORMATS: dict[str, Format] = {
    ".srt": Format(parse_srt),
    ".vtt": Format(parse_srt),
    ".ass": Format(parse_ass),
    ".ssa": Format(parse_ass),
    ".json": Format(parse_longvideobench, may_be_empty=True),
}
