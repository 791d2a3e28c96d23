"""Draws text into images, letterboxes tiles, and makes the hatched tile of an unreadable frame.
This module knows nothing of videos and grids.
"""

from __future__ import annotations

import math
from functools import lru_cache

from PIL import Image, ImageDraw, ImageFont

from atlaskit.video.readers import LETTERBOX

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont

DEAD = (0, 0, 0)
"""RGB of dead cells, and of nothing else."""
UNREADABLE = (110, 30, 60)
"""RGB of the hatching of a frame that cannot be decoded."""
PLATE = (24, 28, 36)
"""RGB of the ground behind text."""


@lru_cache(maxsize=32)
def font(points: int) -> Font:
    """Return Pillow's built-in font at a size."""
    return ImageFont.load_default(points)


def burn(image: Image.Image, corner: tuple[int, int], text: str, points: int) -> None:
    """Draw white text on a dark plate, legible on any frame.

    Args:
        image: Image to draw into.
        corner: Left and top edge of the plate in pixels.
        text: One line of text.
        points: Font size.
    """
    draw, typeface = ImageDraw.Draw(image), font(points)
    x, y = corner[0] + points // 3, corner[1] + points // 6
    left, _, right, _ = draw.textbbox((x, y), text, font=typeface)
    plate = (left - points // 3, corner[1], right + points // 3, corner[1] + round(points * 1.4))
    draw.rectangle(plate, fill=PLATE)
    draw.text((x, y), text, fill=(255, 255, 255), font=typeface)


def wrap(text: str, typeface: Font, width: int) -> list[str]:
    """Return a text as lines of at most `width` pixels; a longer word gets a line of its own."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if typeface.getlength(longer) <= width or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
    return [line for line in lines if line]


def points_for(size: tuple[int, int], share: int) -> int:
    """Return a font size for a cell: a `share`-th of the side of a square with the cell's area."""
    return math.isqrt(size[0] * size[1]) // share


def letterboxed(tile: Image.Image, size: tuple[int, int]) -> Image.Image:
    """Return a tile centred on a grey ground of (width, height) pixels."""
    ground = Image.new("RGB", size, LETTERBOX)
    ground.paste(tile, ((size[0] - tile.width) // 2, (size[1] - tile.height) // 2))
    return ground


def unreadable_tile(size: tuple[int, int]) -> Image.Image:
    """Return the tile for a frame that cannot be decoded: hatched, with the word "unreadable".

    Args:
        size: (width, height) in pixels.
    """
    (width, height), longer = size, max(size)
    tile = Image.new("RGB", size, LETTERBOX)
    draw = ImageDraw.Draw(tile)
    for offset in range(-height, width, max(8, longer // 12)):
        draw.line([(offset, height), (offset + height, 0)], fill=UNREADABLE, width=max(2, longer // 60))
    burn(tile, (width // 8, height // 2 - width // 16), "unreadable", max(10, width // 8))
    return tile
