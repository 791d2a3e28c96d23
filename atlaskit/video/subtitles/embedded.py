"""Reads text tracks inside MP4, MKV and WebM files (mov_text, SubRip, ASS, WebVTT)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from atlaskit.errors import AtlasError, SubtitleError, printable, reason
from atlaskit.video.encoding import encoding_of
from atlaskit.video.languages import same_language
from atlaskit.video.media import open_media, tags_of
from atlaskit.video.subtitles.files import track_of
from atlaskit.video.subtitles.markup import plain_ass_text, plain_text
from atlaskit.video.subtitles.track import SourceLine, Subtitles, check_duration, check_finite

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.subtitles.stream import SubtitleStream

PARTIAL = re.compile(
    r"\b(forced|forc[ée]s?|forzad[oa]s?|forzati|erzwungen|signs?|songs?|s ?& ?s|lyrics|karaoke|commentar(y|ies)"
    r"|foreign parts|descriptions?|trivia)(?!\w)",
    re.IGNORECASE,
)
"""What titles call tracks that do not hold what is said in the video."""


class SubtitleTrack(NamedTuple):
    """What a video file tells of one of its subtitle tracks."""

    number: int
    """Its place among the subtitle tracks, from 0."""
    language: str
    """Its language tag, such as "eng"; "und" if there is none."""
    title: str
    codec: str
    """FFmpeg's name of the codec."""
    is_text: bool
    """Whether it can be read; tracks of images cannot."""
    is_default: bool
    is_forced: bool
    """Whether it only translates signs or foreign words."""
    is_aside: bool = False
    """Whether it is marked as a commentary, as lyrics or as descriptions of the picture."""

    @property
    def is_partial(self) -> bool:
        """Whether it holds less than what is said, or something else, by its title or its mark."""
        return self.is_forced or self.is_aside or bool(PARTIAL.search(self.title))

    def __str__(self) -> str:
        marks = [mark for mark, holds in (("default", self.is_default), ("forced", self.is_forced)) if holds]
        marks += [] if self.is_text else ["images"]
        title = f" {printable(self.title, 40)!r}" if self.title else ""
        return f"{self.number}: {printable(self.language, 20)}{title}" + (f" ({', '.join(marks)})" if marks else "")


def subtitle_tracks(path: str | Path) -> list[SubtitleTrack]:
    """Return the subtitle tracks of a video file, in its order.

    Raises:
        SubtitleError: The file cannot be read.
    """
    with _opened(path) as container:
        return [_described(number, stream) for number, stream in enumerate(container.streams.subtitles)]


def read_embedded(
    path: str | Path,
    *,
    origin_s: float = 0.0,
    duration_s: float | None = None,
    language: str | None = None,
    track: int | str | None = None,
) -> Subtitles:
    """Read a text track out of a video file.

    The track with the most text in the wanted language is read. One that is marked as forced, or
    called "Signs", "Songs" or "Commentary", is read only if there is no other. Without a wanted
    language it is that of the default track, or of the first. Nothing is decoded, but the packets
    of a text track lie between those of the video, so an MKV is read from end to end once.

    Args:
        path: The video file.
        origin_s: Presentation time of the video's first frame in the container's time, in seconds,
            subtracted from every time.
        duration_s: Length of the video in seconds: lines are cut to `[0, duration_s)`. None means
            no end.
        language: The wanted language: its code of two or three letters (ISO 639-1, 639-2), its
            English name, or a tag that begins with one, such as "pt-BR".
        track: The number of a track among the subtitle tracks, from 0, or its title.

    Returns:
        The lines, possibly none. A line whose duration the container does not give lasts until the
        next one starts, or for LAST_LINE_S seconds if none does.

    Raises:
        SubtitleError: The file has no such track, its subtitles are images, or it cannot be read.
        InputError: `origin_s` or `duration_s` is not a valid number of seconds, or `language` is
            none.
    """
    check_finite("origin_s", origin_s)
    check_duration(duration_s)
    with _opened(path) as container:
        streams = container.streams.subtitles
        tracks = [_described(number, stream) for number, stream in enumerate(streams)]
        candidates = _candidates(path, tracks, language, track)
        lines = _lines_of(container, [streams[candidate.number] for candidate in candidates])
    fullest = max(candidates, key=lambda candidate: _worth(candidate, lines[candidate.number]))
    return track_of(lines[fullest.number], origin_s, duration_s, f"the subtitles in {path}")


@contextmanager
def _opened(path: str | Path) -> Iterator[InputContainer]:
    """Open a video file for its subtitles; raise SubtitleError for what goes wrong meanwhile."""
    import av  # here, so that `import atlaskit` stays light

    from atlaskit.video.readers.faults import what_it_is

    try:
        with open_media(path, {}) as container:
            yield container
    except (av.FFmpegError, OSError, ValueError, OverflowError) as error:
        if isinstance(error, AtlasError):
            raise
        known = what_it_is(Path(path))
        raise SubtitleError(
            f"{path} {known}."
            if known
            else f"The subtitles in {path} cannot be read ({reason(error)}): copy or download it again."
        ) from error


def _described(number: int, stream: SubtitleStream) -> SubtitleTrack:
    from av.stream import Disposition

    codec, tags = _codec_name(stream), tags_of(stream)
    return SubtitleTrack(
        number,
        tags.get("language", "und"),
        tags.get("title", "") or tags.get("handler_name", ""),
        codec,
        codec in TEXT_CODECS,
        bool(stream.disposition & Disposition.default),
        bool(stream.disposition & Disposition.forced),
        bool(stream.disposition & (Disposition.comment | Disposition.lyrics | Disposition.karaoke))
        or bool(stream.disposition & Disposition.descriptions),
    )


def _candidates(
    path: str | Path, tracks: Sequence[SubtitleTrack], language: str | None, track: int | str | None
) -> list[SubtitleTrack]:
    """Return the tracks among which the fullest is chosen."""
    if not tracks:
        raise SubtitleError(f"{path} has no subtitle track: give its subtitles as a file.")
    there = "; ".join(map(str, tracks))
    if track is not None:
        chosen = [found for found in tracks if str(track) == str(found.number) or track == found.title]
        if not chosen:
            raise SubtitleError(f"{path} has no subtitle track {track!r:.80}: choose from {there}.")
        if not chosen[0].is_text:
            raise SubtitleError(
                f"The subtitle track {track!r:.80} of {path} holds images, or text in an unknown codec "
                f"({chosen[0].codec}): choose another from {there}, or give subtitles as a file."
            )
        return chosen[:1]
    readable = [found for found in tracks if found.is_text]
    if not readable:
        codecs = ", ".join(dict.fromkeys(found.codec for found in tracks))
        raise SubtitleError(
            f"The subtitles in {path} are images, or text in an unknown codec ({codecs}): give them as a file."
        )
    if language is not None:
        chosen = [found for found in readable if same_language(language, found.language)]
        if not chosen:
            raise SubtitleError(f"{path} has no text track in language {language!r:.80}: choose from {there}.")
    else:
        whole = [found for found in readable if not found.is_partial] or readable
        defaults = [found.language for found in readable if found.is_default]
        usual = next((found for found in whole if found.language in defaults), whole[0])
        chosen = [found for found in whole if found.language == usual.language]
    return [found for found in chosen if not found.is_partial] or chosen


def _worth(track: SubtitleTrack, lines: Sequence[SourceLine]) -> tuple[int, bool, int]:
    """Return what makes a track better than another: its letters, then its mark, then its place.

    A text that is drawn many times, as animated signs are, counts once.
    """
    return sum(map(len, {line.text for line in lines})), track.is_default, -track.number


def _lines_of(container: InputContainer, streams: Sequence[SubtitleStream]) -> dict[int, list[SourceLine]]:
    """Return the lines of some tracks by their numbers, in the container's time."""
    from atlaskit.video.readers.container import discard_others  # here, so that `import atlaskit` stays light

    discard_others(container, *streams)  # lets the demuxer skip the frames of an MP4 unread
    numbers = {stream.index: number for number, stream in enumerate(container.streams.subtitles)}
    found: dict[int, list[tuple[float, float | None, bytes]]] = {numbers[stream.index]: [] for stream in streams}
    for packet in container.demux(*streams):
        if packet.pts is None or packet.time_base is None or not packet.size:
            continue
        start = packet.pts * packet.time_base
        duration = (packet.duration or 0) * packet.time_base
        end_s, data = float(start + duration) if duration > 0 else None, bytes(packet)
        if _codec_name(cast("SubtitleStream", packet.stream)) == "mov_text":
            data = data[2 : 2 + int.from_bytes(data[:2], "big")]  # two bytes of length, the text, then styles
        found[numbers[packet.stream.index]].append((float(start), end_s, data))
    texts = {numbers[stream.index]: TEXT_CODECS[_codec_name(stream)] for stream in streams}
    return {number: _decoded(rows, texts[number]) for number, rows in found.items()}


def _decoded(rows: Sequence[tuple[float, float | None, bytes]], plain: Callable[[str], str]) -> list[SourceLine]:
    """Return the lines of a track; its encoding is found as that of a file is."""
    usual = encoding_of(b"\n".join(data for _, _, data in rows)) or "utf-8"
    lines = []
    for start_s, end_s, data in rows:
        encoding = "utf-16" if data.startswith((b"\xfe\xff", b"\xff\xfe")) else usual
        lines.append(SourceLine(start_s, end_s, plain(data.decode(encoding, "replace"))))
    return list(dict.fromkeys(lines)) if plain is _ass_text else lines


def _codec_name(track: SubtitleStream) -> str:
    # PyAV gives no codec context where its FFmpeg has no decoder.
    return track.codec_context.name if track.codec_context else "unknown"


# Packets are parsed from their bytes: FFmpeg's decoders convert them to ASS, which alters braces
# and backslashes.


def _ass_text(text: str) -> str:
    # The fields are number, layer, style, name, three margins, effect, text.
    return plain_ass_text(text.split(",", 8)[-1])


TEXT_CODECS: dict[str, Callable[[str], str]] = {
    **dict.fromkeys(("subrip", "srt", "webvtt", "text", "mov_text"), plain_text),
    **dict.fromkeys(("ass", "ssa"), _ass_text),
}
"""For each text codec, by FFmpeg's name, how to get the plain text of a packet's."""
