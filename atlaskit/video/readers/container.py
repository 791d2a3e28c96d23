"""Opens a file with PyAV, checks that it is a video, chooses the stream."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
from av.codec import codecs_available
from av.container import InputContainer
from av.packet import Packet
from av.stream import Discard, Disposition, Stream
from av.video.stream import VideoStream

from atlaskit.errors import VideoError, reason
from atlaskit.video.media import open_media, tags_of
from atlaskit.video.readers.codecs import CODEC_SETTINGS, Codec
from atlaskit.video.readers.faults import ENCRYPTED, STILL, is_encrypted, what_it_is

DECODE_ERRORS = (av.FFmpegError, OSError, ValueError, EOFError, MemoryError, IndexError)
"""What PyAV raises for a damaged file, or (IndexError) at the end of one with a late stream."""
READ_TIMEOUT_S = 30.0
"""A file that returns no data for this long is given up."""
OPTIONS = {"fflags": "-genpts", "merge_pmt_versions": "1"}
"""Packets have no times that FFmpeg computes. A transport stream may number its streams anew in the
middle; they stay the same streams."""
NO_TIMESTAMPS = 0x80
"""FFmpeg's flag of formats that hold a stream and nothing else, neither index nor times."""
LONG_PROBE = {"analyzeduration": "600000000", "probesize": "200000000"}
"""Microseconds and bytes to search for the size of a picture that the usual few do not show."""
TRANSIENT_ERRNOS = {
    *(errno.EIO, errno.ENOMEM, errno.EMFILE, errno.ENFILE),
    *(errno.ENOENT, errno.EACCES, errno.ESTALE, errno.ENODEV),
}
"""Errors of the machine, not of the file."""


class Distrust(Exception):
    """A container's account is not believed.

    Says why, to continue a sentence that begins with the file's name.
    """


def is_transient(error: BaseException) -> bool:
    """Tell whether an error lies in the machine, not in the file's content: a retry may succeed."""
    # VideoError: the file is gone or was replaced. ExitError: the read timed out.
    if isinstance(error, (MemoryError, VideoError, av.error.ExitError)):
        return True
    return isinstance(error, OSError) and error.errno in TRANSIENT_ERRNOS


def open_container(
    path: Path, *, is_known: bool = False, is_long_probe: bool = False
) -> tuple[InputContainer, VideoStream]:
    """Open a file and choose its video stream.

    Args:
        path: The file.
        is_known: Whether the file was opened before: then it is not examined again.
        is_long_probe: Look for streams that begin late, in formats that do not list them.

    Raises:
        VideoError: The file is not a video that can be decoded at exact times.
    """
    container = _open(path, OPTIONS | LONG_PROBE if is_long_probe else OPTIONS)
    if any(stream.codec_context and not stream.codec_context.width for stream in container.streams.video):
        container.close()
        container = _open(path, OPTIONS | LONG_PROBE)
    if not is_known and is_encrypted(path, container_kind(container)):
        raise VideoError(f"{path} {ENCRYPTED}.")
    return container, _video_stream(container, path)


def _open(path: Path, options: dict[str, str]) -> InputContainer:
    try:
        return open_media(path, options, READ_TIMEOUT_S)
    except DECODE_ERRORS as error:
        if is_transient(error):
            raise VideoError(f"{path} cannot be read ({reason(error)}).") from error
        known = what_it_is(path)
        raise VideoError(
            f"{path} {known or f'is not a video that can be read, or it is truncated ({reason(error)})'}."
        ) from error


def _video_stream(container: InputContainer, path: Path) -> VideoStream:
    pictures = [stream for stream in container.streams.video if stream.disposition & Disposition.attached_pic]
    streams = [stream for stream in container.streams.video if stream not in pictures]
    if not streams:
        content = (
            "only sound" if container.streams.audio else "only subtitles" if container.streams.subtitles else "no video"
        )
        cover = " and a cover picture" if pictures else ""
        known = what_it_is(path)
        raise VideoError(f"{path} {known or f'holds {content}{cover}: name a file with video in it'}.")
    stream = next((stream for stream in streams if stream.disposition & Disposition.default), streams[0])
    if stream.codec_context is None:
        raise VideoError(f"{path} uses a codec that this build of FFmpeg cannot decode.")
    if container_kind(container) == "mov" and what_it_is(path) == STILL:
        raise VideoError(f"{path} {STILL}.")
    return stream


def packets_of(container: InputContainer) -> Iterator[Packet[Any]]:
    """Yield all packets; pass over what holds none, as players do."""
    while True:
        try:
            yield from container.demux()
            return
        except BlockingIOError:  # FFmpeg gives up in the midst of zeros, and can go on
            continue


def discard_others(container: InputContainer, *kept: Stream) -> None:
    """Let the demuxer pass over all streams but some."""
    for stream in container.streams:
        if stream not in kept:
            stream.discard = Discard.all


def codec_of(stream: VideoStream) -> Codec:
    """Return what a decoder of a stream needs to know."""
    context = stream.codec_context
    known: dict[str, Any] = {}
    for name in CODEC_SETTINGS:
        with suppress(AttributeError, ValueError):  # PyAV 18.0 has no field_order; a tag may be no text
            known[name] = getattr(context, name)
    # FFmpeg's own decoder of VP9 leaves out transparency, and shows what lies beneath.
    name = context.codec.name
    is_transparent = name == "vp9" and tags_of(stream).get("alpha_mode") == "1"
    name = "libvpx-vp9" if is_transparent and "libvpx-vp9" in codecs_available else name
    settings = {key: value for key, value in known.items() if isinstance(value, int | str)}
    data = {"extradata": context.extradata} if context.extradata else {}
    return Codec(name, settings, data)


def container_kind(container: InputContainer) -> str:
    """Return the family of a container's format: "mov", "matroska", "avi", "mpegts", …"""
    names = container.format.name.split(",")
    return "mov" if "mov" in names else names[0]


def tick_length(stream: VideoStream) -> Fraction:
    """Return the length in seconds of one tick of a stream's clock."""
    return as_fraction(stream.time_base or Fraction(1, 1000))


def frame_length(stream: VideoStream, *, is_raw: bool = False) -> Fraction:
    """Return the mean duration in seconds of one frame.

    FFmpeg gives 25 frames per second as the average of a raw stream, whatever that says.
    """
    rate = (stream.guessed_rate if is_raw else None) or stream.average_rate or stream.guessed_rate
    return 1 / as_fraction(rate) if rate else Fraction(1, 25)


def aspect_of(source: Any) -> Fraction | None:
    """Return the width over the height of the pixels of a stream or a decoder; None if unknown."""
    ratio = source.sample_aspect_ratio
    return as_fraction(ratio) if ratio and ratio.denominator else None


def as_fraction(ratio: Any) -> Fraction:
    """Return a ratio of PyAV, which has a type of its own since version 19, as a fraction."""
    return Fraction(ratio.numerator, ratio.denominator)
