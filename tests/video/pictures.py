"""Files whose pictures lie, fit or are coloured in unusual ways."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.video.reformatter import VideoReformatter

SMALL = (160, 90)
LYING = (96, 64)
COLOURS = (
    (255, 255, 255),
    (128, 128, 128),
    (16, 16, 16),
    (200, 30, 30),
    (30, 160, 30),
    (30, 30, 200),
    (220, 200, 40),
    (60, 190, 200),
)
QUICK = {"crf": "1", "preset": "ultrafast"}


def corners(size: tuple[int, int] = LYING) -> np.ndarray:
    """Return a picture with red, blue, green and yellow quarters, clockwise from the top left."""
    pixels = np.empty((2, 2, 3), np.uint8)
    pixels[0] = (200, 30, 30), (30, 30, 200)
    pixels[1] = (200, 200, 60), (30, 160, 30)
    return pixels.repeat(size[1] // 2, 0).repeat(size[0] // 2, 1)


def bars(size: tuple[int, int]) -> np.ndarray:
    """Return a picture with one bar of each of COLOURS."""
    return np.repeat(np.array(COLOURS, np.uint8)[None, np.arange(size[0]) * len(COLOURS) // size[0]], size[1], axis=0)


def colours_in(pixels: np.ndarray, count: int = len(COLOURS)) -> np.ndarray:
    """Return the colour in the middle of each bar, (count, 3)."""
    height, width = pixels.shape[:2]
    return pixels[height // 2, [int((bar + 0.5) * width / count) for bar in range(count)]].astype(int)


def encode(
    path: Path,
    codec: str,
    pix_fmt: str,
    frames: Sequence[av.VideoFrame],
    gop: int = 12,
    aspect: Fraction | None = None,
    **options: str,
) -> Path:
    """Encode frames at 25 per second as they are: with their colours and tags."""
    first = frames[0]
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=25)
        stream.width, stream.height, stream.pix_fmt, stream.options = first.width, first.height, pix_fmt, options
        context = stream.codec_context
        if aspect:
            context.sample_aspect_ratio = aspect
        context.gop_size, context.colorspace, context.color_range = gop, first.colorspace, first.color_range
        context.color_primaries, context.color_trc = first.color_primaries, first.color_trc
        for index, frame in enumerate(frames):
            frame.pts, frame.time_base = index, Fraction(1, 25)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def coded(
    pixels: np.ndarray,
    pix_fmt: str,
    matrix: int = 5,
    *,
    tag: int | None = None,
    is_full: bool = False,
    primaries: int = 2,
    transfer: int = 2,
) -> av.VideoFrame:
    """Return RGB pixels of 8 or 16 bits in a pixel format, coded with a matrix and tagged.

    The numbers are those of ITU-T H.273. `tag` is another matrix that the tag names.
    """
    source = av.VideoFrame.from_ndarray(pixels, format="rgb48le" if pixels.dtype == np.uint16 else "rgb24")
    height, width = pixels.shape[:2]
    full, limited = 2, 1
    frame = VideoReformatter().reformat(
        *(source, width, height, pix_fmt),
        dst_colorspace=5 if matrix == 6 else matrix,
        src_color_range=full,
        dst_color_range=full if is_full else limited,
    )
    frame.colorspace = matrix if tag is None else tag
    frame.color_range = full if is_full else limited
    frame.color_primaries, frame.color_trc = primaries, transfer
    return frame


def with_matrix(source: Path, path: Path, matrix: Sequence[float], box: bytes = b"tkhd") -> Path:
    """Copy an MP4 with a display matrix (a, b, c, d) of its track (tkhd) or movie (mvhd)."""
    data = bytearray(source.read_bytes())
    at = data.index(box) + (44 if box == b"tkhd" else 40)
    a, b, c, d = (round(entry * 65536) for entry in matrix)
    data[at : at + 36] = struct.pack(">9i", a, b, 0, c, d, 0, 0, 0, 1 << 30)
    path.write_bytes(data)
    return path


Change = Callable[[av.Packet, int], "av.Packet | None"]
"""What becomes of a packet, by its place in the file; None leaves it out."""


def remuxed(source: Path, path: Path, change: Change) -> Path:
    """Copy the packets of a video to another file, each as it is changed."""
    with av.open(str(source)) as container, av.open(str(path), "w") as target:
        stream = target.add_stream_from_template(container.streams.video[0])
        packets = (packet for packet in container.demux(video=0) if packet.size)
        for number, packet in enumerate(packets):
            changed = change(packet, number)
            if changed is not None:
                changed.stream = stream
                target.mux(changed)
    return path


def joined(path: Path, parts: Sequence[Path], part_s: Fraction) -> Path:
    """Join parts of `part_s` seconds into one stream, with the header of the first."""
    with av.open(str(path), "w") as target:
        stream = None
        for number, part in enumerate(parts):
            with av.open(str(part)) as source:
                stream = stream or target.add_stream_from_template(source.streams.video[0])
                for packet in source.demux(video=0):
                    if packet.size:
                        later = round(number * part_s / packet.time_base)
                        packet.pts, packet.dts, packet.stream = packet.pts + later, packet.dts + later, stream
                        target.mux(packet)
    return path


def palette(number: int) -> np.ndarray:
    """Return one of several palettes, (256, 3), RGB."""
    entry = np.arange(256)
    columns = [entry * (2 * number + 1) % 256, 255 - entry, entry * 7 * (number + 1) % 256]
    return np.stack(columns, axis=1).astype(np.uint8)


def numbers(index: int, size: tuple[int, int] = LYING) -> np.ndarray:
    """Return the numbers of colours of a frame, (height, width)."""
    return ((np.arange(size[0])[None, :] + 3 * index + np.arange(size[1])[:, None]) % 256).astype(np.uint8)


def with_box_in_entry(movie: bytes, entry: bytes, box: bytes) -> bytes:
    """Return an MP4, whose index is at its end, with one more box in the entry of its codec."""
    data = bytearray(movie)
    at = data.rindex(b"moov")
    places = []
    for kind in (b"moov", b"trak", b"mdia", b"minf", b"stbl", b"stsd", entry):
        at = data.index(kind, at)
        places.append(at - 4)
    end = places[-1] + struct.unpack_from(">I", data, places[-1])[0]
    data[end:end] = box
    for place in places:
        struct.pack_into(">I", data, place, struct.unpack_from(">I", data, place)[0] + len(box))
    return bytes(data)
