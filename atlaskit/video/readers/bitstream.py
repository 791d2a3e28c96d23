"""What the bit streams of MPEG codecs tell of the order of their pictures, where a container does
not.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from contextlib import suppress
from itertools import cycle, islice
from typing import cast

from av.bitstream import BitStreamFilterContext
from av.packet import Packet
from av.video.stream import VideoStream

from atlaskit.video.readers.container import DECODE_ERRORS, tick_length
from atlaskit.video.readers.sources import VideoPacket
from atlaskit.video.readers.timeline import NO_TIME

SMALLEST_VOP = 8
"""An MPEG-4 packet of at most so many bytes holds no picture: the one before it stands."""
VOP = re.compile(rb"\x00\x00\x01\xb6(.)", re.DOTALL)
"""Start of an MPEG-4 picture; the highest two bits that follow are its type: I, P, B or S."""
PICTURE = re.compile(rb"\x00\x00\x01\x00.(.)", re.DOTALL)
"""Start of an MPEG-1 or MPEG-2 picture; the middle three bits are its type: 1 is I, 2 P, 3 B."""
PACKED_BY = re.compile(rb"DivX\d+(?:Build|b)\d+p")
"""What DivX and Xvid write into a stream with two pictures in some packets."""
PADDING = bytes(16)
"""Some encoders pad MPEG-4 pictures with zeros, which FFmpeg takes for damage."""
DIRAC_END = 13
"""Bytes of a Dirac packet that holds no picture, such as the end of the sequence."""
REPEATED = 32
"""Packets that are fed once more after the last one: see `counted`."""


def vop_type(data: bytes) -> str:
    """Return the type of the first MPEG-4 picture in a packet: I, P, B or S; P if there is none."""
    found = VOP.search(data)
    return "IPBS"[found[1][0] >> 6] if found else "P"


def picture_type(data: bytes) -> str:
    """Return the type of an MPEG-1 or MPEG-2 picture: I, P or B; P if there is none."""
    found = PICTURE.search(data)
    return "PIPBPPPP"[found[1][0] >> 3 & 7] if found else "P"


def is_hidden_vp8(data: bytes | memoryview) -> bool:
    """Tell whether a VP8 frame is decoded and never shown (RFC 6386, 9.1)."""
    return not data[0] & 0x10


def unpadded(data: bytes) -> bytes:
    """Return an MPEG-4 packet without the zeros behind its picture."""
    return data.rstrip(b"\x00") if data.endswith(PADDING) else data


def unpacked(packets: Iterator[VideoPacket], stream: VideoStream) -> Iterator[VideoPacket]:
    """Yield the packets of an MPEG-4 stream so that each holds one picture."""
    unpack = BitStreamFilterContext("mpeg4_unpack_bframes", stream)
    for packet in packets:
        yield from cast("list[VideoPacket]", unpack.filter(packet))
    yield from cast("list[VideoPacket]", unpack.filter(None))


def scaled(packets: Iterator[VideoPacket], frame_ticks: int) -> Iterator[VideoPacket]:
    """Yield the pictures of a raw Dirac stream, which tells their numbers as their times."""
    for packet in packets:
        if packet.pts is not None and packet.dts is not None and packet.size > DIRAC_END:
            packet.pts, packet.dts = packet.pts * frame_ticks, packet.dts * frame_ticks
            yield packet


def counted(
    packets: Iterator[VideoPacket], stream: VideoStream, frame_ticks: int, dts: array[int]
) -> Iterator[VideoPacket]:
    """Yield the packets of an H.264 or HEVC stream with times that count frames.

    FFmpeg reads from the bit stream how many frames are decoded before a frame is shown. Its filter
    loses count of the last frames of a stream. So the first packets are fed once more at the end,
    as if the video began anew, and what comes of them is dropped. A packet that is too damaged for
    the filter is left out.

    Args:
        packets: The packets, in the order of decoding.
        stream: The stream.
        frame_ticks: Duration of a frame: the times are multiples of it.
        dts: Receives the decoding times that the packets had, NO_TIME for those without.
    """
    reorder = BitStreamFilterContext("dts2pts", stream)
    first: list[bytes] = []
    yielded = 0
    for packet in packets:
        if len(first) < REPEATED:
            first.append(bytes(packet))
        packet.pts, packet.dts, given = None, len(dts) * frame_ticks, packet.dts
        try:
            found = cast("list[VideoPacket]", reorder.filter(packet))
        except DECODE_ERRORS:  # so damaged that its order cannot be read: as if it were not there
            continue
        dts.append(NO_TIME if given is None else given)
        for filtered in found:
            yielded += 1
            yield filtered
    for number, data in enumerate(islice(cycle(first), 8 * REPEATED)):
        repeated = cast("VideoPacket", Packet(data))
        repeated.time_base, repeated.dts = tick_length(stream), (len(dts) + number) * frame_ticks
        with suppress(*DECODE_ERRORS):
            for filtered in islice(cast("list[VideoPacket]", reorder.filter(repeated)), len(dts) - yielded):
                yielded += 1
                yield filtered
        if yielded == len(dts):
            return
