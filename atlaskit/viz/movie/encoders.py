"""Stills as the bytes of a film: H.264 in MP4, which every browser plays, or an animated GIF."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

if TYPE_CHECKING:
    from av.container import OutputContainer

MOST_GIF_BYTES = 8_000_000
"""A GIF that takes more is made smaller."""
GIF_SCALES = (1.0, 0.75, 0.5, 0.375, 0.25)
COLOURS, SAMPLED = 255, 6
"""Of a GIF, and the stills that they are chosen by."""
FPS, QUALITY = 5, 24
"""Of the film: a still is as many equal frames as it stands, which cost next to nothing."""

Still = tuple[Image.Image, float]
"""A picture, and the seconds that it stands."""


def mp4(stills: Sequence[Still]) -> bytes:
    """Return stills, all of one even size, as H.264 in an MP4 that plays while it loads."""
    import av

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.mp4"  # FFmpeg opens it again by its name to put what players need first
        with av.open(path, "w", options={"movflags": "+faststart"}) as film:
            _encode(stills, film)
        return path.read_bytes()


def _encode(stills: Sequence[Still], film: OutputContainer) -> None:
    from av import VideoFrame

    stream = film.add_stream("libx264", rate=FPS)
    stream.width, stream.height = stills[0][0].size
    stream.pix_fmt = "yuv420p"
    stream.options = {"crf": str(QUALITY), "preset": "veryfast", "tune": "stillimage"}
    number = 0
    for image, seconds in stills:
        frame = VideoFrame.from_ndarray(np.asarray(image), format="rgb24").reformat(format="yuv420p")
        for _ in range(max(1, round(seconds * FPS))):
            frame.pts, number = number, number + 1
            film.mux(stream.encode(frame))
    film.mux(stream.encode())


def gif(stills: Sequence[Still]) -> bytes:
    """Return stills as a GIF that plays again and again, in the largest of GIF_SCALES that is small enough."""
    for scale in GIF_SCALES:
        made = _gif(stills, scale)
        if len(made) <= MOST_GIF_BYTES:
            break
    return made


def _gif(stills: Sequence[Still], scale: float) -> bytes:
    width, height = stills[0][0].size
    size = (round(width * scale), round(height * scale))
    images = [image if scale == 1 else image.resize(size, Image.Resampling.LANCZOS) for image, _ in stills]
    # One palette for all, and no dithering: what stays the same between two stills then takes no bytes.
    palette = _palette([images[len(images) * number // SAMPLED] for number in range(SAMPLED)] + [images[-1]])
    first, *others = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    buffer = io.BytesIO()
    milliseconds = [round(seconds * 100) * 10 for _, seconds in stills]  # a GIF counts in hundredths of a second
    first.save(buffer, "GIF", save_all=True, append_images=others, duration=milliseconds, loop=0, optimize=False)
    return buffer.getvalue()


def _palette(images: Sequence[Image.Image]) -> Image.Image:
    width, height = images[0].size
    sheet = Image.new("RGB", (width, height * len(images)))
    for number, image in enumerate(images):
        sheet.paste(image, (0, number * height))
    return sheet.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
