"""Opens a file with PyAV, checks that it is a video that can be decoded, and chooses the stream.

* Faults: `what_it_is` recognises files that are not videos by their first bytes. `is_encrypted`
  finds videos that cannot be decoded without a key. Every read is bounded.
* Containers: `open_container`, and functions that read the tables of an open container.
"""

from __future__ import annotations

import errno
import re
import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO

import av
from av.codec import codecs_available
from av.container import InputContainer
from av.packet import Packet
from av.stream import Discard, Disposition, Stream
from av.video.stream import VideoStream

from atlaskit.errors import VideoError, reason
from atlaskit.video.readers.codecs import CODEC_SETTINGS, Codec
from atlaskit.video.readers.headers import (
    HEAD_BYTES,
    boxes,
    has_own_colours,
    is_encrypted_mp4,
)
from atlaskit.video.tracks import open_media, tags_of

STILL = "is a picture (HEIF, AVIF or raw): name a video file"
_BEGINNINGS = (
    (
        rb"\0+\Z",
        (
            "begins with nothing but zeros, as a download does that was not finished: "
            "download it again"
        ),
    ),
    (
        rb"(?i:<!doctype html|<html|<head)",
        "is a web page, perhaps the message of a failed download: download the video itself",
    ),
    (
        rb"version https://git-lfs",
        "is a pointer of Git LFS: fetch the content that it stands for",
    ),
    (
        rb"#EXTM3U|\[playlist\]|ffconcat|(?i:file) ['\"]"
        rb"|[^\0]{0,400}?(?:<MPD|(?i:xspf|<asx|<smil))"
        rb"|(?:#[^\0\n]{0,999}\n\s*)*(?:https?://|[^\0\n<>]{1,999}"
        rb"\.(?i:mp4|m4[svp]|mkv|webm|mov|avi|m?ts|mpe?g|flv|wmv)(?:\?\S{0,999})?\s*$)",
        "is a list of other files: name a video file",
    ),
    (rb"%PDF", "is a PDF document: name a video file"),
    (
        rb"PK\x03\x04|Rar!\x1a|7z\xbc\xaf\x27\x1c|\x1f\x8b|BZh|\xfd7zXZ",
        "is an archive: unpack it, and name the video in it",
    ),
    (
        rb"d8:announce|d10:created|d7:comment|d13:announce",
        "is a torrent: download what it describes, and name the video",
    ),
    (
        rb"WEBVTT|\[Script Info\]|\d+\s*\r?\n\s*\d+:\d+:\d+[,.]\d+\s*-->",
        "holds subtitles: name the video, and give this file as `subtitles`",
    ),
    (
        rb"RIFF.{4}WEBP",
        "is a WebP picture, still or moving, which FFmpeg cannot decode as a video: convert it",
    ),
    (rb".{4}ftyp(?:heic|heix|mif1|avif|heim|heis|crx )", STILL),
)
_FLAGS = re.DOTALL | re.MULTILINE
KINDS = tuple((re.compile(start, _FLAGS), sentence) for start, sentence in _BEGINNINGS)
"""Patterns for the beginnings of files that are not videos, each with the end of a sentence that
says what the file is and what to do."""
PICTURES = {
    b"\xff\xd8\xff": "a JPEG picture",
    b"\x89PNG\r\n\x1a\n": "a PNG picture",
    b"BM": "a BMP picture",
    b"II*\0": "a TIFF or raw picture",
    b"MM\0*": "a TIFF or raw picture",
    b"8BPS": "a Photoshop picture",
}
"""Beginnings of pictures."""
UNFINISHED = {".part", ".crdownload", ".download", ".aria2", ".!ut", ".!qb", ".tmp", ".partial"}
"""Suffixes of unfinished downloads."""
TS_PACKETS = (188, 192, 204)
"""Possible sizes in bytes of a transport stream's packet: plain, with a time code (M2TS), and with
check bytes."""
SYNC = 0x47
"""The first byte of each packet of a transport stream."""
NULL_STREAM = 0x1FFF
"""The identifier (PID) of packets without content."""
FEWEST_PACKETS = 8
"""A stream with fewer packets than this is not taken for scrambled."""
ENCRYPTED = "is encrypted (DRM): no tool shows it without its key; get a copy that is not"


def what_it_is(path: Path) -> str | None:
    """Return the end of a sentence that begins with the name of a file that is no usable video.

    The sentence says what the file is and what to do. None if that is unknown.
    """
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
            start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
            known = next((sentence for kind, sentence in KINDS if kind.match(start)), None)
            known = known or _picture(file, head) or _cut_off(file, head, path.stat().st_size)
        if known is None and (is_encrypted_mp4(path) or _is_scrambled(head)):
            known = ENCRYPTED
    except (OSError, struct.error, ValueError):
        return None
    if known is None and path.suffix.lower() in UNFINISHED:
        return "is a download that is not finished: wait for its end"
    return known


def _picture(file: BinaryIO, head: bytes) -> str | None:
    """Return the end of a sentence about a picture; None if the file is not one.

    In the file of a motion photo, a video follows the picture.
    """
    name = next((name for start, name in PICTURES.items() if head.startswith(start)), None)
    if name is None:
        return None
    file.seek(0)
    video = re.search(rb"....ftyp(?:mp4|isom|mp42|iso|avc1|qt)", file.read(64 << 20), re.DOTALL)
    if video is None:
        return f"is {name}: name a video file"
    return (
        f"is {name} with a video behind it, from byte {video.start()} on (a motion photo): "
        "write the bytes from there on to an .mp4 file, and name that"
    )


def _cut_off(file: BinaryIO, head: bytes, size: int) -> str | None:
    """Return the end of a sentence about an MP4 without an index; None if the file is not one."""
    if head[4:8] not in (b"ftyp", b"mdat", b"wide", b"free", b"skip", b"moov"):
        return None
    kinds = [box.kind for box in boxes(file, 0, size)]
    if b"moov" not in kinds and b"moof" not in kinds:
        return (
            "has no index (moov box), because its recording or download did not end: copy or "
            "download it again; a camera's file can be rebuilt with a tool such as untrunc and a "
            "whole file of the same camera"
        )
    return None


def is_encrypted(path: Path, kind: str) -> bool:
    """Return whether the pictures of a video are encrypted; False if that is not certain.

    Args:
        path: The file.
        kind: The family of its format, as `container_kind` gives it.
    """
    if kind != "mpegts":
        return kind == "mov" and is_encrypted_mp4(path)
    with suppress(OSError), path.open("rb") as file:
        return _is_scrambled(file.read(HEAD_BYTES))
    return False


def _is_scrambled(head: bytes) -> bool:
    """Return whether a transport stream is marked as scrambled (ISO 13818-1, 2.4.3.3)."""
    packets: Counter[int] = Counter()
    scrambled: Counter[int] = Counter()
    for size in TS_PACKETS:
        found = re.search(rb"(?:\x47.{%d}){8}" % (size - 1), head, re.DOTALL)
        if found:
            break
    else:
        return False
    at = found.start()
    while at + size < len(head):
        if not head[at] == head[at + size] == SYNC:  # bytes were lost, or files were joined
            at += 1
            continue
        stream = (head[at + 1] & 0x1F) << 8 | head[at + 2]
        has_content = head[at + 3] & 0x10
        if stream != NULL_STREAM and has_content:
            packets[stream] += 1
            scrambled[stream] += bool(head[at + 3] & 0xC0)
        at += size
    for stream, count in packets.items():
        if count >= FEWEST_PACKETS and scrambled[stream] > count / 2:
            return True
    return False


DECODE_ERRORS = (av.FFmpegError, OSError, ValueError, EOFError, MemoryError, IndexError)
"""Errors of PyAV for a damaged file. If a stream begins late, IndexError marks the file's end."""
READ_TIMEOUT_S = 30.0
"""Reading is abandoned if a file returns no data for this long."""
OPTIONS = {"fflags": "-genpts", "merge_pmt_versions": "1"}
"""Options of FFmpeg: it must not invent the missing times of packets, and it must follow streams
that a transport stream renumbers midway."""
NO_TIMESTAMPS = 0x80
"""FFmpeg's flag for formats that hold a bare stream, without an index and times."""
MAY_JUMP = 0x200
"""FFmpeg's flag for formats whose clock may jump forward. In other formats times are absolute."""
LONG_PROBE = {"analyzeduration": "600000000", "probesize": "200000000"}
"""Microseconds and bytes that FFmpeg may read to find the size of the pictures, where its usual
limits do not suffice."""
TRANSIENT_ERRNOS = {
    *(errno.EIO, errno.ENOMEM, errno.EMFILE, errno.ENFILE),
    *(errno.ENOENT, errno.EACCES, errno.ESTALE, errno.ENODEV),
}
"""Errors of the machine, not of the file."""


class Distrust(Exception):
    """A container is not trusted to say which pictures there are and when they are shown.

    The message is the end of a sentence that begins with the file's name.
    """


def is_transient(error: BaseException) -> bool:
    """Return whether an error lies in the machine, not in the file, so that a retry may succeed."""
    # A VideoError means that the file is gone or was replaced, an ExitError that a read timed out.
    if isinstance(error, (MemoryError, VideoError, av.error.ExitError)):
        return True
    return isinstance(error, OSError) and error.errno in TRANSIENT_ERRNOS


def open_container(
    path: Path, *, is_known: bool = False, is_long_probe: bool = False
) -> tuple[InputContainer, VideoStream]:
    """Open a file and choose its video stream.

    Args:
        path: The file.
        is_known: Whether the file was opened before, so that it need not be checked again.
        is_long_probe: Whether to search for streams that begin late, in formats that do not list
            their streams.

    Raises:
        VideoError: The file is not a video that can be decoded at exact times.
    """
    container = _open(path, OPTIONS | LONG_PROBE if is_long_probe else OPTIONS)
    contexts = [stream.codec_context for stream in container.streams.video]
    if any(context and not context.width for context in contexts):
        # FFmpeg did not find the size of the pictures.
        container.close()
        container = _open(path, OPTIONS | LONG_PROBE)
    if not is_known and is_encrypted(path, container_kind(container)):
        raise VideoError(f"{path} {ENCRYPTED}.")
    stream = _video_stream(container, path)
    if not is_known and has_own_colours(path, container_kind(container), stream.id, stream.index):
        raise VideoError(
            f"{path} is in a profile of Dolby Vision whose colours only its players show: convert "
            "it to HDR10 or SDR first (for instance with FFmpeg's filter libplacebo)."
        )
    return container, stream


def _open(path: Path, options: dict[str, str]) -> InputContainer:
    try:
        return open_media(path, options, READ_TIMEOUT_S)
    except DECODE_ERRORS as error:
        if is_transient(error):
            raise VideoError(f"{path} cannot be read ({reason(error)}).") from error
        unknown = f"is not a video that can be read, or it is truncated ({reason(error)})"
        raise VideoError(f"{path} {what_it_is(path) or unknown}.") from error


def _video_stream(container: InputContainer, path: Path) -> VideoStream:
    """Return the first stream that is marked as default, or else the first; no cover pictures."""
    streams = []
    defaults = []
    for stream in container.streams.video:
        if not stream.disposition & Disposition.attached_pic:
            streams.append(stream)
            if stream.disposition & Disposition.default:
                defaults.append(stream)
    if not streams:
        if container.streams.audio:
            content = "only sound"
        elif container.streams.subtitles:
            content = "only subtitles"
        else:
            content = "no video"
        cover = " and a cover picture" if container.streams.video else ""
        unknown = f"holds {content}{cover}: name a file with video in it"
        raise VideoError(f"{path} {what_it_is(path) or unknown}.")
    stream = (defaults or streams)[0]
    if stream.codec_context is None:
        raise VideoError(f"{path} uses a codec that this build of FFmpeg cannot decode.")
    if container_kind(container) == "mov" and what_it_is(path) == STILL:
        raise VideoError(f"{path} {STILL}.")
    return stream


def packets_of(container: InputContainer, *streams: Stream) -> Iterator[Packet[Any]]:
    """Yield the packets of some streams, or of all if none is named.

    Bytes that hold no packet are passed over, as players do.
    """
    while True:
        try:
            yield from container.demux(*streams)
            return
        except BlockingIOError:  # FFmpeg stops within a run of zeros, and can go on
            continue


def discard_others(container: InputContainer, *kept: Stream) -> None:
    """Let the demuxer skip all streams except those kept."""
    for stream in container.streams:
        if stream not in kept:
            stream.discard = Discard.all


def codec_of(stream: VideoStream) -> Codec:
    """Return the settings that a decoder of a stream needs."""
    context = stream.codec_context
    known: dict[str, Any] = {}
    for name in CODEC_SETTINGS:
        # PyAV 18.0 has no field_order, and a codec tag may not be valid text.
        with suppress(AttributeError, ValueError):
            known[name] = getattr(context, name)
    name = context.codec.name
    is_transparent = name == "vp9" and tags_of(stream).get("alpha_mode") == "1"
    if is_transparent and "libvpx-vp9" in codecs_available:
        # FFmpeg's own decoder of VP9 ignores transparency, and shows what lies beneath.
        name = "libvpx-vp9"
    settings = {key: value for key, value in known.items() if isinstance(value, int | str)}
    data = {"extradata": context.extradata} if context.extradata else {}
    return Codec(name, settings, data)


def container_kind(container: InputContainer) -> str:
    """Return the family of a container's format: "mov", "matroska", "avi", "mpegts", …"""
    names = container.format.name.split(",")
    if "mov" in names:
        return "mov"
    return names[0]


def tick_length(stream: VideoStream) -> Fraction:
    """Return the length in seconds of one tick of a stream's clock."""
    return as_fraction(stream.time_base or Fraction(1, 1000))


def frame_length(stream: VideoStream, *, is_raw: bool = False) -> Fraction:
    """Return the mean duration in seconds of one frame.

    For a raw stream, one without a container (`is_raw`), FFmpeg's average rate is always 25 frames
    per second, so its guessed rate is preferred.
    """
    rate = (stream.guessed_rate if is_raw else None) or stream.average_rate or stream.guessed_rate
    if rate:
        return 1 / as_fraction(rate)
    return Fraction(1, 25)


def aspect_of(source: Any) -> Fraction | None:
    """Return the width over the height of the pixels of a stream or a decoder; None if unknown."""
    ratio = source.sample_aspect_ratio
    if ratio and ratio.denominator:
        return as_fraction(ratio)
    return None


def as_fraction(ratio: Any) -> Fraction:
    """Return a ratio as a fraction, since PyAV 19 has a type of its own for ratios."""
    return Fraction(ratio.numerator, ratio.denominator)
