"""The encoders of movies: H.264 in MP4, which every browser plays, and animated GIF."""

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

MAX_GIF_BYTES = 8_000_000
"""A larger GIF is scaled down."""
GIF_SCALES = (1.0, 0.75, 0.5, 0.375, 0.25)
"""Scales that are tried in turn."""
GIF_COLOURS, PALETTE_IMAGES = 255, 6
"""Colours of a GIF, and the number of images that its palette is computed from."""
FPS, CRF = 5, 24
"""Frames per second of an MP4, and its constant rate factor. Repeated frames are almost free."""

TimedImage = tuple[Image.Image, float]
"""An image, and the seconds that it is shown."""


def mp4(images: Sequence[TimedImage]) -> bytes:
    """Return images of one even size as H.264 in an MP4 that can be played while it loads."""
    import av

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.mp4"  # `faststart` makes FFmpeg reopen the file by its name
        with av.open(path, "w", options={"movflags": "+faststart"}) as container:
            _encode(images, container)
        return path.read_bytes()


def _encode(images: Sequence[TimedImage], container: OutputContainer) -> None:
    from av import VideoFrame
    from av.video.reformatter import Colorspace

    stream = container.add_stream("libx264", rate=FPS)
    stream.width, stream.height = images[0][0].size
    stream.pix_fmt = "yuv420p"
    stream.codec_context.colorspace = Colorspace.ITU601  # untagged, players take a large video for BT.709
    stream.options = {"crf": str(CRF), "preset": "veryfast", "tune": "stillimage"}
    number = 0
    for image, seconds in images:
        frame = VideoFrame.from_ndarray(np.asarray(image), format="rgb24").reformat(format="yuv420p")
        for _ in range(max(1, round(seconds * FPS))):
            frame.pts, number = number, number + 1
            container.mux(stream.encode(frame))
    container.mux(stream.encode())


def gif(images: Sequence[TimedImage]) -> bytes:
    """Return images as a GIF that repeats, in the largest of GIF_SCALES that is small enough.

    If none is, the smallest is returned.
    """
    for scale in GIF_SCALES:
        data = _scaled_gif(images, scale)
        if len(data) <= MAX_GIF_BYTES:
            break
    return data


def _scaled_gif(timed: Sequence[TimedImage], scale: float) -> bytes:
    width, height = timed[0][0].size
    size = (round(width * scale), round(height * scale))
    images = [image if scale == 1 else image.resize(size, Image.Resampling.LANCZOS) for image, _ in timed]
    # With one palette and no dithering, parts that two images share take no bytes.
    palette = _palette([images[len(images) * n // PALETTE_IMAGES] for n in range(PALETTE_IMAGES)] + [images[-1]])
    first, *others = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    buffer = io.BytesIO()
    milliseconds = [round(seconds * 100) * 10 for _, seconds in timed]  # a GIF stores hundredths of a second
    first.save(buffer, "GIF", save_all=True, append_images=others, duration=milliseconds, loop=0, optimize=False)
    return buffer.getvalue()


def _palette(images: Sequence[Image.Image]) -> Image.Image:
    """Return an image in palette mode with the colours of several images of one size."""
    width, height = images[0].size
    column = Image.new("RGB", (width, height * len(images)))
    for number, image in enumerate(images):
        column.paste(image, (0, number * height))
    return column.quantize(GIF_COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
