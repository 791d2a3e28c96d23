"""Opens a file with PyAV, checks that it is a video that can be decoded, and chooses the stream.

* Faults: `what_it_is` names a file that is no video, by its first bytes, and `is_encrypted` a video
  that nobody can decode without its key. Every read is bounded.
* Containers: `open_container`, and what the tables of an open one tell.
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
KINDS = tuple(
    (re.compile(start, re.DOTALL | re.MULTILINE), told)
    for start, told in (
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
)
"""How a file begins that is no video, and what to do. The last pattern has brands of pictures."""
PICTURES = (
    *(
        (b"\xff\xd8\xff", "a JPEG picture"),
        (b"\x89PNG\r\n\x1a\n", "a PNG picture"),
        (b"BM", "a BMP picture"),
    ),
    *(
        (b"II*\0", "a TIFF or raw picture"),
        (b"MM\0*", "a TIFF or raw picture"),
        (b"8BPS", "a Photoshop picture"),
    ),
)
UNFINISHED = {".part", ".crdownload", ".download", ".aria2", ".!ut", ".!qb", ".tmp", ".partial"}
"""Suffixes of downloads that are not finished."""
TS_PACKETS = (188, 192, 204)
"""Bytes of a packet of a transport stream: usually, with a time code (M2TS), with check bytes."""
SYNC = 0x47
"""The byte with which each of them begins."""
NULL_STREAM = 0x1FFF
FEWEST_PACKETS = 8
"""Packets of a stream that show whether it is scrambled."""
ENCRYPTED = "is encrypted (DRM): no tool shows it without its key; get a copy that is not"


def what_it_is(path: Path) -> str | None:
    """Return what a file is that FFmpeg cannot open as a video, and what to do; None if unknown.

    The answer continues a sentence that begins with the file's name.
    """
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
            start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
            known = next((told for kind, told in KINDS if kind.match(start)), None)
            known = known or _picture(file, head) or _cut_off(file, head, path.stat().st_size)
        if known is None and (is_encrypted_mp4(path) or _is_scrambled(head)):
            known = ENCRYPTED
    except (OSError, struct.error, ValueError):
        return None
    if known is None and path.suffix.lower() in UNFINISHED:
        return "is a download that is not finished: wait for its end"
    return known


def _picture(file: BinaryIO, head: bytes) -> str | None:
    """Return what to do about a picture: that of a phone may have a video behind it."""
    name = next((name for magic, name in PICTURES if head.startswith(magic)), None)
    behind = _video_behind(file) if name else None
    if behind is not None:
        return (
            f"is {name} with a video behind it, from byte {behind} on (a motion photo): "
            "write the bytes from there on to an .mp4 file, and name that"
        )
    if name:
        return f"is {name}: name a video file"
    return None


def _video_behind(file: BinaryIO) -> int | None:
    """Return the byte at which an MP4 begins behind a picture."""
    file.seek(0)
    found = re.search(rb"....ftyp(?:mp4|isom|mp42|iso|avc1|qt)", file.read(64 << 20), re.DOTALL)
    if found:
        return found.start()
    return None


def _cut_off(file: BinaryIO, head: bytes, size: int) -> str | None:
    """Return what an MP4 lacks whose recording or download did not end."""
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
    """Tell whether the pictures of a video are encrypted. It says no where that is not certain.

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
    """Tell whether a transport stream is marked as scrambled (ISO 13818-1, 2.4.3.3)."""
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
        if not head[at] == head[at + size] == SYNC:  # bytes were lost here, or a file was joined
            at += 1
            continue
        number = (head[at + 1] & 0x1F) << 8 | head[at + 2]
        if number != NULL_STREAM and head[at + 3] & 0x10:
            packets[number] += 1
            scrambled[number] += head[at + 3] & 0xC0 != 0
        at += size
    return any(
        count >= FEWEST_PACKETS and scrambled[number] > count / 2
        for number, count in packets.items()
    )


DECODE_ERRORS = (av.FFmpegError, OSError, ValueError, EOFError, MemoryError, IndexError)
"""What PyAV raises for a damaged file, or (IndexError) at the end of one with a late stream."""
READ_TIMEOUT_S = 30.0
"""A file that returns no data for this long is given up."""
OPTIONS = {"fflags": "-genpts", "merge_pmt_versions": "1"}
"""Packets have no times that FFmpeg computes. A transport stream may number its streams anew in the
middle; they stay the same streams."""
NO_TIMESTAMPS = 0x80
"""FFmpeg's flag of formats that hold a stream and nothing else, neither index nor times."""
MAY_JUMP = 0x200
"""FFmpeg's flag of formats whose clock may jump forward; the times of others are absolute."""
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
    if any(
        stream.codec_context and not stream.codec_context.width
        for stream in container.streams.video
    ):
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
        known = what_it_is(path)
        raise VideoError(
            f"{path} "
            f"{known or f'is not a video that can be read, or it is truncated ({reason(error)})'}."
        ) from error


def _video_stream(container: InputContainer, path: Path) -> VideoStream:
    pictures = [
        stream
        for stream in container.streams.video
        if stream.disposition & Disposition.attached_pic
    ]
    streams = [stream for stream in container.streams.video if stream not in pictures]
    if not streams:
        if container.streams.audio:
            content = "only sound"
        elif container.streams.subtitles:
            content = "only subtitles"
        else:
            content = "no video"
        cover = " and a cover picture" if pictures else ""
        known = what_it_is(path)
        raise VideoError(
            f"{path} {known or f'holds {content}{cover}: name a file with video in it'}."
        )
    stream = next(
        (stream for stream in streams if stream.disposition & Disposition.default), streams[0]
    )
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
        with suppress(
            AttributeError, ValueError
        ):  # PyAV 18.0 has no field_order; a tag may be no text
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
    if "mov" in names:
        return "mov"
    return names[0]


def tick_length(stream: VideoStream) -> Fraction:
    """Return the length in seconds of one tick of a stream's clock."""
    return as_fraction(stream.time_base or Fraction(1, 1000))


def frame_length(stream: VideoStream, *, is_raw: bool = False) -> Fraction:
    """Return the mean duration in seconds of one frame.

    FFmpeg gives 25 frames per second as the average of a raw stream, whatever that says.
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
    """Return a ratio of PyAV, which has a type of its own since version 19, as a fraction."""
    return Fraction(ratio.numerator, ratio.denominator)
