"""Names what a file is that is no video, or is a video that nobody can decode without its key.

The first bytes tell most of it. Nothing here decodes, and every read is bounded.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from pathlib import Path
from typing import BinaryIO

from atlaskit.video.readers.boxes import boxes

HEAD_BYTES = 1 << 20
TABLE_BYTES = 1 << 16
PICTURES = (
    *((b"\xff\xd8\xff", "a JPEG picture"), (b"\x89PNG\r\n\x1a\n", "a PNG picture"), (b"BM", "a BMP picture")),
    *((b"II*\0", "a TIFF or raw picture"), (b"MM\0*", "a TIFF or raw picture"), (b"8BPS", "a Photoshop picture")),
)
ARCHIVES = (b"PK\x03\x04", b"Rar!\x1a", b"7z\xbc\xaf\x27\x1c", b"\x1f\x8b", b"BZh", b"\xfd7zXZ")
STILL_BRANDS = {b"heic", b"heix", b"mif1", b"avif", b"heim", b"heis", b"crx "}
"""Brands of MP4-like files that hold pictures (HEIF, AVIF, CR3)."""
STILL = "is a picture (HEIF, AVIF or raw): name a video file"
UNFINISHED = {".part", ".crdownload", ".download", ".aria2", ".!ut", ".!qb", ".tmp", ".partial"}
"""Suffixes of downloads that are not finished."""
SRT = re.compile(rb"\s*\d+\s*\r?\n\s*\d+:\d+:\d+[,.]\d+\s*-->")
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
            head, size = file.read(HEAD_BYTES), path.stat().st_size
            return _by_content(file, head, size) or _by_name(path)
    except (OSError, struct.error, ValueError):
        return None


def _by_content(file: BinaryIO, head: bytes, size: int) -> str | None:
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:400]
    lower = start.lower()
    if not head.strip(b"\0"):
        return "begins with nothing but zeros, as a download does that was not finished: download it again"
    if lower.startswith((b"<!doctype html", b"<html", b"<head")):
        return "is a web page, perhaps the message of a failed download: download the video itself"
    if start.startswith(b"version https://git-lfs"):
        return "is a pointer of Git LFS: fetch the content that it stands for"
    if start.startswith((b"#EXTM3U", b"[playlist]", b"ffconcat")) or b"<MPD" in start or b"xspf" in lower:
        return "is a list of other files: name a video file"
    if start.startswith(b"%PDF"):
        return "is a PDF document: name a video file"
    if start.startswith(ARCHIVES):
        return "is an archive: unpack it, and name the video in it"
    if start.startswith((b"d8:announce", b"d10:created", b"d7:comment", b"d13:announce")):
        return "is a torrent: download what it describes, and name the video"
    if start.startswith((b"WEBVTT", b"[Script Info]")) or SRT.match(start):
        return "holds subtitles: name the video, and give this file as `subtitles`"
    return _picture(file, head) or _cut_off(file, head, size)


def _picture(file: BinaryIO, head: bytes) -> str | None:
    """Return what to do about a picture: that of a phone may have a video behind it."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "is a WebP picture, still or moving, which FFmpeg cannot decode as a video: convert it"
    if head[4:8] == b"ftyp" and head[8:12] in STILL_BRANDS:
        return STILL
    for magic, name in PICTURES:
        if head.startswith(magic):
            behind = _video_behind(file)
            if behind is not None:
                return (
                    f"is {name} with a video behind it, from byte {behind} on (a motion photo): "
                    "write the bytes from there on to an .mp4 file, and name that"
                )
            return f"is {name}: name a video file"
    return None


def _video_behind(file: BinaryIO) -> int | None:
    """Return the byte at which an MP4 begins behind a picture."""
    file.seek(0)
    found = re.search(rb"....ftyp(?:mp4|isom|mp42|iso|avc1|qt)", file.read(64 << 20), re.DOTALL)
    return found.start() if found else None


def _cut_off(file: BinaryIO, head: bytes, size: int) -> str | None:
    """Return what an MP4 lacks whose recording or download did not end."""
    if head[4:8] not in (b"ftyp", b"mdat", b"wide", b"free", b"skip", b"moov"):
        return None
    kinds = [box.kind for box in boxes(file, 0, size)]
    if b"moov" not in kinds and b"moof" not in kinds:
        return (
            "has no index (moov box), because its recording or download did not end: copy or download it again; a "
            "camera's file can be rebuilt with a tool such as untrunc and a whole file of the same camera"
        )
    return None


def _by_name(path: Path) -> str | None:
    if path.suffix.lower() in UNFINISHED:
        return "is a download that is not finished: wait for its end"
    return None


def is_encrypted(path: Path, kind: str) -> bool:
    """Tell whether the pictures of a video are encrypted. It says no where that is not certain.

    Args:
        path: The file.
        kind: The family of its format, as `container_kind` gives it.
    """
    try:
        with path.open("rb") as file:
            return _is_encrypted_mp4(file) if kind == "mov" else kind == "mpegts" and _is_scrambled_ts(file)
    except (OSError, struct.error):
        return False


def _is_encrypted_mp4(file: BinaryIO) -> bool:
    """Look for encrypted samples (`encv`, ISO 23001-7; `drmi` of iTunes) among the descriptions."""
    for box in list(boxes(file, 0, file.seek(0, 2))):
        if box.kind == b"stsd":
            file.seek(box.start)
            entry = file.read(min(box.end - box.start, TABLE_BYTES))[8:]
            if entry[4:8] in (b"encv", b"drmi") and b"sinf" in entry:
                return True
    return False


def _is_scrambled_ts(file: BinaryIO) -> bool:
    """Tell whether a stream is marked as scrambled (ISO 13818-1, 2.4.3.3)."""
    head = file.read(HEAD_BYTES)
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
