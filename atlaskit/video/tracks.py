"""Opens media files with PyAV, and describes their tracks of sound and subtitles.

* Languages: `same_language` and `language_code` take codes of ISO 639 and English names, so that
  `en`, `eng` and `English` are the same language.
* Files: `open_media` opens a local file with PyAV 18 or 19, and `tags_of` reads a stream's tags.
* Tracks: `Track` holds the facts about a track of sound or subtitles.
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
    "brazilian": "por",
    "cantonese": "yue",
    "cn": "zho",
    "cz": "ces",
    "farsi": "fas",
    "gr": "ell",
    "greek": "ell",
    "jp": "jpn",
    "kr": "kor",
    "mandarin": "cmn",
    "mo": "ron",
    "taiwanese": "zho",
}
"""Names and codes of languages that are in use but not in the standard."""
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
"""Maps a language to its macrolanguage, and Filipino to Tagalog. Either tag matches the other, but
two languages of one macrolanguage do not match."""


def same_language(wanted: str, tag: str) -> bool:
    """Return whether a track's language tag means the wanted language.

    Args:
        wanted: A code of two or three letters (ISO 639-1, 639-2, 639-3), an English name, or a tag
            that begins with one, such as "pt-BR".
        tag: The tag of the track, likewise.

    Raises:
        InputError: `wanted` is not a known language, and not the same text as the tag.
    """
    language = _code(wanted) if isinstance(wanted, str) else None
    found = _code(tag)
    if language is None:
        if isinstance(wanted, str) and wanted.strip().lower() == tag.strip().lower():
            return True
        raise InputError(
            f'A language is a code or a name such as "en", "eng" or "English"; got {wanted!r:.80}.'
        )
    return found is not None and (
        language == found or MACRO.get(language) == found or language == MACRO.get(found)
    )


def is_exact_language(wanted: str | None, tag: str) -> bool:
    """Return whether a tag means just the wanted language, and not one related by `MACRO`."""
    return wanted is not None and _code(wanted) == _code(tag)


def language_code(language: str) -> str:
    """Return the code of a language in ISO 639-1 if it has one, else in ISO 639-3.

    Args:
        language: A code or an English name, in upper or lower case. A region (`en-US`) is ignored.

    Raises:
        InputError: `language` is not a known language.
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
    """Return the ISO 639-3 code of a language; None for any other text."""
    from iso639 import Lang  # here, so that `import atlaskit` stays light
    from iso639.exceptions import DeprecatedLanguageValue, InvalidLanguageValue

    name = name.partition("(")[0].strip().replace("_", "-")  # as in "English (SDH)" and "pt_BR"
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
"""FFmpeg's names of formats whose files only refer to other files, which FFmpeg would open."""
NOT_VIDEO = {"tty", "bin", "xbin", "adf", "idf"}
"""FFmpeg's names of formats that hold text, which FFmpeg would draw as pictures."""


def open_media(
    path: str | Path, options: dict[str, str], timeout_s: float | None = None
) -> InputContainer:
    """Open a media file, but none of the files to which it refers.

    Args:
        path: The file.
        options: Options of FFmpeg's demuxer.
        timeout_s: The most seconds that FFmpeg may wait for data; None for no limit.

    Returns:
        The open file. Its tags may hold bytes that are not UTF-8: read them with `tags_of`.

    Raises:
        FFmpegError, OSError, ValueError: Whatever `av.open` raises.
    """
    import av  # here, so that `import atlaskit` stays light

    tag_options: dict[str, Any] = {}
    if int(av.__version__.partition(".")[0]) < 19:  # PyAV 19 always decodes tags in this way
        tag_options = {"metadata_errors": "surrogateescape"}
    options = {**options, "protocol_whitelist": "file", "format_whitelist": _formats()}
    container: InputContainer = av.open(
        media_url(path), options=options, timeout=timeout_s, **tag_options
    )
    return container


@lru_cache(maxsize=1)
def _formats() -> str:
    """Return the formats that may be opened, as FFmpeg's option `format_whitelist` takes them."""
    import av

    names = av.formats_available - POINTING - NOT_VIDEO
    return ",".join(name for name in names if not name.endswith("_pipe"))


def tags_of(stream: Stream) -> dict[str, str]:
    """Return the tags of a stream by their names in lower case, cut to limits.TAG characters.

    U+FFFD replaces bytes that are not UTF-8.
    """
    return {_text(name).lower(): _text(value) for name, value in stream.metadata.items()}


def _text(tag: str) -> str:
    return tag[: limits.TAG].encode("utf-8", "surrogateescape").decode("utf-8", "replace")


TEXT_CODECS = {"subrip", "srt", "webvtt", "text", "mov_text", "ass", "ssa"}
"""FFmpeg's names of the codecs of subtitles that can be read."""
OTHER_CODECS = {
    "dvdsub": "images, VobSub",
    "pgssub": "images, PGS",
    "dvbsub": "images, DVB",
    "xsub": "images, DivX",
    "cc_dec": "closed captions, CEA-608",
    "c608": "closed captions, CEA-608",
    "c708": "closed captions, CEA-708",
    "stpp": "TTML in MP4",
    "wvtt": "WebVTT in MP4",
    "libzvbi_teletextdec": "teletext",
}
"""Descriptions of codecs of subtitles that cannot be read, by their names in FFmpeg or in MP4."""
ASIDE = ("comment", "lyrics", "karaoke", "descriptions", "visual_impaired")
"""FFmpeg's dispositions of tracks that are only chosen on request, or if there are no others."""
PARTIAL = re.compile(
    r"\b(forced|forc[ée]s?|forzad[oa]s?|forzati|erzwungen|signs?|songs?|s ?& ?s|lyrics"
    r"|karaoke|commentar(y|ies)"
    r"|foreign parts|descriptions?|trivia)(?!\w)",
    re.IGNORECASE,
)
"""Words in the titles of tracks that do not hold all that is said in the video."""


class Track(NamedTuple):
    """One track of sound or subtitles in a file."""

    number: int
    """Its index among the tracks of its type, sound or subtitles, from 0."""
    language: str
    """Its language tag in the file, such as "eng"; "" if it has none."""
    title: str
    codec: str
    """FFmpeg's name of the codec; if it has none, the codec's name in an MP4 file, or "unknown"."""
    is_default: bool
    is_forced: bool
    """Whether it only translates signs and foreign words."""
    is_aside: bool = False
    """Whether it has one of the dispositions in ASIDE, such as that of a commentary."""

    @property
    def is_text(self) -> bool:
        """Whether it holds subtitles that can be read, and no images."""
        return self.codec in TEXT_CODECS

    @property
    def kind(self) -> str:
        """A description of its codec."""
        return OTHER_CODECS.get(self.codec, f"in the codec {self.codec}")

    @property
    def is_partial(self) -> bool:
        """Whether its title or mark says that it does not hold all that is said."""
        return self.is_forced or self.is_aside or bool(PARTIAL.search(self.title))

    def __str__(self) -> str:
        language = printable(self.language, 20) or "language not given"
        text = f"{self.number}: {language}"
        if self.title:
            text += f" {printable(self.title, 40)!r}"
        marks = []
        if self.is_default:
            marks.append("default")
        if self.is_forced:
            marks.append("forced")
        if marks:
            text += f" ({', '.join(marks)})"
        return text


def tracks_of(streams: Iterable[AudioStream | SubtitleStream]) -> list[Track]:
    """Return the tracks of all streams of one kind in an open file, in the file's order.

    A codec that FFmpeg does not know is "unknown"; `subtitles.embedded` looks up its name in MP4.
    """
    from av.stream import Disposition  # here, so that `import atlaskit` stays light

    tracks = []
    for number, stream in enumerate(streams):
        tags = tags_of(stream)
        language = tags.get("language", "")
        track = Track(
            number=number,
            language="" if language == "und" else language,
            title=tags.get("title", "") or tags.get("handler_name", ""),
            codec=stream.codec_context.name if stream.codec_context else "unknown",
            is_default=bool(stream.disposition & Disposition.default),
            is_forced=bool(stream.disposition & Disposition.forced),
            is_aside=any(stream.disposition & Disposition[mark] for mark in ASIDE),
        )
        tracks.append(track)
    return tracks
