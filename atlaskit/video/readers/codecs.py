"""`Codec`: the settings of a decoder; `new_context` makes it, `packet_of` makes its packets."""

from __future__ import annotations

import re
from typing import NamedTuple, TypeAlias, cast

from av.codec import codecs_available
from av.packet import Packet, PacketSideData
from av.video.codeccontext import VideoCodecContext
from av.video.stream import VideoStream

from atlaskit.video.readers import Size

VideoPacket: TypeAlias = "Packet[VideoStream]"

LARGEST_FRAME_PX = 1 << 26
"""Larger frames are refused. A frame in 8K has half as many pixels."""
PALETTE = 0
"""FFmpeg's number for a palette among the side data of a packet."""
PREFERRED_DECODERS = {"vp8": "libvpx"}
"""Decoders that are preferred for a codec if PyAV has them. FFmpeg's own VP8 decoder leaves rows
that it cannot decode as they were in memory, without an error, and so may show another frame."""
PARAMETERS = {
    "mpeg2video": re.compile(rb"\0\0\x01(?:\xb3.{4}|\xb5[\x20-\x2f].{7})", re.DOTALL),
    "h264": re.compile(rb"\0\0\x01[\x07\x27\x47\x67][^\0]*(?:\0[^\0]+|\0\0[^\0\x01][^\0]*)*"),
}
"""Patterns for the part of a keyframe that describes the shape of pictures: the sequence header of
MPEG-2 (ISO 13818-2, 6.2.2), and the sequence parameter set of H.264."""
SEARCHED_BYTES = 4096
"""These patterns are searched for in this many bytes at the start of a packet."""


class Codec(NamedTuple):
    """The settings that a decoder needs before the first packet."""

    name: str
    """FFmpeg's name of the decoder."""
    settings: dict[str, int | str]
    """Attributes of a codec context, of those named in `CODEC_SETTINGS`."""
    data: dict[str, bytes]
    """The "extradata" of a stream, the "palette" of a packet, and the "parameters" of a
    keyframe."""

    @property
    def coded_size(self) -> Size:
        """(width, height) of the encoded frames in pixels."""
        return int(self.settings["width"]), int(self.settings["height"])


CODEC_SETTINGS = (
    "width",
    "height",
    "pix_fmt",
    "codec_tag",
    "bits_per_coded_sample",
    "field_order",
    "color_range",
    "colorspace",
    "color_primaries",
    "color_trc",
)
"""The attributes of a codec context that a decoder needs before the first packet."""


def same_decoder(codec: Codec, other: Codec) -> bool:
    """Return whether a decoder for packets of one codec can continue with those of another.

    Only their palettes may differ, since a palette comes with the packets.
    """
    without_palette = codec._replace(data=codec.data | {"palette": b""})
    other_without_palette = other._replace(data=other.data | {"palette": b""})
    return without_palette == other_without_palette


def new_context(codec: Codec, threads: int, *, is_strict: bool = False) -> VideoCodecContext:
    """Return a new decoder.

    Args:
        codec: Its settings.
        threads: The number of threads; with 0, FFmpeg chooses it.
        is_strict: Whether a decoder with several threads stops at the slightest fault.
    """
    decoder_name = PREFERRED_DECODERS.get(codec.name, "")
    if decoder_name not in codecs_available:
        decoder_name = codec.name
    context = VideoCodecContext.create(decoder_name, "r")
    assert isinstance(context, VideoCodecContext)
    context.extradata = codec.data.get("extradata")
    for name, value in codec.settings.items():
        if name in CODEC_SETTINGS:
            setattr(context, name, value)
    context.thread_type = "AUTO"
    context.thread_count = threads
    context.options = {"max_pixels": str(LARGEST_FRAME_PX)}
    if threads != 1 and is_strict:
        # A decoder with several threads may return a frame before it marks it as damaged. So the
        # decoder stops at the slightest fault, and a single thread decodes each frame again.
        context.options |= {"err_detect": "explode"}
    elif codec.name == "mpeg4":
        # FFmpeg guesses from the frames before whether an MPEG-4 frame may end with a few idle
        # bits. The result must not depend on them, so every other decoder accepts idle bits.
        context.options |= {"bug": "no_padding"}
    return context


def packet_of(data: bytes, codec: Codec) -> VideoPacket:
    """Return a packet that holds some bytes and the palette of its codec."""
    # Packet(data) could deadlock: a decoder's thread needs the GIL to free such a packet, and the
    # thread that closes the decoder holds the GIL while it waits.
    packet = cast("VideoPacket", Packet(len(data)))
    packet.update(data)
    palette = codec.data.get("palette")
    if palette:
        side_data = PacketSideData(PALETTE, len(palette))  # type: ignore[call-arg]
        side_data.update(palette)
        packet.set_sidedata(side_data)
    return packet


def parameters_of(packet: VideoPacket, codec: Codec) -> bytes:
    """Return the part of a keyframe that describes the shape of pictures; empty without one."""
    pattern = PARAMETERS.get(codec.name)
    if pattern:
        return b"".join(pattern.findall(bytes(memoryview(packet)[:SEARCHED_BYTES])))
    return b""
