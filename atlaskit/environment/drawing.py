"""Draws text into images, letterboxes tiles, and makes the hatched tile of an unreadable frame.
This module knows nothing of videos and grids.
"""

from __future__ import annotations

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


def letterboxed(tile: Image.Image, cell: int) -> Image.Image:
    """Return a tile centred on a grey square of `cell` pixels."""
    square = Image.new("RGB", (cell, cell), LETTERBOX)
    square.paste(tile, ((cell - tile.width) // 2, (cell - tile.height) // 2))
    return square


def unreadable_tile(cell: int) -> Image.Image:
    """Return the tile for a frame that cannot be decoded: hatched, with the word "unreadable"."""
    tile = Image.new("RGB", (cell, cell), LETTERBOX)
    draw = ImageDraw.Draw(tile)
    for offset in range(-cell, cell, max(8, cell // 12)):
        draw.line([(offset, cell), (offset + cell, 0)], fill=UNREADABLE, width=max(2, cell // 60))
    burn(tile, (cell // 8, cell // 2 - cell // 16), "unreadable", max(10, cell // 8))
    return tile
