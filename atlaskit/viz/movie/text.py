"""Words in a still: any text, in at most so many lines of so many pixels.

The letters are DejaVu Sans, which comes with matplotlib, where that is installed: it has Latin, Greek, Cyrillic, Arabic
and Hebrew. Otherwise they are Pillow's own, which are Latin.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from PIL import ImageDraw, ImageFont

from atlaskit.environment.drawing import Font, font, wrap
from atlaskit.viz.html.markup import plain_text

INK = (24, 28, 36)
DEJAVU = "mpl-data/fonts/ttf/DejaVuSans.ttf"
MOST_LETTERS = 800


@lru_cache(maxsize=16)
def letters(points: int) -> Font:
    """Return the letters of films at a size."""
    found = find_spec("matplotlib")  # where it lies, without loading it
    path = Path(found.origin).parent / DEJAVU if found and found.origin else None
    return ImageFont.truetype(str(path), points) if path and path.is_file() else font(points)


def write(
    pen: ImageDraw.ImageDraw,
    corner: tuple[int, int],
    words: str,
    points: int,
    width: int,
    most_lines: int,
    ink: tuple[int, int, int] = INK,
) -> int:
    """Write a text, cut where it is longer than its lines; return where the next line would begin."""
    lines = fitted(words, points, width, most_lines)
    for number, line in enumerate(lines):
        pen.text((corner[0], corner[1] + round(number * 1.25 * points)), line, fill=ink, font=letters(points))
    return corner[1] + round(len(lines) * 1.25 * points)


def fitted(words: str, points: int, width: int, most_lines: int) -> list[str]:
    """Return a text that is only shown as lines of at most so many pixels, with a sign where something is left out."""
    longest = max(6, width // points)  # of a word, in letters: hardly any is wider than it is high
    pieces = re.sub(rf"(\S{{{longest}}})(?=\S)", r"\1 ", plain_text(words, MOST_LETTERS))
    lines = wrap(pieces, letters(points), width)
    if len(lines) <= most_lines:
        return lines
    last = lines[most_lines - 1]
    while last and letters(points).getlength(f"{last}…") > width:
        last = last[:-1]
    return [*lines[: most_lines - 1], f"{last}…"]
