"""Lanes over a video's time, as a small PNG: what lies where, by place and by name, not by colour alone.

White behind black, whatever the page's theme. Its own words are few and none of a stranger's but labels, as pixels.
Knows nothing of runs.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from PIL import Image, ImageDraw, ImageFont

from atlaskit.environment.notation import clock
from atlaskit.environment.question import Span
from atlaskit.errors import InputError, printable

WIDTH_PX = 720
"""As it is shown; it is drawn at twice that."""
_SCALE, _NAMES, _LANE, _EDGE, _POINTS = 2, 92, 20, 12, 11
_STEPS_S = (0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 18_000, 36_000, 86_400)
_WHITE, _INK, _QUIET = (255, 255, 255), (24, 28, 36), (210, 214, 220)


@dataclass(frozen=True)
class Lane:
    """One row: its name, intervals that are filled and that are only outlined, and moments with their labels."""

    name: str
    filled: Sequence[Span] = ()
    outlined: Sequence[Span] = ()
    moments: Sequence[tuple[float, str]] = ()
    colour: str = "black"


def draw(lanes: Sequence[Lane], duration_s: float) -> bytes:
    """Return the lanes as a PNG, over `[0, duration_s)`; raise InputError where that is no time at all."""
    buffer = io.BytesIO()
    paint(lanes, duration_s).quantize(16, dither=Image.Dither.NONE).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def paint(lanes: Sequence[Lane], duration_s: float) -> Image.Image:
    """Return the lanes as an image, twice as large as they are shown; raise InputError as `draw` does."""
    if not 0 < duration_s < float("inf"):
        raise InputError(f"A timeline needs a span of time, got {duration_s} s.")
    size = (WIDTH_PX * _SCALE, (_LANE * (len(lanes) + 1) + 4) * _SCALE)
    sheet = Image.new("RGB", size, _WHITE)
    pen = ImageDraw.Draw(sheet)
    _ticks(pen, duration_s, len(lanes))
    for row, lane in enumerate(lanes):
        _lane(pen, row, lane, duration_s)
    return sheet


def _x(time_s: float, duration_s: float) -> int:
    left, right = _NAMES * _SCALE, (WIDTH_PX - _EDGE) * _SCALE
    return round(left + min(1.0, max(0.0, time_s / duration_s)) * (right - left))


def _ticks(pen: ImageDraw.ImageDraw, duration_s: float, lanes: int) -> None:
    step_s = next((step for step in _STEPS_S if duration_s / step <= 8), duration_s / 4)
    bottom = _LANE * lanes * _SCALE
    for number in range(int(duration_s / step_s) + 1):
        x = _x(number * step_s, duration_s)
        pen.line([(x, 0), (x, bottom)], fill=_QUIET, width=1)
        label = clock(number * step_s).removesuffix(".0")
        half = round(_font().getlength(label) / 2)
        pen.text((min(x - half, WIDTH_PX * _SCALE - 2 * half - 2), bottom + 4), label, fill=_INK, font=_font())


def _lane(pen: ImageDraw.ImageDraw, row: int, lane: Lane, duration_s: float) -> None:
    top, bottom = (row * _LANE + 4) * _SCALE, (row * _LANE + _LANE - 3) * _SCALE
    pen.text((4, top), lane.name, fill=_INK, font=_font())
    pen.line([(_x(0, duration_s), bottom + 4), (_x(duration_s, duration_s), bottom + 4)], fill=_QUIET, width=1)
    for spans, fill in ((lane.outlined, None), (lane.filled, lane.colour)):
        # What falls on the same pixels is drawn once: there may be very many.
        for left, right in sorted({(_x(a, duration_s), _x(b, duration_s)) for a, b in spans}):
            pen.rectangle([(left, top), (max(right, left + 2), bottom)], fill=fill, outline=lane.colour, width=2)
    free, seen = 0, set[int]()
    for time_s, label in sorted(lane.moments):
        x, middle = _x(time_s, duration_s), (top + bottom) // 2
        if x not in seen:
            pen.ellipse([(x - 6, middle - 6), (x + 6, middle + 6)], fill=lane.colour)
            seen.add(x)
        word = printable(label, 4)
        if x + 8 >= free and word:
            pen.text((x + 9, top - 2), word, fill=_INK, font=_font())
            free = x + 16 + round(_font().getlength(word))


@lru_cache(maxsize=1)
def _font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(_POINTS * _SCALE)
