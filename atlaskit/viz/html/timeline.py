"""Draws lanes over the time of a video (evidence, dead zones, visits) as a small PNG.

Lanes differ in position and name, not in colour alone. The image is black on white, whatever the
theme of the page; its text is pixels.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from PIL import Image, ImageDraw, ImageFont

from atlaskit.environment.grid import clock
from atlaskit.environment.question import Span
from atlaskit.errors import InputError, printable
from atlaskit.viz.palette import INK, TICK_LINE

WIDTH_PX = 720
"""Width at which the image is shown; it is drawn at twice that, for dense screens."""
LEGIBLE_PX = 600
"""Least width at which its text, 11 pixels at full width, can be read."""
MAX_TICKS = 8
_SCALE, _NAME_PX, _LANE_PX, _MARGIN_PX, _FONT_PX = 2, 92, 20, 12, 11
_TICK_STEPS_S = (0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 18_000, 36_000, 86_400)


@dataclass(frozen=True)
class Lane:
    """One row of a timeline."""

    name: str
    filled: Sequence[Span] = ()
    """Intervals in seconds that are drawn filled."""
    outlined: Sequence[Span] = ()
    """Intervals in seconds that are drawn as outlines."""
    moments: Sequence[tuple[float, str]] = ()
    """Dots, each at a time in seconds and with a label."""
    colour: str = "black"


def draw_png(lanes: Sequence[Lane], duration_s: float) -> bytes:
    """Return the lanes over [0, duration_s) as a PNG, 2 · WIDTH_PX wide.

    Raises:
        InputError: The duration is not positive and finite.
    """
    if not 0 < duration_s < float("inf"):
        raise InputError(f"A timeline needs a positive, finite duration; got {duration_s} s.")
    size = (WIDTH_PX * _SCALE, (_LANE_PX * (len(lanes) + 1) + 4) * _SCALE)
    picture = Image.new("RGB", size, "white")
    pen = ImageDraw.Draw(picture)
    _draw_ticks(pen, duration_s, len(lanes))
    for row, lane in enumerate(lanes):
        _draw_lane(pen, row, lane, duration_s)
    buffer = io.BytesIO()
    picture.quantize(16, dither=Image.Dither.NONE).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def tick_times(duration_s: float, most: int) -> list[float]:
    """Return the times in seconds, from 0 on, at which an axis over a duration has ticks."""
    step_s = next((step for step in _TICK_STEPS_S if duration_s / step <= most), duration_s / 4)
    return [number * step_s for number in range(int(duration_s / step_s) + 1)]


def _x(time_s: float, duration_s: float) -> int:
    """Return the pixel column of a time; times outside the video are at its ends."""
    left, right = _NAME_PX * _SCALE, (WIDTH_PX - _MARGIN_PX) * _SCALE
    return round(left + min(1.0, max(0.0, time_s / duration_s)) * (right - left))


def _draw_ticks(pen: ImageDraw.ImageDraw, duration_s: float, lanes: int) -> None:
    bottom = _LANE_PX * lanes * _SCALE
    for time_s in tick_times(duration_s, MAX_TICKS):
        x = _x(time_s, duration_s)
        pen.line([(x, 0), (x, bottom)], fill=TICK_LINE, width=1)
        label = clock(time_s).removesuffix(".0")
        half = round(_font().getlength(label) / 2)
        pen.text((min(x - half, WIDTH_PX * _SCALE - 2 * half - 2), bottom + 4), label, fill=INK, font=_font())


def _draw_lane(pen: ImageDraw.ImageDraw, row: int, lane: Lane, duration_s: float) -> None:
    top, bottom = (row * _LANE_PX + 4) * _SCALE, (row * _LANE_PX + _LANE_PX - 3) * _SCALE
    pen.text((4, top), lane.name, fill=INK, font=_font())
    pen.line([(_x(0, duration_s), bottom + 4), (_x(duration_s, duration_s), bottom + 4)], fill=TICK_LINE, width=1)
    for spans, fill in ((lane.outlined, None), (lane.filled, lane.colour)):
        # Intervals on the same pixels are drawn once: a run can have very many.
        for left, right in sorted({(_x(a, duration_s), _x(b, duration_s)) for a, b in spans}):
            pen.rectangle([(left, top), (max(right, left + 2), bottom)], fill=fill, outline=lane.colour, width=2)
    _draw_moments(pen, lane, (top, bottom), duration_s)


def _draw_moments(pen: ImageDraw.ImageDraw, lane: Lane, rows: tuple[int, int], duration_s: float) -> None:
    """Draw a dot for each moment, and its label where there is room beside the one before."""
    top, middle = rows[0], sum(rows) // 2
    free_from, drawn = 0, set[int]()
    for time_s, label in sorted(lane.moments):
        x = _x(time_s, duration_s)
        if x not in drawn:
            pen.ellipse([(x - 6, middle - 6), (x + 6, middle + 6)], fill=lane.colour)
            drawn.add(x)
        text = printable(label, 4)
        if x + 8 >= free_from and text:
            pen.text((x + 9, top - 2), text, fill=INK, font=_font())
            free_from = x + 16 + round(_font().getlength(text))


@lru_cache(maxsize=1)
def _font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(_FONT_PX * _SCALE)
