"""The index of a video whose container is not trusted, stored as one file in the cache.

The index says which packet holds which picture, and when the picture is shown. The file begins with
copies of the packets, unless they can be read in place, from the video file. A ZIP archive follows,
with a description in JSON and a table of the packets.

* `IndexWriter` writes an index under a temporary name and renames it when it is complete.
  `read_index` reads an index and validates all of it.
* `MadeSource` reads the packets of a stream by its index.
"""

from __future__ import annotations

import math
import os
import tempfile
import zlib
from collections.abc import Iterator
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Annotated, BinaryIO, Literal, NamedTuple
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from atlaskit.errors import VideoError
from atlaskit.video.readers.codecs import Codec, packet_of
from atlaskit.video.readers.picture import Orientation
from atlaskit.video.readers.sources import PacketSource, Step

DESCRIPTION = "description.json"
TABLE = "table"
PACKET = np.dtype(
    [
        ("pts", "<i8"),
        ("dts", "<i8"),
        ("duration", "<i8"),
        ("offset", "<i8"),
        ("size", "<i4"),
        ("flags", "<i4"),
    ]
)
"""A row of the table. Times are in ticks. The lowest CODEC_SHIFT bits of `flags` are the flags
below; the higher bits are the number of the packet's codec."""
KEYFRAME = 1
HIDDEN = 2
"""The picture is not shown, though others may refer to it."""
DAMAGED = 4
BEHIND_HOLE = 8
"""Bytes of the file are missing before the packet."""
BEFORE_LOST = 16
"""Pictures that are shown after this one were lost where the file was cut."""
CODEC_SHIFT = 8
LARGEST_DESCRIPTION = 16 << 20

Table = NDArray[np.void]
Positive = Annotated[int, Field(ge=1)]


class Description(BaseModel):
    """The facts about a stream in its index, as `PacketSource` has them.

    The tick, the start and both ends are fractions of a second: a numerator and a denominator. But
    both ends are times of the container here, and do not count from the first frame.
    """

    model_config = ConfigDict(
        extra="forbid", strict=True, ser_json_bytes="base64", val_json_bytes="base64"
    )

    format: Literal[6] = 6
    kind: str
    is_in_place: bool
    """Whether the offsets refer to the video file, so that no packet is copied."""
    size: tuple[Positive, Positive]
    orientation: Orientation
    fps: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    tick: tuple[Positive, Positive]
    frame_ticks: Positive
    start: tuple[int, Positive]
    end: tuple[int, Positive]
    readable_end: tuple[int, Positive]
    codecs: Annotated[list[Codec], Field(min_length=1)]
    joints: list[tuple[int, int]]
    """For each further part of the file: its first byte, or -1 if that is unknown, and the
    microseconds added from there."""


class MadeIndex(NamedTuple):
    """An index whose table and description are validated."""

    path: Path
    table: Table
    description: Description


class IndexWriter:
    """Writes an index. The context deletes the file at its end unless `finish` was called.

    Attributes:
        file: The file that is written.
        written: The number of bytes written so far.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        self.file: BinaryIO = os.fdopen(handle, "w+b", buffering=1 << 20)
        self._part = Path(name)
        self.written = 0

    def write(self, packet: bytes | memoryview) -> int:
        """Write the bytes of the next packet and return their offset."""
        offset = self.written
        self.file.write(packet)
        self.written += len(packet)
        return offset

    def finish(self, table: Table, description: Description) -> None:
        """Write the table and the description, and put the file into its place."""
        self.file.seek(0, os.SEEK_END)  # the packets may have been read back
        with ZipFile(self.file, "w") as archive:
            archive.writestr(DESCRIPTION, description.model_dump_json())
            archive.writestr(TABLE, table.tobytes())
        self.file.close()
        self._part.replace(self._path)

    def __enter__(self) -> IndexWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()
        self._part.unlink(missing_ok=True)


def read_index(path: Path) -> MadeIndex | None:
    """Return an index, or None if the file does not exist or is damaged.

    The file may come from someone else's cache, so everything in it is validated.
    """
    try:
        with ZipFile(path) as archive:
            text = archive.getinfo(DESCRIPTION)
            rows = archive.getinfo(TABLE)
            # Entries larger than the file are compressed, and could fill the memory.
            if text.file_size + rows.file_size > path.stat().st_size:
                return None
            if text.file_size > LARGEST_DESCRIPTION:
                return None
            description = Description.model_validate_json(archive.read(text))
            table = np.frombuffer(archive.read(rows), PACKET)
    except (OSError, EOFError, ValueError, KeyError, BadZipFile, RuntimeError, zlib.error):
        return None
    if _is_sound(table, description, text.header_offset):
        return MadeIndex(path, table, description)
    return None


def _is_sound(table: Table, description: Description, packets_end: int) -> bool:
    """Return whether a table has only possible values, and packets before `packets_end`."""
    offset = table["offset"]
    size = table["size"]
    return bool(
        len(table)
        and (offset >= 0).all()
        and (size > 0).all()
        and (description.is_in_place or (offset + size <= packets_end).all())
        and (np.diff(table["dts"]) >= 0).all()
        and ((table["flags"] & HIDDEN) == 0).any()
        and (table["flags"] >> CODEC_SHIFT < len(description.codecs)).all()
        and (table["flags"] >= 0).all()
    )


def indexes_of(folder: Path) -> list[tuple[Path, int]]:
    """Return the files in the folder of indexes, each with its size in bytes."""
    suffixes = (".packets", ".orderly")  # an index, and a mark that a file needs none
    try:
        return [(path, path.stat().st_size) for path in folder.iterdir() if path.suffix in suffixes]
    except OSError:
        return []


def folder_of_indexes(folder: Path) -> Path:
    """Return the folder of the indexes, created if needed, for the user alone.

    Raises:
        VideoError: It cannot be created.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise VideoError(
            f"The folder {folder}, for the indexes of videos that have no reliable one, cannot be "
            f"created ({error.strerror}): name a cache in another directory."
        ) from error
    return folder


class MadeSource(PacketSource):
    """The packets of a stream that has an index. See `PacketSource`."""

    def __init__(self, path: Path, index: MadeIndex) -> None:
        super().__init__(path)
        self._index = index
        known = index.description
        table = index.table
        self.kind = known.kind
        self.size = known.size
        self.fps = known.fps
        self.orientation = known.orientation
        self.tick = Fraction(*known.tick)
        self.frame_ticks = known.frame_ticks
        self.start = Fraction(*known.start)
        self.codec = known.codecs[0]
        keyframes = np.flatnonzero(table["flags"] & KEYFRAME)
        # Without keyframes, decoding begins at the first packet.
        self._keyframes = keyframes if len(keyframes) else np.zeros(1, np.int64)
        self._keyframe_pts = np.maximum.accumulate(table["pts"][self._keyframes])
        self._shown = table[(table["flags"] & HIDDEN) == 0]
        self.origin = int(self._shown["pts"].min())
        self.last_end = int((self._shown["pts"] + self._shown["duration"]).max())
        self.end = Fraction(*known.end) - self.origin * self.tick
        self.readable_end = Fraction(*known.readable_end) - self.origin * self.tick
        self.joints = [(position, us / 1e6) for position, us in known.joints if position >= 0]
        self._next = 0
        self.open()

    def _opened(self) -> BinaryIO:
        path = self.path if self._index.description.is_in_place else self._index.path
        try:
            self._file = path.open("rb")
        except OSError as error:
            fault = f"{self.path} cannot be read"
            if path != self.path:
                fault = f"The index of {self.path} is gone from the cache"
            raise VideoError(f"{fault}: open the video again.") from error
        return self._file

    def gop_of(self, ticks: int) -> int:
        """Return the number of the GOP at a tick."""
        return max(0, int(np.searchsorted(self._keyframe_pts, ticks, side="right")) - 1)

    def packets_from(self, ticks: int, is_earlier: bool = False) -> Iterator[Step]:
        """Yield packets from the last keyframe shown at or before `ticks` on.

        With `is_earlier`, begin with the keyframe before it.
        """
        gop = self.gop_of(ticks)
        if is_earlier:
            gop = max(0, gop - 1)
        self._next = int(self._keyframes[gop])
        yield from self.following()

    def packet_rows(self) -> list[tuple[int, int, bool]]:
        """Return (tick, size in bytes, whether it is a keyframe) of every packet that is shown."""
        ticks = self._shown["pts"].tolist()
        sizes = self._shown["size"].tolist()
        are_keyframes = (self._shown["flags"] & KEYFRAME).astype(bool).tolist()
        return list(zip(ticks, sizes, are_keyframes, strict=True))

    def following(self) -> Iterator[Step]:
        """Yield the packets after the last one that `packets_from` yielded."""
        for index in count(self._next):
            if index >= len(self._index.table):
                return
            self._next = index + 1
            yield self._packet(index)

    def _packet(self, index: int) -> Step:
        pts, dts, duration, offset, size, flags = self._index.table[index].item()
        self._file.seek(offset)
        data = self._file.read(size)
        codec = self._index.description.codecs[flags >> CODEC_SHIFT]
        packet = packet_of(data, codec)
        packet.time_base = self.tick
        packet.duration = duration
        packet.dts = dts
        packet.pts = None if flags & HIDDEN else pts
        packet.is_keyframe = bool(flags & KEYFRAME)
        return Step(packet, codec, not flags & HIDDEN, bool(flags & DAMAGED))

    def lost_from(self, pts: int) -> float:
        """Return the tick from which packets may be lost between a frame and the next shown one."""
        table = self._index.table
        flags = table["flags"]
        is_shown = (flags & HIDDEN) == 0
        after = int(np.flatnonzero((table["pts"] == pts) & is_shown)[-1]) + 1
        # Packets between, whose pictures are not shown, end no frame: a hole may follow them.
        later = np.flatnonzero((table["pts"][after:] > pts) & is_shown[after:])
        until = len(table)
        if len(later):
            until = after + int(later[0]) + 1
        if flags[after - 1] & BEFORE_LOST or (flags[after:until] & (DAMAGED | BEHIND_HOLE)).any():
            return pts
        return math.inf
