"""`Sprite`: images of objects and captions with soft edges, pasted over the scenery."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from atlaskit.benchmarks.atlasworld.brushes import Polygon, box, regular
from atlaskit.benchmarks.atlasworld.timeline import COLOURS


def _heart() -> Polygon:
    angles = [2 * math.pi * i / 96 for i in range(96)]
    wave = [(13 * math.cos(a) - 5 * math.cos(2 * a) - 2 * math.cos(3 * a) - math.cos(4 * a)) for a in angles]
    return [(math.sin(a) ** 3 * 0.5, -(w + 2.4) / 33) for a, w in zip(angles, wave, strict=True)]


def _star() -> Polygon:
    spokes = [(0.55 if i % 2 == 0 else 0.25, math.pi * (i / 5 - 0.5)) for i in range(10)]
    return [(radius * math.cos(angle), 0.03 + radius * math.sin(angle)) for radius, angle in spokes]


OUTLINES: dict[str, Polygon] = {
    "circle": regular(96, 0, 0, 0.48),
    "square": box(-0.42, -0.42, 0.84, 0.84),
    "triangle": [(0, -0.47), (0.52, 0.41), (-0.52, 0.41)],
    "star": _star(),
    "heart": _heart(),
    "diamond": [(0, -0.55), (0.4, 0), (0, 0.55), (-0.4, 0)],
}
"""Outline of each shape: centred on (0, 0), with a diameter of about 1."""


@dataclass(frozen=True)
class Sprite:
    """An image with soft edges.

    Attributes:
        colour: The image, RGB.
        mask: Its opacity, of the same size ("L", 0 to 255).
    """

    colour: Image.Image
    mask: Image.Image


def draw_object(colour: str, shape: str, diameter: float, tilt_deg: float) -> Sprite:
    """Draw an object as a sticker: a lightly shaded fill, a rim and a soft shadow.

    Args:
        colour: Key of COLOURS; a white object gets a dark rim, any other a white one.
        shape: Key of OUTLINES.
        diameter: Diameter of the object in pixels; the sprite is 1.5 times as wide.
        tilt_deg: Rotation in degrees.
    """
    side = math.ceil(diameter * 1.5)
    inner, outer = _object_masks(shape, diameter, side, math.radians(tilt_deg))
    shadow = Image.new("L", outer.size)
    shadow.paste(outer, (round(diameter * 0.02), round(diameter * 0.045)))
    shadow = shadow.filter(ImageFilter.GaussianBlur(diameter * 0.05)).point(lambda level: level * 0.5)
    light = np.linspace(1.1, 0.9, side)[:, None, None]
    shaded = np.clip(np.asarray(COLOURS[colour]) * light, 0, 255).astype(np.uint8)
    body = Image.new("RGB", outer.size, (8, 12, 30))
    body.paste((74, 84, 116) if colour == "white" else (255, 255, 255), (0, 0), outer)
    body.paste(Image.fromarray(np.broadcast_to(shaded, (side, side, 3)).copy()), (0, 0), inner)
    mask = Image.fromarray(np.maximum(np.asarray(outer), np.asarray(shadow)))
    return Sprite(body, mask)


def _object_masks(shape: str, diameter: float, side: int, angle: float) -> tuple[Image.Image, Image.Image]:
    """Return the masks of a rotated shape, without and with its rim; `side` pixels square."""
    fine = 3  # drawn three times as large and reduced, for smooth edges
    scale = diameter * fine
    outline = [
        (
            side * fine / 2 + scale * (x * math.cos(angle) - y * math.sin(angle)),
            side * fine / 2 + scale * (x * math.sin(angle) + y * math.cos(angle)),
        )
        for x, y in OUTLINES[shape]
    ]
    fill = Image.new("L", (side * fine, side * fine))
    ImageDraw.Draw(fill).polygon(outline, fill=255)
    rim = fill.copy()
    ImageDraw.Draw(rim).line([*outline, *outline[:2]], fill=255, width=round(scale * 0.055), joint="curve")
    return fill.reduce(fine), rim.reduce(fine)


def draw_banner(text: str, frame_height: int) -> Sprite:
    """Draw a caption in large white letters on a dark rounded banner."""
    fine, height = 2, frame_height * 2
    font = ImageFont.load_default(height * 0.115)
    stroke = max(1, round(height * 0.003))
    left, top, right, bottom = font.getbbox(text, stroke_width=stroke)
    pad_x, pad_y = height * 0.055, height * 0.04
    width = round((right - left + 2 * pad_x) / fine) * fine
    tall = round((bottom - top + 2 * pad_y) / fine) * fine
    mask = Image.new("L", (width, tall))
    ImageDraw.Draw(mask).rounded_rectangle((0, 0, width - 1, tall - 1), tall * 0.28, fill=218)
    banner = Image.new("RGB", (width, tall), (14, 18, 34))
    corner = pad_x - left, pad_y - top
    for image in (banner, mask):
        white = (255, 255, 255) if image is banner else 255
        ImageDraw.Draw(image).text(corner, text, white, font, stroke_width=stroke, stroke_fill=white)
    return Sprite(banner.reduce(fine), mask.reduce(fine))
