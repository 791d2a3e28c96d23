"""`PacketSource`: the packets of one video stream, from its file or by the index made of it.

A source gives the facts of the stream and its packets from a keyframe on. It decodes nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np

from atlaskit.errors import VideoError
from atlaskit.video.readers.codecs import Codec, VideoPacket
from atlaskit.video.readers.orientation import Orientation
from atlaskit.video.readers.sizes import CHUNK, PacketSizes


class StreamPacket(NamedTuple):
    """A packet, and what its source knows of it."""

    packet: VideoPacket
    codec: Codec
    """What its decoder needs to know: another codec needs another decoder."""
    is_shown: bool = True
    """Whether its frame is shown, and not only a reference for others."""
    is_damaged: bool = False
    """Whether it is known to be damaged or out of place."""


class PacketSource(ABC):
    """An open source. Not safe to use from several threads at once: its owner holds a lock.

    Times are in ticks of the stream's clock.

    Attributes:
        path: The video file.
        kind: Family of the file's format: "mov", "matroska", "avi", "mpegts", …
        codec: What a decoder needs to know.
        size: (width, height) in pixels as the video is shown.
        orientation: How frames are turned and mirrored to be upright.
        fps: Frames per second, on average.
        tick: Length of a tick in seconds.
        frame_ticks: Duration of a frame that does not give its own, in ticks.
        start: The container's time at which its earliest stream starts, in seconds.
        origin: Presentation time of the first frame, in ticks.
        last_end: When the last frame's own duration ends, in ticks.
        end: When the longest stream ends, in seconds after the first frame.
        readable_end: When the readable part ends; less than `end` in a truncated file.
        is_open: Whether packets can be read.
        joints: Where the container's clock breaks: byte of the file from which on so many seconds
            are added to its times.
    """

    path: Path
    kind: str
    codec: Codec
    size: tuple[int, int]
    orientation: Orientation
    fps: float
    tick: Fraction
    frame_ticks: int
    start: Fraction
    origin: int
    last_end: int
    end: Fraction
    readable_end: Fraction
    is_open: bool = False
    joints: Sequence[tuple[int, float]] = ()

    @abstractmethod
    def open(self) -> None:
        """Open the source again; raise VideoError if the file has changed."""

    @abstractmethod
    def close(self) -> None:
        """Close the source; `open` opens it again."""

    @abstractmethod
    def packets_from(self, ticks: int, is_earlier: bool = False) -> Iterator[StreamPacket]:
        """Yield all packets from a keyframe on that is shown at or before `ticks`.

        Args:
            ticks: A time.
            is_earlier: Begin one keyframe before the one that should suffice.

        Raises:
            Exception: One of DECODE_ERRORS if the file cannot be read any further.
        """

    @abstractmethod
    def following(self) -> Iterator[StreamPacket]:
        """Yield the packets after the last one that `packets_from` yielded."""

    @abstractmethod
    def sizes(self) -> Iterator[PacketSizes]:
        """Yield the sizes of all packets, in chunks, with times in ticks.

        Raises:
            Exception: One of DECODE_ERRORS if the file cannot be read any further.
        """

    @abstractmethod
    def gop_of(self, ticks: int) -> int | None:
        """Return a number that is equal for all ticks of one GOP, or None if the GOP is unknown.

        It is a hint for sharing work: which frame is decoded does not depend on it.
        """

    @abstractmethod
    def has_gap(self, pts: int, tick: int) -> bool:
        """Tell whether packets are lost between the frame shown at `pts` and a later tick."""


def sizes_of(packets: Iterable[StreamPacket]) -> Iterator[PacketSizes]:
    """Yield the sizes of packets as they are read."""
    times, sizes, keys = array("d"), array("q"), array("b")

    def chunk() -> PacketSizes:
        return PacketSizes(np.array(times, float), np.array(sizes, np.int64), np.array(keys, bool))

    for found in packets:
        packet = found.packet
        if packet.pts is None or not found.is_shown:
            continue
        times.append(packet.pts)
        sizes.append(packet.size)
        keys.append(packet.is_keyframe)
        if len(times) == CHUNK:
            yield chunk()
            del times[:], sizes[:], keys[:]
    if times:
        yield chunk()


def file_identity(path: Path) -> tuple[int, int, int]:
    """Return what distinguishes a file from another in its place.

    Raises:
        VideoError: The file cannot be read.
    """
    try:
        facts = path.stat()
    except OSError as error:
        raise VideoError(f"{path} cannot be read: {error.strerror}.") from error
    return facts.st_size, facts.st_mtime_ns, facts.st_ino


def check_unchanged(path: Path, identity: tuple[int, int, int]) -> None:
    """Raise VideoError if another file took the place of one that was opened."""
    if file_identity(path) != identity:
        raise VideoError(f"{path} has changed since it was opened: open it again.")
