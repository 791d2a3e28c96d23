"""Text in the images of a movie, cut to a number of lines of a width in pixels.

The typeface is DejaVu Sans where matplotlib, which includes it, is installed: it has Latin, Greek,
Cyrillic, Arabic and Hebrew letters. Otherwise it is Pillow's built-in font, which has only Latin.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from PIL import ImageDraw, ImageFont

from atlaskit.environment.image import Font, font, wrap
from atlaskit.viz.html.markup import plain_text

INK = (24, 28, 36)
DEJAVU = "mpl-data/fonts/ttf/DejaVuSans.ttf"
"""Path of the typeface inside matplotlib."""
MAX_CHARS = 800
LINE_HEIGHT = 1.25
"""Distance of two lines, in font sizes."""


@lru_cache(maxsize=16)
def typeface(points: int) -> Font:
    """Return the typeface of movies at a font size."""
    matplotlib = find_spec("matplotlib")  # finds the package without importing it
    path = Path(matplotlib.origin).parent / DEJAVU if matplotlib and matplotlib.origin else None
    return ImageFont.truetype(str(path), points) if path and path.is_file() else font(points)


def write(
    pen: ImageDraw.ImageDraw,
    corner: tuple[int, int],
    text: str,
    points: int,
    width: int,
    max_lines: int,
    ink: tuple[int, int, int] = INK,
) -> int:
    """Draw a text, cut if it does not fit.

    Args:
        pen: Where to draw.
        corner: Left and top edge of the text in pixels.
        text: The text, of any origin.
        points: Font size.
        width: Width of a line in pixels.
        max_lines: Most lines.
        ink: RGB of the text.

    Returns:
        The top edge of the next line, in pixels.
    """
    lines = fit_lines(text, points, width, max_lines)
    for number, line in enumerate(lines):
        top = corner[1] + round(number * LINE_HEIGHT * points)
        pen.text((corner[0], top), line, fill=ink, font=typeface(points))
    return corner[1] + round(len(lines) * LINE_HEIGHT * points)


def fit_lines(text: str, points: int, width: int, max_lines: int) -> list[str]:
    """Return a text as lines of at most `width` pixels; an ellipsis ends a text that is cut."""
    word_chars = max(6, width // points)  # few characters are wider than the font size
    wrappable = re.sub(rf"(\S{{{word_chars}}})(?=\S)", r"\1 ", plain_text(text, MAX_CHARS))
    lines = wrap(wrappable, typeface(points), width)
    if len(lines) <= max_lines:
        return lines
    last = lines[max_lines - 1]
    while last and typeface(points).getlength(f"{last}…") > width:
        last = last[:-1]
    return [*lines[: max_lines - 1], f"{last}…"]
