"""Reads text tracks inside MP4, MKV and WebM files (mov_text, SubRip, ASS, WebVTT)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from atlaskit.errors import SubtitleError, reason
from atlaskit.video.subtitles.markup import plain_ass_text, plain_text
from atlaskit.video.subtitles.track import SourceLine, Subtitles, check_duration, check_finite, place_lines

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.subtitles.stream import SubtitleStream

FILE_LISTS = {"hls", "dash", "concat", "imf"}
"""FFmpeg's names of the formats that are lists of other files."""


def read_embedded(
    path: str | Path, *, origin_s: float = 0.0, duration_s: float | None = None, language: str | None = None
) -> Subtitles:
    """Read a text track out of a video file.

    Of the text tracks, the one marked as default is read, or the first if none is marked. Nothing
    is decoded, but the packets of a text track lie between those of the video, so an MKV is read
    from end to end once.

    Args:
        path: The video file.
        origin_s: Presentation time of the video's first frame in the container's time, in seconds,
            subtracted from every time.
        duration_s: Length of the video in seconds: lines are cut to `[0, duration_s)`. None means
            no end.
        language: Only consider tracks whose language tag is this one, such as "eng".

    Returns:
        The lines, possibly none. A line whose duration the container does not give lasts until the
        next one starts, or for LAST_LINE_S seconds if none does.

    Raises:
        SubtitleError: The file has no such track, its subtitles are images, or it cannot be read.
        InputError: `origin_s` or `duration_s` is not a valid number of seconds.
    """
    import av  # here, so that `import atlaskit` stays light

    check_finite("origin_s", origin_s)
    check_duration(duration_s)
    try:
        # A hostile "video" may be a playlist of web addresses: only local files are opened.
        with av.open(str(path), metadata_errors="replace", options={"protocol_whitelist": "file"}) as container:
            if FILE_LISTS & set(container.format.name.split(",")):
                raise SubtitleError(f"{path} is a list of other files: name a video file.")
            track = _choose_track(path, container.streams.subtitles, language)
            lines = list(_track_lines(container, track))
    except (av.FFmpegError, OSError, ValueError, OverflowError) as error:
        raise SubtitleError(
            f"The subtitles in {path} cannot be read ({reason(error)}): copy or download it again."
        ) from error
    return place_lines(lines, origin_s, duration_s)


def _track_lines(container: InputContainer, track: SubtitleStream) -> Iterator[SourceLine]:
    """Yield the lines of a track, in the container's time."""
    import av

    for stream in container.streams:
        if stream is not track and hasattr(stream, "discard"):  # PyAV has it since version 18
            stream.discard = av.stream.Discard.all  # lets the demuxer skip the frames of an MP4 unread
    text_of = TEXT_CODECS[_codec_name(track)]
    for packet in container.demux(track):
        if packet.pts is None or packet.time_base is None or not packet.size:
            continue
        start = packet.pts * packet.time_base
        duration = (packet.duration or 0) * packet.time_base
        end_s = float(start + duration) if duration > 0 else None
        yield SourceLine(float(start), end_s, text_of(bytes(packet)))


def _choose_track(path: str | Path, tracks: Sequence[SubtitleStream], language: str | None) -> SubtitleStream:
    from av.stream import Disposition

    if not tracks:
        raise SubtitleError(f"{path} has no subtitle track: give its subtitles as a file.")
    readable = [track for track in tracks if _codec_name(track) in TEXT_CODECS]
    if not readable:
        codecs = ", ".join(dict.fromkeys(_codec_name(track) for track in tracks))
        raise SubtitleError(
            f"The subtitles in {path} are images, or text in an unknown codec ({codecs}): give them as a file."
        )
    languages = [track.metadata.get("language", "und") for track in readable]
    if language is not None:
        readable = [track for track, tag in zip(readable, languages, strict=True) if tag == language]
        if not readable:
            available = ", ".join(dict.fromkeys(languages))
            raise SubtitleError(f"{path} has no text track in language {language!r}: choose from {available}.")
    return next((track for track in readable if track.disposition & Disposition.default), readable[0])


def _codec_name(track: SubtitleStream) -> str:
    # PyAV gives no codec context where its FFmpeg has no decoder.
    return track.codec_context.name if track.codec_context else "unknown"


# Packets are parsed from their bytes: FFmpeg's decoders convert them to ASS, which alters braces
# and backslashes.


def _packet_text(data: bytes) -> str:
    return plain_text(data.decode("utf-8", "replace"))


def _ass_packet_text(data: bytes) -> str:
    # The fields are number, layer, style, name, three margins, effect, text.
    return plain_ass_text(data.decode("utf-8", "replace").split(",", 8)[-1])


def _mov_packet_text(data: bytes) -> str:
    # Two bytes of length, the text, then boxes with styles.
    data = data[2 : 2 + int.from_bytes(data[:2], "big")]
    encoding = "utf-16" if data.startswith((b"\xfe\xff", b"\xff\xfe")) else "utf-8"
    return plain_text(data.decode(encoding, "replace"))


TEXT_CODECS: dict[str, Callable[[bytes], str]] = {
    "subrip": _packet_text,
    "srt": _packet_text,
    "webvtt": _packet_text,
    "text": _packet_text,
    "ass": _ass_packet_text,
    "ssa": _ass_packet_text,
    "mov_text": _mov_packet_text,
}
"""For each text codec, by FFmpeg's name, how to get the text of a packet."""
