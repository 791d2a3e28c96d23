"""`Codec`: what a decoder needs to know before its first packet; decoders and packets for it."""

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
"""A header with a larger frame size is not trusted; a frame in 8K has half as many pixels."""
PALETTE = 0
"""FFmpeg's number of a palette among the data beside a packet."""
PREFERRED_DECODERS = {"vp8": "libvpx"}
"""Decoders preferred for a codec if PyAV has them. FFmpeg's own VP8 decoder leaves rows that it
cannot decode as they are in memory without an error, and so may show another frame, whole."""
PARAMETERS = {
    "mpeg2video": re.compile(rb"\0\0\x01(?:\xb3.{4}|\xb5[\x20-\x2f].{7})", re.DOTALL),
    "h264": re.compile(rb"\0\0\x01[\x07\x27\x47\x67][^\0]*(?:\0[^\0]+|\0\0[^\0\x01][^\0]*)*"),
}
"""What a keyframe of a stream of start codes tells of the shape of its pictures: size and aspect in
MPEG-2 (ISO 13818-2, 6.2.2), the sequence parameter set of H.264."""
SEARCHED_BYTES = 4096
"""It stands at the start of a packet."""


class Codec(NamedTuple):
    """What a decoder needs to know before the first packet."""

    name: str
    """FFmpeg's name of the decoder."""
    settings: dict[str, int | str]
    """Attributes of a codec context by name, of `CODEC_SETTINGS`, as far as they are known."""
    data: dict[str, bytes]
    """The "extradata" of a stream, the "palette" of a packet, the "parameters" in a stream: with
    others, a decoder begins anew."""

    @property
    def coded_size(self) -> Size:
        """(width, height) of the encoded frames in pixels."""
        return int(self.settings["width"]), int(self.settings["height"])


CODEC_SETTINGS = (
    *("width", "height", "pix_fmt", "codec_tag", "bits_per_coded_sample", "field_order"),
    *("color_range", "colorspace", "color_primaries", "color_trc"),
)


def same_decoder(codec: Codec, other: Codec) -> bool:
    """Tell whether one decoder can go on from packets of one codec to those of another.

    A palette comes with packets, and pictures before it may still be needed.
    """
    mine, others = ({**each.data, "palette": b""} for each in (codec, other))
    return (codec.name, codec.settings, mine) == (other.name, other.settings, others)


def new_context(codec: Codec, threads: int, *, is_strict: bool = False) -> VideoCodecContext:
    """Return a decoder with `threads` threads; with 0, FFmpeg chooses their number.

    Args:
        codec: What it decodes.
        threads: The number of threads.
        is_strict: Whether it stops at the slightest fault if it has several threads.
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
    # A decoder with several threads may return a frame before it marks it as damaged. So it stops
    # at the slightest fault; then each frame is decoded by a single thread, whose verdict is
    # reliable. FFmpeg guesses from the frames before whether an MPEG-4 frame may end with a few
    # idle bits; a verdict must not depend on them, so the single thread always lets them pass.
    idle = {"bug": "no_padding"} if codec.name == "mpeg4" else {}
    strict = {"err_detect": "explode"} if threads != 1 and is_strict else idle
    context.options = {"max_pixels": str(LARGEST_FRAME_PX)} | strict
    return context


def packet_of(data: bytes, codec: Codec) -> VideoPacket:
    """Return a packet with some bytes, and with the palette of its codec."""
    # Not Packet(data): a decoder's thread frees that only with Python's lock, which the thread
    # that closes the decoder holds while it waits for the other.
    packet = cast("VideoPacket", Packet(len(data)))
    packet.update(data)
    if palette := codec.data.get("palette"):
        side_data = PacketSideData(PALETTE, len(palette))  # type: ignore[call-arg]
        side_data.update(palette)
        packet.set_sidedata(side_data)
    return packet


def parameters_of(packet: VideoPacket, codec: Codec) -> bytes:
    """Return what the packet of a keyframe tells of the shape of pictures; empty if nothing."""
    pattern = PARAMETERS.get(codec.name)
    if pattern:
        return b"".join(pattern.findall(bytes(memoryview(packet)[:SEARCHED_BYTES])))
    return b""
