"""`Codec`: the settings that a decoder needs at its start. Makes decoders and packets for it."""

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
"""Bytes at the start of a packet in which these patterns are searched."""


class Codec(NamedTuple):
    """The settings that a decoder needs before the first packet."""

    name: str
    """FFmpeg's name of the decoder."""
    settings: dict[str, int | str]
    """The attributes of a codec context named in `CODEC_SETTINGS`, as far as they are known."""
    data: dict[str, bytes]
    """The "extradata" of a stream, the "palette" of a packet, the "parameters" in a keyframe. A
    decoder cannot continue with other data."""

    @property
    def coded_size(self) -> Size:
        """(width, height) of the encoded frames in pixels."""
        return int(self.settings["width"]), int(self.settings["height"])


CODEC_SETTINGS = (
    *("width", "height", "pix_fmt", "codec_tag", "bits_per_coded_sample", "field_order"),
    *("color_range", "colorspace", "color_primaries", "color_trc"),
)


def same_decoder(codec: Codec, other: Codec) -> bool:
    """Return whether one decoder can go on from packets of one codec to those of another.

    A new palette needs no new decoder: it comes with the packets.
    """
    return codec._replace(data=codec.data | {"palette": b""}) == other._replace(
        data=other.data | {"palette": b""}
    )


def new_context(codec: Codec, threads: int, *, is_strict: bool = False) -> VideoCodecContext:
    """Return a decoder with `threads` threads; with 0, FFmpeg chooses their number.

    Args:
        codec: What it decodes.
        threads: The number of threads.
        is_strict: Whether a decoder with several threads stops at the slightest fault.
    """
    preferred = PREFERRED_DECODERS.get(codec.name, "")
    context = VideoCodecContext.create(
        preferred if preferred in codecs_available else codec.name, "r"
    )
    assert isinstance(context, VideoCodecContext)
    context.extradata = codec.data.get("extradata")
    for name, value in codec.settings.items():
        if name in CODEC_SETTINGS:
            setattr(context, name, value)
    context.thread_type = "AUTO"
    context.thread_count = threads
    context.options = {"max_pixels": str(LARGEST_FRAME_PX)}
    if threads != 1 and is_strict:
        # A decoder with several threads may return a frame before it marks it as damaged. So it
        # stops at the slightest fault; then each frame is decoded again by a single thread.
        context.options |= {"err_detect": "explode"}
    elif codec.name == "mpeg4":
        # FFmpeg guesses from the frames before whether an MPEG-4 frame may end with a few idle
        # bits. The result must not depend on them, so a single thread always accepts idle bits.
        context.options |= {"bug": "no_padding"}
    return context


def packet_of(data: bytes, codec: Codec) -> VideoPacket:
    """Return a packet that holds some bytes and the palette of its codec."""
    # Not Packet(data): a decoder's thread needs Python's lock to free it, and the thread that
    # closes the decoder holds this lock while it waits.
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
