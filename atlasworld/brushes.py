"""`Canvas`: paints skylines, polygons, glows, clouds and specks on one layer of a background.

`draw_object` and `draw_banner` draw objects and captions. This module does not know AtlasWorld's
places and lights. All randomness comes from the canvas's seed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain, repeat

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from atlasworld.timeline import COLOURS

Array = NDArray[np.float32]
Point = tuple[float, float]
RGB = tuple[float, float, float]
Polygon = list[Point]


class Canvas:
    """A layer of paint.

    Coordinates, lengths and radii are fractions of the canvas's height; y grows downwards. Colours
    are (red, green, blue), each 0 to 255.

    Attributes:
        height: Height in pixels.
        span: Width as a fraction of the height.
        x: x of each column's centre, of shape (width,).
        y: y of each row's centre, of shape (height, 1).
        paint: Red, green and blue multiplied by cover, and cover (0 to 1), of shape
            (4, height, width).
        random: The random number generator.
    """

    def __init__(self, width: int, height: int, seed: int) -> None:
        self.height = height
        self.span = width / height
        self.x: Array = ((np.arange(width, dtype=np.float32) + 0.5) / height).astype(np.float32)
        self.y: Array = ((np.arange(height, dtype=np.float32) + 0.5) / height).astype(np.float32)[
            :, None
        ]
        self.paint: Array = np.zeros((4, height, width), np.float32)
        # NumPy guarantees the stream of RandomState; that of default_rng may change.
        self.random = np.random.RandomState(seed)

    def fill(self, mask: Array, colour: RGB | Array, top: int = 0, left: int = 0) -> None:
        """Paint a colour where the mask is above 0.

        Args:
            mask: Opacity of each pixel, 0 to 1, of shape (rows, columns).
            colour: One colour, or one per pixel, of shape (3, rows, columns).
            top: Row of the mask's first row.
            left: Column of the mask's first column.
        """
        part = self.paint[:, top : top + mask.shape[0], left : left + mask.shape[1]]
        part *= 1 - mask
        channels = np.asarray(colour, np.float32)
        part[:3] += mask * (channels[:, None, None] if channels.ndim == 1 else channels)
        part[3] += mask

    def gradient(self, *colours: RGB, bottom: float = 1.0) -> None:
        """Fill the canvas with a vertical gradient that ends at y = `bottom`."""
        at = np.linspace(0, bottom, len(colours))
        rows = np.stack([np.interp(self.y, at, channel) for channel in zip(*colours, strict=True)])
        self.fill(np.ones_like(self.paint[0]), rows.astype(np.float32))

    def line(
        self, base: float, rise: float, scale: float, *, rough: float = 0.45, jagged: bool = False
    ) -> Array:
        """Return a random skyline: the y of the land's edge at each x.

        Args:
            base: Mean y of the skyline.
            rise: Amplitude of the hills.
            scale: Width of the largest hills.
            rough: Amplitude of each octave relative to the octave before.
            jagged: Whether the hills are peaks of straight lines, in more octaves.
        """
        total = np.zeros_like(self.x)
        for octave in range(5 if jagged else 3):
            step = scale / 2**octave
            knots = self.random.uniform(-1, 1, int(self.span / step) + 3)
            at = self.x / step + self.random.uniform(0, 1)
            ramp = at % 1 if jagged else (1 - np.cos(math.pi * (at % 1))) / 2
            left = knots[at.astype(int)]
            right = knots[at.astype(int) + 1]
            total += rough**octave * (left + (right - left) * ramp)
        return (base - rise * total).astype(np.float32)

    def land(self, skyline: Array, upper: RGB, lower: RGB, depth: float = 0.3) -> None:
        """Fill the land under a skyline: `upper` at its edge, `lower` from `depth` below it."""
        top = max(0, int(skyline.min() * self.height) - 1)
        below = self.y[top:] - skyline
        blend = np.clip(below / depth, 0, 1)
        first = np.asarray(upper, np.float32)[:, None, None]
        last = np.asarray(lower, np.float32)[:, None, None]
        self.fill(np.clip(below * self.height + 0.5, 0, 1), first + blend * (last - first), top)

    def shapes(self, polygons: list[Polygon], colour: RGB, opacity: float = 1.0) -> None:
        """Fill polygons with smooth edges."""
        corners = list(chain.from_iterable(polygons))
        points = np.array(corners or [(0, 0)]) * self.height
        left, top = np.floor(points.min(axis=0)).clip(0).astype(int)
        right, bottom = np.ceil(points.max(axis=0)).clip(0, (len(self.x), self.height)).astype(int)
        if right <= left or bottom <= top:
            return
        fine = 3  # drawn three times as large and reduced, for smooth edges
        mask = Image.new("L", ((right - left) * fine, (bottom - top) * fine))
        pen = ImageDraw.Draw(mask)
        scale = self.height * fine
        for polygon in polygons:
            pen.polygon(
                [(x * scale - left * fine, y * scale - top * fine) for x, y in polygon], fill=255
            )
        self.fill(np.asarray(mask.reduce(fine), np.float32) * (opacity / 255), colour, top, left)

    def glow(self, x: float, y: float, radius: float, colour: RGB, strength: float = 1.0) -> None:
        """Paint a soft round light."""
        across = np.exp(-2.5 * ((self.x - x) / radius) ** 2)
        down = np.exp(-2.5 * ((self.y - y) / radius) ** 2)
        self.fill((strength * down * across).astype(np.float32), colour)

    def clouds(
        self, low: float, high: float, colour: RGB, opacity: float, stretch: float = 3.0
    ) -> None:
        """Paint clouds (smooth noise) between y = `low` and y = `high`, stretched sideways."""
        size = len(self.x), self.height
        total = np.zeros(size[::-1], np.float32)
        for octave in range(4):
            cells = 2 ** (octave + 1)
            noise = self.random.uniform(
                -1, 1, (cells + 2, int(cells * self.span * 2 / stretch) + 2)
            )
            layer = Image.fromarray(noise.astype(np.float32)).resize(size, Image.Resampling.BICUBIC)
            total += np.asarray(layer) * 0.6**octave
        band = np.clip(np.minimum(self.y - low, high - self.y) / ((high - low) * 0.4), 0, 1)
        self.fill(np.clip(total * 1.1, 0, 1) * band * opacity, colour)

    def specks(
        self, count: int, low: float, high: float, size: float, colour: RGB, opacity: float = 1.0
    ) -> None:
        """Scatter `count` dots (stars, snowflakes, flowers) between y = `low` and y = `high`."""
        xs = self.random.uniform(0, self.span, count)
        ys = low + (high - low) * self.random.uniform(0, 1, count)
        radii = size * self.random.uniform(0.4, 1, count)
        dots = list(map(regular, repeat(8), xs, ys, radii))
        self.shapes(dots, colour, opacity)

    def places(self, spacing: float, jitter: float = 0.5) -> list[float]:
        """Return random x positions along the whole canvas, about `spacing` apart."""
        xs = np.arange(-spacing, self.span + spacing, spacing)
        xs = xs + self.random.uniform(-jitter, jitter, len(xs)) * spacing
        return list(map(float, xs))

    def at(self, skyline: Array, x: float) -> float:
        """Return the y of a skyline at x."""
        return float(np.interp(x, self.x, skyline))

    def image(self) -> Image.Image:
        """Return the canvas as RGBA, slightly dithered so that skies show no bands."""
        cover = np.maximum(self.paint[3], 1e-6)
        noise = self.random.uniform(-0.7, 0.7, cover.shape).astype(np.float32)
        colour = np.clip(self.paint[:3] / cover + noise + 0.5, 0, 255).astype(np.uint8)
        channels = [*colour, (255 * np.minimum(cover, 1) + 0.5).astype(np.uint8)]
        return Image.merge("RGBA", list(map(Image.fromarray, channels)))


def regular(corners: int, x: float, y: float, radius: float) -> Polygon:
    """Return a regular polygon centred on (x, y); with many corners it is a disc."""
    step = 2 * math.pi / corners
    outline = list[Point]()
    for i in range(corners):
        outline.append((x + radius * math.cos(i * step), y + radius * math.sin(i * step)))
    return outline


def box(x: float, y: float, width: float, height: float) -> Polygon:
    """Return the rectangle whose top left corner is at (x, y)."""
    return [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]


def _heart() -> Polygon:
    outline = list[Point]()
    for i in range(96):
        a = 2 * math.pi * i / 96
        wave = 13 * math.cos(a) - 5 * math.cos(2 * a) - 2 * math.cos(3 * a) - math.cos(4 * a)
        outline.append((math.sin(a) ** 3 * 0.5, -(wave + 2.4) / 33))
    return outline


def _star() -> Polygon:
    outline = list[Point]()
    for i in range(10):
        radius = 0.55 if i % 2 == 0 else 0.25
        angle = math.pi * (i / 5 - 0.5)
        outline.append((radius * math.cos(angle), 0.03 + radius * math.sin(angle)))
    return outline


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
    shadow = shadow.filter(ImageFilter.GaussianBlur(diameter * 0.05)).point(
        lambda level: level * 0.5
    )
    light = np.linspace(1.1, 0.9, side)[:, None, None]
    shaded = np.clip(np.asarray(COLOURS[colour]) * light, 0, 255).astype(np.uint8)
    body = Image.new("RGB", outer.size, (8, 12, 30))
    body.paste((74, 84, 116) if colour == "white" else (255, 255, 255), (0, 0), outer)
    body.paste(Image.fromarray(np.broadcast_to(shaded, (side, side, 3)).copy()), (0, 0), inner)
    mask = Image.fromarray(np.maximum(np.asarray(outer), np.asarray(shadow)))
    return Sprite(body, mask)


def _object_masks(
    shape: str, diameter: float, side: int, angle: float
) -> tuple[Image.Image, Image.Image]:
    """Return the masks of a rotated shape, without and with its rim, each `side` pixels square."""
    fine = 3  # drawn three times as large and reduced, for smooth edges
    scale = diameter * fine
    middle = side * fine / 2
    outline = list[Point]()
    for x, y in OUTLINES[shape]:
        across = x * math.cos(angle) - y * math.sin(angle)
        down = x * math.sin(angle) + y * math.cos(angle)
        outline.append((middle + scale * across, middle + scale * down))
    fill = Image.new("L", (side * fine, side * fine))
    ImageDraw.Draw(fill).polygon(outline, fill=255)
    rim = fill.copy()
    ImageDraw.Draw(rim).line(
        [*outline, *outline[:2]], fill=255, width=round(scale * 0.055), joint="curve"
    )
    return fill.reduce(fine), rim.reduce(fine)


def draw_banner(text: str, frame_height: int) -> Sprite:
    """Draw a caption in large white letters on a dark rounded banner."""
    fine = 2  # drawn twice as large and reduced
    height = frame_height * fine
    font = ImageFont.load_default(height * 0.115)
    stroke = max(1, round(height * 0.003))
    left, top, right, bottom = font.getbbox(text, stroke_width=stroke)
    pad_x = height * 0.055
    pad_y = height * 0.04
    width = round((right - left + 2 * pad_x) / fine) * fine
    tall = round((bottom - top + 2 * pad_y) / fine) * fine
    mask = Image.new("L", (width, tall))
    ImageDraw.Draw(mask).rounded_rectangle((0, 0, width - 1, tall - 1), tall * 0.28, fill=218)
    banner = Image.new("RGB", (width, tall), (14, 18, 34))
    corner = pad_x - left, pad_y - top
    for image in (banner, mask):
        white = (255, 255, 255) if image is banner else 255
        ImageDraw.Draw(image).text(
            corner, text, white, font, stroke_width=stroke, stroke_fill=white
        )
    return Sprite(banner.reduce(fine), mask.reduce(fine))
