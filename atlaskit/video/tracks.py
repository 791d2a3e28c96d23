"""Opens a local file for its tracks, and tells their languages and titles.

* Languages: `same_language`, `language_code`. Codes of ISO 639 and English names; `en`, `eng` and
  `English` are one.
* Files: `open_media` with PyAV 18 or 19, and `tags_of` a stream.
* Tracks: `Track`, what a file tells of one of its tracks of sound or subtitles.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from atlaskit import limits
from atlaskit.errors import InputError, printable
from atlaskit.video.names import media_url

if TYPE_CHECKING:
    from av.audio.stream import AudioStream
    from av.container import InputContainer
    from av.stream import Stream
    from av.subtitles.stream import SubtitleStream

UNKNOWN = {"", "und", "mis", "mul", "zxx"}
"""Language tags that name no language."""
COLLOQUIAL = {
    **{
        "greek": "ell",
        "farsi": "fas",
        "mandarin": "cmn",
        "cantonese": "yue",
        "brazilian": "por",
        "mo": "ron",
    },
    **{"cn": "zho", "jp": "jpn", "kr": "kor", "cz": "ces", "gr": "ell", "taiwanese": "zho"},
}
"""Languages by names and codes that are in use, and not in the standard."""
MACRO = {
    "cmn": "zho",
    "yue": "zho",
    "nob": "nor",
    "nno": "nor",
    "pes": "fas",
    "arb": "ara",
    "zsm": "msa",
    "fil": "tgl",
}
"""Languages by those that include or are them; a track of one serves who wants the other."""


def same_language(wanted: str, tag: str) -> bool:
    """Tell whether a track's language tag is the wanted language.

    Args:
        wanted: A code of two or three letters (ISO 639-1, 639-2, 639-3), an English name, or a tag
            that begins with one, such as "pt-BR".
        tag: The tag of the track, likewise.

    Raises:
        InputError: `wanted` is no language.
    """
    language = _code(wanted) if isinstance(wanted, str) else None
    found = _code(tag)
    if language is None:
        if isinstance(wanted, str) and wanted.strip().lower() == tag.strip().lower():
            return True
        raise InputError(
            f'A language is a code or a name such as "en", "eng" or "English"; got {wanted!r:.80}.'
        )
    return found is not None and MACRO.get(language, language) == MACRO.get(found, found)


def language_code(language: str) -> str:
    """Return the code of a language: that of ISO 639-1 if it has one, else that of ISO 639-3.

    Args:
        language: A code or an English name, in any case; a region (`en-US`) is left out.

    Raises:
        InputError: It is no language.
    """
    from iso639 import Lang  # here, so that `import atlaskit` stays light

    code = _code(language) if isinstance(language, str) else None
    if code is None:
        raise InputError(
            'A language is a code or a name such as "en", "eng" or "English"; got '
            f"{language!r:.80}."
        )
    return Lang(code).pt1 or code


@lru_cache(maxsize=256)
def _code(name: str) -> str | None:
    """Return the ISO 639-3 code of a language, None for a name of none."""
    from iso639 import Lang  # here, so that `import atlaskit` stays light
    from iso639.exceptions import DeprecatedLanguageValue, InvalidLanguageValue

    name = name.partition("(")[0].strip().replace("_", "-")
    if name.lower() in UNKNOWN:
        return None
    colloquial = COLLOQUIAL.get(name.lower().partition("-")[0])
    if colloquial:
        return colloquial
    for form in (name.lower(), name.title(), name, name.partition("-")[0].lower()):
        try:
            found = Lang(form)
        except DeprecatedLanguageValue as error:
            return error.change_to or None
        except InvalidLanguageValue:
            continue
        return found.pt3 or None
    return None


POINTING = {
    "hls",
    "dash",
    "concat",
    "imf",
    "webm_dash_manifest",
    "sdp",
    "rtsp",
    "rtp",
    "sap",
    "image2",
    "vobsub",
}
"""FFmpeg's names of formats whose files only name others, which FFmpeg would open."""
NOT_VIDEO = {"tty", "bin", "xbin", "adf", "idf"}
"""FFmpeg's names of formats that are text, or an image of it."""


def open_media(
    path: str | Path, options: dict[str, str], timeout_s: float | None = None
) -> InputContainer:
    """Open a file for reading, and no other. Tags that are no UTF-8 are no error; see `tags_of`.

    Args:
        path: The file.
        options: Options of FFmpeg's demuxer.
        timeout_s: Most seconds that FFmpeg may wait for data. None: no limit.

    Raises:
        FFmpegError, OSError, ValueError: As `av.open`.
    """
    import av  # here, so that `import atlaskit` stays light

    lenient: dict[str, Any] = {}
    if int(av.__version__.partition(".")[0]) < 19:  # since version 19 it is always so
        lenient = {"metadata_errors": "surrogateescape"}
    options = {**options, "protocol_whitelist": "file", "format_whitelist": _formats()}
    container: InputContainer = av.open(
        media_url(path), options=options, timeout=timeout_s, **lenient
    )
    return container


@lru_cache(maxsize=1)
def _formats() -> str:
    import av

    return ",".join(
        name for name in av.formats_available - POINTING - NOT_VIDEO if not name.endswith("_pipe")
    )


def tags_of(stream: Stream) -> dict[str, str]:
    """Return the tags of a stream, under names in small letters, cut to limits.TAG characters.

    U+FFFD stands for what is no UTF-8.
    """
    return {_text(name).lower(): _text(value) for name, value in stream.metadata.items()}


def _text(tag: str) -> str:
    return tag[: limits.TAG].encode("utf-8", "surrogateescape").decode("utf-8", "replace")


TEXT_CODECS = {"subrip", "srt", "webvtt", "text", "mov_text", "ass", "ssa"}
"""FFmpeg's names of the codecs of subtitles that can be read."""
OTHER_CODECS = {
    **{
        "dvdsub": "images, VobSub",
        "pgssub": "images, PGS",
        "dvbsub": "images, DVB",
        "xsub": "images, DivX",
    },
    **{
        "cc_dec": "closed captions, CEA-608",
        "c608": "closed captions, CEA-608",
        "c708": "closed captions, CEA-708",
    },
    **{"stpp": "TTML in MP4", "wvtt": "WebVTT in MP4", "libzvbi_teletextdec": "teletext"},
}
"""What codecs of subtitles are that cannot be read, by FFmpeg's names or by those in MP4."""
ASIDE = ("comment", "lyrics", "karaoke", "descriptions", "visual_impaired")
"""FFmpeg's marks of tracks that are taken only if they are asked for, or are the only ones."""
PARTIAL = re.compile(
    r"\b(forced|forc[ée]s?|forzad[oa]s?|forzati|erzwungen|signs?|songs?|s ?& ?s|lyrics"
    r"|karaoke|commentar(y|ies)"
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
    """FFmpeg's name of the codec; that in an MP4 for one that it cannot decode, else "unknown"."""
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
    def kind(self) -> str:
        """What its codec is, in words."""
        return OTHER_CODECS.get(self.codec, f"in the codec {self.codec}")

    @property
    def is_partial(self) -> bool:
        """Whether subtitles hold less than what is said, or something else, by title or mark."""
        return self.is_forced or self.is_aside or bool(PARTIAL.search(self.title))

    def __str__(self) -> str:
        title = f" {printable(self.title, 40)!r}" if self.title else ""
        marks = [
            mark
            for mark, holds in (("default", self.is_default), ("forced", self.is_forced))
            if holds
        ]
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
