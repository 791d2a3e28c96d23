"""`png_of`: the shown sheet or one frame as a PNG; `file_name`: a name that any system accepts."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence

from PIL import Image

from atlaskit.environment.atlas import Atlas
from atlaskit.environment.grid import listed, stamp
from atlaskit.environment.image import note_in
from atlaskit.environment.render import View, with_look
from atlaskit.video.video import Video
from atlaskit.viz.widgets.explorer.navigation import Shown

MAX_NAME = 60
"""Characters of the video's name in that of a file."""


def png_of(atlas: Atlas, shown: Shown) -> tuple[bytes, str]:
    """Return what is shown as PNG bytes, and a file name.

    A frame is decoded again, since its cached image is a JPEG: the PNG has the very pixels.

    Raises:
        FrameError: The frame cannot be decoded.
    """
    if isinstance(shown.picture, View):  # a file has no page around it that tells the times
        return with_look(shown.picture, labels="time").png(), file_name(atlas.video, shown.span_s, "png")
    assert shown.time_s is not None
    part, local_s = atlas.video.locate(shown.time_s)
    buffer = io.BytesIO()
    part.frame(local_s).save(buffer, "PNG")
    return buffer.getvalue(), file_name(atlas.video, (shown.time_s,), "png")


def file_name(video: Video, about: str | Sequence[float], suffix: str) -> str:
    """Return a name for a file about a video, with a word or with times in seconds."""
    stem = re.sub(r"[^\w.-]+", "-", video.name.rsplit(".", 1)[0], flags=re.ASCII).strip("-.")[:MAX_NAME]
    words = about if isinstance(about, str) else " to ".join(stamp(time_s).replace(":", "-") for time_s in about)
    return f"{stem or 'video'} {words}.{suffix}"


def unreadable_note(jpeg: bytes) -> str:
    """Return a sentence that names the cells that could not be decoded; empty if all could."""
    cells = note_in(Image.open(io.BytesIO(jpeg))).get("unreadable")
    return f"Cells that cannot be decoded are hatched: {listed(cells)}." if isinstance(cells, list) and cells else ""
