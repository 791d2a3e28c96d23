"""Names what a file is that is no video, or is a video that nobody can decode without its key.

The first bytes tell most of it. Nothing here decodes, and every read is bounded.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from atlaskit.video.readers import boxes

HEAD_BYTES = 1 << 20
STILL = "is a picture (HEIF, AVIF or raw): name a video file"
KINDS = tuple(
    (re.compile(start, re.DOTALL), told)
    for start, told in (
        (rb"\0+\Z", "begins with nothing but zeros, as a download does that was not finished: download it again"),
        (
            rb"(?i:<!doctype html|<html|<head)",
            "is a web page, perhaps the message of a failed download: download the video itself",
        ),
        (rb"version https://git-lfs", "is a pointer of Git LFS: fetch the content that it stands for"),
        (
            rb"#EXTM3U|\[playlist\]|ffconcat|[^\0]{0,400}?(?:<MPD|(?i:xspf))",
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
        (rb"RIFF.{4}WEBP", "is a WebP picture, still or moving, which FFmpeg cannot decode as a video: convert it"),
        (rb".{4}ftyp(?:heic|heix|mif1|avif|heim|heis|crx )", STILL),
    )
)
"""How a file begins that is no video, and what to do. The last pattern has brands of pictures."""
PICTURES = (
    *((b"\xff\xd8\xff", "a JPEG picture"), (b"\x89PNG\r\n\x1a\n", "a PNG picture"), (b"BM", "a BMP picture")),
    *((b"II*\0", "a TIFF or raw picture"), (b"MM\0*", "a TIFF or raw picture"), (b"8BPS", "a Photoshop picture")),
)
UNFINISHED = {".part", ".crdownload", ".download", ".aria2", ".!ut", ".!qb", ".tmp", ".partial"}
"""Suffixes of downloads that are not finished."""
TS_PACKETS = (188, 192, 204)
"""Bytes of a packet of a transport stream: usually, with a time code (M2TS), with check bytes."""
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
    return f"is {name}: name a video file" if name else None


def _video_behind(file: BinaryIO) -> int | None:
    """Return the byte at which an MP4 begins behind a picture."""
    file.seek(0)
    found = re.search(rb"....ftyp(?:mp4|isom|mp42|iso|avc1|qt)", file.read(64 << 20), re.DOTALL)
    return found.start() if found else None


def _cut_off(file: BinaryIO, head: bytes, size: int) -> str | None:
    """Return what an MP4 lacks whose recording or download did not end."""
    if head[4:8] not in (b"ftyp", b"mdat", b"wide", b"free", b"skip", b"moov"):
        return None
    kinds = [box.kind for box in boxes.boxes(file, 0, size)]
    if b"moov" not in kinds and b"moof" not in kinds:
        return (
            "has no index (moov box), because its recording or download did not end: copy or download it again; a "
            "camera's file can be rebuilt with a tool such as untrunc and a whole file of the same camera"
        )
    return None


def is_encrypted(path: Path, kind: str) -> bool:
    """Tell whether the pictures of a video are encrypted. It says no where that is not certain.

    Args:
        path: The file.
        kind: The family of its format, as `container_kind` gives it.
    """
    if kind != "mpegts":
        return kind == "mov" and boxes.is_encrypted(path)
    with suppress(OSError), path.open("rb") as file:
        return _is_scrambled(file.read(HEAD_BYTES))
    return False


def _is_scrambled(head: bytes) -> bool:
    """Tell whether a transport stream is marked as scrambled (ISO 13818-1, 2.4.3.3)."""
    places = ((at, size) for size in TS_PACKETS for at in range(size) if head[at::size][:8].count(b"\x47") == 8)
    at, size = next(places, (0, 0))
    if not size:
        return False
    packets: Counter[int] = Counter()
    scrambled: Counter[int] = Counter()
    for first in range(at, len(head) - 4, size):
        number = (head[first + 1] & 0x1F) << 8 | head[first + 2]
        if number != NULL_STREAM and head[first + 3] & 0x10:
            packets[number] += 1
            scrambled[number] += head[first + 3] & 0xC0 != 0
    return any(count >= FEWEST_PACKETS and scrambled[number] > count / 2 for number, count in packets.items())
