"""`paint_scenery`: paints the far and near background layers of a scene.

This module does not know objects, captions or time; the renderer pans the layers and pastes the
objects.
"""

from __future__ import annotations

from collections.abc import Callable

from PIL import Image

from atlaskit.benchmarks.atlasworld.brushes import RGB, Canvas
from atlaskit.benchmarks.atlasworld.landscapes import (
    paint_canyon,
    paint_city,
    paint_desert,
    paint_forest,
    paint_meadow,
    paint_sea,
    paint_snow,
    paint_space,
)
from atlaskit.benchmarks.atlasworld.lighting import LOOKS, Air, paint_sky
from atlaskit.benchmarks.atlasworld.timeline import Scene

FAR_WIDTH, NEAR_WIDTH = 1.12, 1.45
"""Widths of the two layers, in frame widths. The near layer pans faster, which gives depth."""

LandscapePainter = Callable[[Canvas, Canvas, Air], None]
LANDSCAPES: dict[str, tuple[tuple[RGB, RGB, RGB], LandscapePainter]] = {
    # the place's sky at noon (zenith, middle, horizon), and the painter of its land
    "snow": (((92, 148, 208), (148, 190, 228), (206, 224, 242)), paint_snow),
    "desert": (((64, 158, 206), (150, 206, 214), (252, 232, 190)), paint_desert),
    "sea": (((30, 126, 214), (110, 190, 240), (220, 242, 248)), paint_sea),
    "forest": (((110, 180, 206), (176, 218, 206), (226, 240, 210)), paint_forest),
    "city": (((92, 144, 206), (160, 194, 226), (226, 232, 236)), paint_city),
    "meadow": (((44, 130, 226), (126, 192, 246), (216, 240, 250)), paint_meadow),
    "space": (((14, 44, 92), (22, 92, 140), (70, 178, 196)), paint_space),
    "canyon": (((40, 120, 200), (130, 190, 226), (252, 222, 186)), paint_canyon),
}


def paint_scenery(scene: Scene, size: tuple[int, int], seed: int) -> tuple[Image.Image, Image.Image]:
    """Paint the scenery of a scene.

    Args:
        scene: Its place and light choose what is painted.
        size: Width and height of the frames, in pixels.
        seed: Seed of all that is random in the scenery.

    Returns:
        The far layer (RGB) and the near layer (RGBA), both as high as the frames and wider.
    """
    width, height = size
    far = Canvas(round(width * FAR_WIDTH), height, seed)
    near = Canvas(round(width * NEAR_WIDTH), height, seed ^ 1)
    sky, paint = LANDSCAPES[scene.place]
    paint(far, near, paint_sky(far, LOOKS[scene.light], sky))
    return far.image().convert("RGB"), near.image()
