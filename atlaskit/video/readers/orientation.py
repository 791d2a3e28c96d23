"""The rotation of an MP4 or MOV file, from its header.

Phones record sideways and note that in the track's header. FFmpeg reports the rotation with each
decoded frame, but the size of a video must be known before any frame is decoded.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

from atlaskit.video.readers.boxes import Box, boxes


def rotation_of(path: Path, track_id: int) -> int:
    """Return by how many degrees counterclockwise a track's frames are rotated to be upright.

    This is 0, 90, 180 or 270. Any other angle, and a header that cannot be read, count as 0.
    """
    try:
        with path.open("rb") as file:
            tracks = [box for box in boxes(file, 0, path.stat().st_size) if box.kind == b"tkhd"]
            headers = dict(_track_header(file, box) for box in tracks)
    except (OSError, struct.error):
        return 0
    a, b, c, d = headers.get(track_id, (1, 0, 0, 1))
    rotations = {(1, 0, 0, 1): 0, (0, -1, 1, 0): 90, (-1, 0, 0, -1): 180, (0, 1, -1, 0): 270}
    return rotations.get((a, b, c, d), 0)


def _track_header(file: BinaryIO, box: Box) -> tuple[int, tuple[int, ...]]:
    """Return a track's id and the signs of its matrix's a, b, c, d (ISO 14496-12, 8.3.2)."""
    file.seek(box.start)
    version = file.read(4)[0:1]
    times = 16 if version == b"\x01" else 8
    file.seek(times, 1)
    (track_id,) = struct.unpack(">I", file.read(4))
    file.seek(4 + (8 if version == b"\x01" else 4) + 16, 1)
    a, b, _, c, d = struct.unpack(">5i", file.read(20))
    one = 1 << 16
    return track_id, tuple(entry // one if abs(entry) in (0, one) else 2 for entry in (a, b, c, d))
