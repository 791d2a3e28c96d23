"""`Track`: what a video file tells of one of its tracks of sound or subtitles."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from atlaskit.errors import printable
from atlaskit.video.media import tags_of

if TYPE_CHECKING:
    from av.audio.stream import AudioStream
    from av.subtitles.stream import SubtitleStream

TEXT_CODECS = {"subrip", "srt", "webvtt", "text", "mov_text", "ass", "ssa"}
"""FFmpeg's names of the codecs of subtitles that can be read."""
ASIDE = ("comment", "lyrics", "karaoke", "descriptions", "visual_impaired")
"""FFmpeg's marks of tracks that are taken only if they are asked for, or are the only ones."""
PARTIAL = re.compile(
    r"\b(forced|forc[ée]s?|forzad[oa]s?|forzati|erzwungen|signs?|songs?|s ?& ?s|lyrics|karaoke|commentar(y|ies)"
    r"|foreign parts|descriptions?|trivia)(?!\w)",
    re.IGNORECASE,
)
"""What titles call tracks that do not hold what is said in the video."""


class Track(NamedTuple):
    """One track of a file."""

    number: int
    """Its place among the tracks of its kind, from 0."""
    language: str
    """As the file gives it, such as "eng"; "" if it does not."""
    title: str
    codec: str
    """FFmpeg's name of the codec; "unknown" for one that it cannot decode."""
    is_default: bool
    is_forced: bool
    """Whether it only translates signs or foreign words."""
    is_aside: bool = False
    """Whether it is marked as a commentary, as lyrics or as a description of the picture."""

    @property
    def is_text(self) -> bool:
        """Whether it holds subtitles that can be read; those of images cannot."""
        return self.codec in TEXT_CODECS

    @property
    def is_partial(self) -> bool:
        """Whether subtitles hold less than what is said, or something else, by title or mark."""
        return self.is_forced or self.is_aside or bool(PARTIAL.search(self.title))

    def __str__(self) -> str:
        title = f" {printable(self.title, 40)!r}" if self.title else ""
        marks = [mark for mark, holds in (("default", self.is_default), ("forced", self.is_forced)) if holds]
        language = printable(self.language, 20) or "language not given"
        return f"{self.number}: {language}{title}" + (f" ({', '.join(marks)})" if marks else "")


def tracks_of(streams: Iterable[AudioStream | SubtitleStream]) -> list[Track]:
    """Return the tracks of all streams of one kind in an open file, in its order."""
    from av.stream import Disposition  # here, so that `import atlaskit` stays light

    return [
        Track(
            number,
            "" if tags.get("language") == "und" else tags.get("language", ""),
            tags.get("title", "") or tags.get("handler_name", ""),
            stream.codec_context.name if stream.codec_context else "unknown",
            bool(stream.disposition & Disposition.default),
            bool(stream.disposition & Disposition.forced),
            any(stream.disposition & Disposition[mark] for mark in ASIDE),
        )
        for number, stream in enumerate(streams)
        for tags in (tags_of(stream),)
    ]
