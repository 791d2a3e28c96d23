"""`Palettes`: the palettes of a stream whose frames hold numbers of colours (AVI, MOV, …).

A container gives a palette once, with the first packet that uses it, and the palette stands until
the next. A decoder that begins in the middle of the stream never gets it, and shows black.
"""

from __future__ import annotations

from bisect import bisect_right
from contextlib import suppress
from pathlib import Path
from typing import Literal

from av.packet import PacketSideData

from atlaskit.errors import VideoError
from atlaskit.video.readers.container import DECODE_ERRORS, open_container
from atlaskit.video.readers.sources import Codec, VideoPacket

PALETTE: Literal["palette"] = "palette"
WITHIN_PACKETS = {"gif", "apng", "png", "flic"}
"""Codecs whose packets hold the palette themselves."""
MOST_PALETTES = 1 << 16
"""A stream with more palettes is not trusted: they take a kilobyte each."""


class Palettes:
    """The palettes of a stream and the packets from which they stand; none for most streams."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._palettes: list[PacketSideData] = []

    @classmethod
    def of(cls, path: Path, codec: Codec) -> Palettes:
        """Read the palettes of a file's video, in one pass if it is of a kind that has some.

        What follows damage has the last palette before it.

        Raises:
            VideoError: The video has more than MOST_PALETTES palettes.
        """
        found = cls()
        if codec.settings.get("pix_fmt") == "pal8" and codec.name not in WITHIN_PACKETS:
            container, stream = open_container(path, is_known=True)
            with container, suppress(*DECODE_ERRORS):
                for packet in container.demux(stream):
                    if packet.size and packet.has_sidedata(PALETTE):
                        found._add(packet)
        return found

    def _add(self, packet: VideoPacket) -> None:
        palette, start = packet.get_sidedata(PALETTE), packet.dts if packet.dts is not None else packet.pts
        if start is None or (self._palettes and bytes(palette) == bytes(self._palettes[-1])):
            return
        if len(self._starts) >= MOST_PALETTES:
            raise VideoError(f"The video changes its palette more than {MOST_PALETTES} times: is the file damaged?")
        self._starts.append(start)
        self._palettes.append(palette)

    def complete(self, packet: VideoPacket) -> None:
        """Give a packet the palette that stands there, if decoding may begin with it.

        A packet that comes with one gets it too: after a seek, FFmpeg may give it an old one.
        """
        start = packet.dts if packet.dts is not None else packet.pts
        if not self._starts or start is None or not (packet.is_keyframe or packet.has_sidedata(PALETTE)):
            return
        standing = bisect_right(self._starts, start) - 1
        if standing >= 0:
            packet.set_sidedata(self._palettes[standing])
