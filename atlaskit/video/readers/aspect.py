"""The shape of pixels that a bit stream tells, for containers that do not tell it.

Broadcasts change between 4:3 and 16:9 in the middle of a stream, with frames of one size.
"""

from __future__ import annotations

from fractions import Fraction

KINDS = {"mpegts", "mpeg", "mpegvideo", "h264"}
"""Formats whose packets begin with start codes, and which leave the shape of pixels to them."""
SEARCHED_BYTES = 4096
"""The headers stand at the start of a keyframe's packet."""

SEQUENCE, EXTENSION, PARAMETERS = b"\x00\x00\x01\xb3", b"\x00\x00\x01\xb5", b"\x00\x00\x01"
DISPLAY_EXTENSION, PARAMETER_SET = 2, 7
FRAME_ASPECTS = {2: Fraction(4, 3), 3: Fraction(16, 9), 4: Fraction(221, 100)}
"""Width of the picture over its height, by its number in ISO 13818-2, 6.3.3."""
PIXEL_ASPECTS = (
    *((0, 1), (1, 1), (12, 11), (10, 11), (16, 11), (40, 33), (24, 11), (20, 11), (32, 11), (80, 33)),
    *((18, 11), (15, 11), (64, 33), (160, 99), (4, 3), (3, 2), (2, 1)),
)
"""Width of a pixel over its height, by its number in ITU-T H.264, E.2.1."""
OWN_ASPECT = 255
WITH_CHROMA = {100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135}
"""Profiles of H.264 whose parameters tell of chroma and scaling."""
MOST_CYCLE, LONGEST_CODE = 255, 32


def aspect_in(codec: str, packet: memoryview) -> Fraction | None:
    """Return the width of a pixel over its height, from a keyframe's packet; None if untold.

    Args:
        codec: FFmpeg's name of the decoder.
        packet: The bytes of the packet.
    """
    head = bytes(packet[:SEARCHED_BYTES])
    try:
        if codec == "mpeg2video":
            return _of_sequence(head)
        return _of_parameters(head) if codec == "h264" else None
    except (IndexError, ZeroDivisionError):
        return None


class _Bits:
    """Reads bits; raises IndexError after the last one, and for a number that is too long."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, count: int) -> int:
        number = 0
        for at in range(self._at, self._at + count):
            number = number << 1 | self._data[at >> 3] >> (7 - (at & 7)) & 1
        self._at += count
        return number

    def unsigned(self) -> int:
        """Return a number in Exp-Golomb code."""
        zeros = 0
        while not self.take(1):
            zeros += 1
            if zeros > LONGEST_CODE:
                raise IndexError
        return (1 << zeros) - 1 + self.take(zeros)

    def signed(self) -> int:
        number = self.unsigned()
        return (number + 1) // 2 if number % 2 else -(number // 2)


def _of_sequence(head: bytes) -> Fraction | None:
    """Return the aspect from an MPEG-2 sequence header, as FFmpeg understands it."""
    at = head.find(SEQUENCE)
    if at < 0:
        return None
    bits = _Bits(head[at + 4 :])
    width, height, code = bits.take(12), bits.take(12), bits.take(4)
    aspect = FRAME_ASPECTS.get(code)
    if aspect is None:
        return Fraction(1) if code == 1 else None
    display = _display_size(head[at:])
    if display and aspect / Fraction(*display) * Fraction(width, height) in (FRAME_ASPECTS[2], FRAME_ASPECTS[3]):
        width, height = display
    return aspect * height / width


def _display_size(head: bytes) -> tuple[int, int] | None:
    for part in head.split(EXTENSION)[1:]:
        bits = _Bits(part)
        if bits.take(4) == DISPLAY_EXTENSION:
            bits.take(3)
            bits.take(24 * bits.take(1))
            width = bits.take(14)
            bits.take(1)
            height = bits.take(14)
            return (width, height) if width and height else None
    return None


def _of_parameters(head: bytes) -> Fraction | None:
    """Return the aspect from a sequence parameter set of H.264 (7.3.2.1 and E.1.1)."""
    for unit in head.split(PARAMETERS)[1:]:
        if unit and unit[0] & 31 == PARAMETER_SET:
            bits = _Bits(unit[1:].replace(b"\x00\x00\x03", b"\x00\x00"))
            _pass_picture(bits)
            if not (bits.take(1) and bits.take(1)):
                return None
            code = bits.take(8)
            width, height = (bits.take(16), bits.take(16)) if code == OWN_ASPECT else PIXEL_ASPECTS[code]
            return Fraction(width, height) or None
    return None


def _pass_picture(bits: _Bits) -> None:
    """Pass what stands before the VUI."""
    profile = bits.take(8)
    bits.take(16)
    bits.unsigned()
    if profile in WITH_CHROMA:
        has_all_chroma = bits.unsigned() == 3
        bits.take(has_all_chroma)
        bits.unsigned(), bits.unsigned(), bits.take(1)
        if bits.take(1):
            for index in range(12 if has_all_chroma else 8):
                if bits.take(1):
                    _pass_scaling(bits, 16 if index < 6 else 64)
    bits.unsigned()
    order = bits.unsigned()
    if order == 0:
        bits.unsigned()
    elif order == 1:
        bits.take(1), bits.signed(), bits.signed()
        for _ in range(min(bits.unsigned(), MOST_CYCLE)):
            bits.signed()
    bits.unsigned(), bits.take(1), bits.unsigned(), bits.unsigned()
    if not bits.take(1):
        bits.take(1)
    bits.take(1)
    if bits.take(1):
        for _ in range(4):
            bits.unsigned()


def _pass_scaling(bits: _Bits, size: int) -> None:
    last = following = 8
    for _ in range(size):
        if following:
            following = (last + bits.signed()) % 256
        last = following or last
