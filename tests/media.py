"""Small media files, made on the spot."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np

SIZE = (320, 180)
BITS = 10


def numbered(index: int) -> av.VideoFrame:
    """A frame with its index in it, as ten bright or dark blocks."""
    pixels = np.full((SIZE[1], SIZE[0], 3), 40, np.uint8)
    for bit in range(BITS):
        if index >> bit & 1:
            pixels[20:100, 20 + bit * 28 : 44 + bit * 28] = 230
    return av.VideoFrame.from_ndarray(pixels, format="rgb24")


def number_in(pixels: np.ndarray) -> int:
    return sum(int(pixels[60, 32 + bit * 28].mean() > 130) << bit for bit in range(BITS))


def make(
    path: Path, codec: str = "libx264", frames: int = 240, fps: int = 25, starts_at: int = 0, **options: str
) -> Path:
    with av.open(str(path), "w", options={"movflags": "+faststart"} if path.suffix == ".mp4" else {}) as container:
        stream = container.add_stream(codec, rate=fps)
        stream.width, stream.height, stream.pix_fmt = *SIZE, "yuv420p"
        stream.codec_context.gop_size = 50
        stream.options = {**({"deadline": "realtime", "cpu-used": "8"} if "vpx" in codec else {}), **options}
        for index in range(frames):
            frame = numbered(index)
            frame.pts, frame.time_base = starts_at + index, Fraction(1, fps)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def song(path: Path) -> Path:
    """A file with sound and no picture."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("aac", rate=44100)
        frame = av.AudioFrame.from_ndarray(np.zeros((2, 1024), np.float32), format="fltp", layout="stereo")
        frame.rate = 44100
        container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path
