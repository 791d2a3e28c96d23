"""`labelled_frames`: draws frames at the size of a cell, with labels for the vision part."""

from __future__ import annotations

import io
import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from atlaskit.environment.tiles import TILE_QUALITY
from atlasworld.generator import write_script
from atlasworld.renderer import SceneRenderer
from atlasworld.timeline import Scene, WorldEvent
from nano.teacher.labels import CELL_PX, CellContent, content_at

TILE_SIZE = (128, 72)
"""Width and height in pixels of a frame inside its cell."""


@dataclass(frozen=True)
class LabelledFrame:
    """A frame and what it shows.

    Attributes:
        frame: Pixels of the frame at `TILE_SIZE`, (72, 128, 3).
        content: What the frame shows.
        object_box: Centre (x, y) and diameter of the object, in pixels of the cell; zeros if there
            is no object.
    """

    frame: NDArray[np.uint8]
    content: CellContent
    object_box: tuple[float, float, float]


def labelled_frames(
    seed: int, size: tuple[int, int], duration_s: float = 600.0
) -> Iterator[LabelledFrame]:
    """Yield frames of one world: four per event and three per scene, in order of time.

    Args:
        seed: Seed of the world and of the times.
        size: Width and height of the world's video in pixels.
        duration_s: Length of the world in seconds.
    """
    script = write_script(seed, duration_s, size=size)
    rng = random.Random(seed)
    renderer = SceneRenderer(script)
    scale = TILE_SIZE[0] / size[0]
    top_px = (CELL_PX - TILE_SIZE[1]) / 2
    spans: list[WorldEvent | Scene] = [event for event in script.events for _ in range(4)]
    spans += [scene for scene in script.scenes for _ in range(3)]
    times_s = [rng.uniform(span.start_s, span.end_s - 1e-3) for span in spans]
    for time_s in sorted(times_s):  # in order of time, the renderer draws each background once
        event = script.event_at(time_s)
        box = (0.0, 0.0, 0.0)
        if event is not None:
            pose = renderer.pose(event, script.frame_at(time_s))
            box = (pose.x * scale, pose.y * scale + top_px, pose.diameter * scale)
        yield LabelledFrame(to_tile(renderer.at(time_s)), content_at(script, time_s), box)


def to_tile(frame: Image.Image) -> NDArray[np.uint8]:
    """Return a frame as it appears in a cell: scaled to `TILE_SIZE` and compressed as JPEG."""
    buffer = io.BytesIO()
    frame.resize(TILE_SIZE, reducing_gap=2.0).save(
        buffer, "JPEG", quality=TILE_QUALITY, subsampling=0
    )
    return np.asarray(Image.open(buffer))
