"""Stream copies: the packets of one video stream with the right times, as one file in the cache.

A copy begins with the packets' bytes, one after the other. A table of their times, a description in
JSON and a footer with the hash of both follow. The file is written under another name, and renamed
when it is whole.
"""

from __future__ import annotations

import hashlib
import os
import struct
import tempfile
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Annotated, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from atlaskit.errors import VideoError
from atlaskit.video.readers.sources import CODEC_SETTINGS, Codec

FORMAT = b"atlaskit stream copy 1\n"
FOOTER = struct.Struct("<QQ32s")
"""Bytes of the table, bytes of the description, and the SHA-256 of the two."""
PACKET = np.dtype(
    [("pts", "<i8"), ("dts", "<i8"), ("duration", "<i8"), ("offset", "<i8"), ("size", "<i4"), ("flags", "<i4")]
)
"""A row of the table. Times are in ticks; `flags` holds KEYFRAME, …, above them the codec."""
KEYFRAME, HIDDEN, DAMAGED, CODEC_SHIFT = 1, 2, 4, 8
LARGEST_DESCRIPTION = 16 << 20

Table = NDArray[np.void]


class StoredCodec(BaseModel):
    """A `Codec` as JSON."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: Annotated[str, Field(max_length=40)]
    extradata: str | None
    settings: dict[str, int | str]

    @classmethod
    def of(cls, codec: Codec) -> StoredCodec:
        """Return a codec as JSON can hold it."""
        extradata = codec.settings.get("extradata")
        encoded = b64encode(extradata).decode() if isinstance(extradata, bytes) else None
        settings = {name: value for name, value in codec.settings.items() if isinstance(value, int | str)}
        return cls(name=codec.name, extradata=encoded, settings=settings)

    def codec(self) -> Codec:
        """Return the codec."""
        settings: dict[str, object] = {key: value for key, value in self.settings.items() if key in CODEC_SETTINGS}
        return Codec(self.name, settings | ({"extradata": b64decode(self.extradata)} if self.extradata else {}))


class Description(BaseModel):
    """What a copy tells of its stream beside the packets. See `PacketSource` for the units."""

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: str
    size: tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]]
    orientation: tuple[Annotated[int, Field(ge=0, le=3)], bool]
    fps: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    tick: tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]]
    frame_ticks: Annotated[int, Field(ge=1)]
    start: tuple[int, Annotated[int, Field(ge=1)]]
    end: tuple[int, Annotated[int, Field(ge=1)]]
    codecs: Annotated[list[StoredCodec], Field(min_length=1)]
    joints: list[tuple[int, int]]
    """Byte of the file at which each further part begins, and the microseconds added from there."""


class StreamCopy(NamedTuple):
    """A copy whose table and description were checked."""

    path: Path
    table: Table
    description: Description


class CopyWriter:
    """Writes a copy; nothing is left of it unless it is finished."""

    def __init__(self, path: Path) -> None:
        self._path = path
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        self._file: BinaryIO = os.fdopen(handle, "wb", buffering=1 << 20)
        self._part = Path(name)
        self.written = 0

    def write(self, packet: bytes | memoryview) -> int:
        """Write the bytes of the next packet and return their offset."""
        offset = self.written
        self._file.write(packet)
        self.written += len(packet)
        return offset

    def finish(self, table: Table, description: Description) -> None:
        """Write the table and the description, and put the file into its place."""
        rows, text = table.tobytes(), description.model_dump_json().encode()
        digest = hashlib.sha256(rows + text).digest()
        self._file.write(rows + text + FOOTER.pack(len(rows), len(text), digest) + FORMAT)
        self._file.close()
        self._part.replace(self._path)

    def discard(self) -> None:
        """Remove what was written, unless it is finished."""
        self._file.close()
        self._part.unlink(missing_ok=True)


def read_copy(path: Path) -> StreamCopy | None:
    """Return a copy, or None if there is none, or only a damaged one.

    Copies may come from someone else's cache, so everything in them is checked.
    """
    try:
        with path.open("rb") as file:
            end = file.seek(0, os.SEEK_END) - FOOTER.size - len(FORMAT)
            file.seek(max(0, end))
            table_size, text_size, digest = FOOTER.unpack(file.read(FOOTER.size))
            if file.read() != FORMAT or table_size % PACKET.itemsize or text_size > LARGEST_DESCRIPTION:
                return None
            packets_end = end - table_size - text_size
            if packets_end < 0:
                return None
            file.seek(packets_end)
            content = file.read(table_size + text_size)
    except (OSError, struct.error, ValueError):
        return None
    if hashlib.sha256(content).digest() != digest:
        return None
    table = np.frombuffer(content, PACKET, table_size // PACKET.itemsize)
    try:
        description = Description.model_validate_json(content[table_size:])
    except ValidationError:
        return None
    return StreamCopy(path, table, description) if _is_sound(table, description, packets_end) else None


def _is_sound(table: Table, description: Description, packets_end: int) -> bool:
    offset, size = table["offset"], table["size"]
    return bool(
        len(table)
        and (offset >= 0).all()
        and (size > 0).all()
        and (offset + size <= packets_end).all()
        and (np.diff(table["dts"]) >= 0).all()
        and (table["flags"] >> CODEC_SHIFT < len(description.codecs)).all()
        and (table["flags"] >= 0).all()
    )


def copies_of(folder: Path) -> list[tuple[Path, int]]:
    """Return the files of a folder of stream copies with their bytes."""
    try:
        return [(path, path.stat().st_size) for path in folder.iterdir() if path.suffix in (".packets", ".continuous")]
    except OSError:
        return []


def copies_in(folder: Path) -> Path:
    """Return the folder of the copies, created if needed, for the user alone.

    Raises:
        VideoError: It cannot be created.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise VideoError(
            f"{folder} cannot be created, where the video streams of files without an index are copied "
            f"({error.strerror}): name a cache in another directory."
        ) from error
    return folder
