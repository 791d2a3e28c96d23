"""`Canvas`: paints skylines, polygons, glows, clouds and specks on one layer of a background.

This module does not know scripts, nor AtlasWorld's places and lights. All randomness comes from the
canvas's seed.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

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
        random: Source of all randomness.
    """

    def __init__(self, width: int, height: int, seed: int) -> None:
        self.height = height
        self.span = width / height
        self.x: Array = ((np.arange(width, dtype=np.float32) + 0.5) / height).astype(np.float32)
        self.y: Array = ((np.arange(height, dtype=np.float32) + 0.5) / height).astype(np.float32)[:, None]
        self.paint: Array = np.zeros((4, height, width), np.float32)
        self.random = np.random.RandomState(seed)  # NumPy guarantees its stream, unlike default_rng's

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

    def line(self, base: float, rise: float, scale: float, *, rough: float = 0.45, jagged: bool = False) -> Array:
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
            left, right = knots[at.astype(int)], knots[at.astype(int) + 1]
            total += rough**octave * (left + (right - left) * ramp)
        return (base - rise * total).astype(np.float32)

    def land(self, skyline: Array, upper: RGB, lower: RGB, depth: float = 0.3) -> None:
        """Fill the land under a skyline: `upper` at its edge, `lower` from `depth` below it."""
        top = max(0, int(skyline.min() * self.height) - 1)
        below = self.y[top:] - skyline
        blend = np.clip(below / depth, 0, 1)
        first, last = (np.asarray(colour, np.float32)[:, None, None] for colour in (upper, lower))
        self.fill(np.clip(below * self.height + 0.5, 0, 1), first + blend * (last - first), top)

    def shapes(self, polygons: list[Polygon], colour: RGB, opacity: float = 1.0) -> None:
        """Fill polygons with smooth edges."""
        points = np.array([point for polygon in polygons for point in polygon] or [(0, 0)]) * self.height
        left, top = np.floor(points.min(axis=0)).clip(0).astype(int)
        right, bottom = np.ceil(points.max(axis=0)).clip(0, (len(self.x), self.height)).astype(int)
        if right <= left or bottom <= top:
            return
        fine = 3
        mask = Image.new("L", ((right - left) * fine, (bottom - top) * fine))
        pen, scale = ImageDraw.Draw(mask), self.height * fine
        for polygon in polygons:
            pen.polygon([(x * scale - left * fine, y * scale - top * fine) for x, y in polygon], fill=255)
        self.fill(np.asarray(mask.reduce(fine), np.float32) * (opacity / 255), colour, top, left)

    def glow(self, x: float, y: float, radius: float, colour: RGB, strength: float = 1.0) -> None:
        """Paint a soft round light."""
        across, down = (np.exp(-2.5 * ((axis - at) / radius) ** 2) for axis, at in ((self.x, x), (self.y, y)))
        self.fill((strength * down * across).astype(np.float32), colour)

    def clouds(self, low: float, high: float, colour: RGB, opacity: float, stretch: float = 3.0) -> None:
        """Paint clouds (smooth noise) between y = `low` and y = `high`, stretched sideways."""
        size = len(self.x), self.height
        total = np.zeros(size[::-1], np.float32)
        for octave in range(4):
            cells = 2 ** (octave + 1)
            noise = self.random.uniform(-1, 1, (cells + 2, int(cells * self.span * 2 / stretch) + 2))
            layer = Image.fromarray(noise.astype(np.float32)).resize(size, Image.Resampling.BICUBIC)
            total += np.asarray(layer) * 0.6**octave
        band = np.clip(np.minimum(self.y - low, high - self.y) / ((high - low) * 0.4), 0, 1)
        self.fill(np.clip(total * 1.1, 0, 1) * band * opacity, colour)

    def specks(self, count: int, low: float, high: float, size: float, colour: RGB, opacity: float = 1.0) -> None:
        """Scatter `count` dots (stars, snowflakes, flowers) between y = `low` and y = `high`."""
        xs = self.random.uniform(0, self.span, count)
        ys = low + (high - low) * self.random.uniform(0, 1, count)
        radii = size * self.random.uniform(0.4, 1, count)
        self.shapes([regular(8, x, y, r) for x, y, r in zip(xs, ys, radii, strict=True)], colour, opacity)

    def places(self, spacing: float, jitter: float = 0.5) -> list[float]:
        """Return x positions along the whole canvas, about `spacing` apart."""
        xs = np.arange(-spacing, self.span + spacing, spacing)
        return [float(x) for x in xs + self.random.uniform(-jitter, jitter, len(xs)) * spacing]

    def at(self, skyline: Array, x: float) -> float:
        """Return the y of a skyline at x."""
        return float(np.interp(x, self.x, skyline))

    def image(self) -> Image.Image:
        """Return the canvas as RGBA, slightly dithered so that skies show no bands."""
        cover = np.maximum(self.paint[3], 1e-6)
        noise = self.random.uniform(-0.7, 0.7, cover.shape).astype(np.float32)
        colour = np.clip(self.paint[:3] / cover + noise + 0.5, 0, 255).astype(np.uint8)
        channels = [*colour, (255 * np.minimum(cover, 1) + 0.5).astype(np.uint8)]
        return Image.merge("RGBA", [Image.fromarray(channel) for channel in channels])


def regular(corners: int, x: float, y: float, radius: float) -> Polygon:
    """Return a regular polygon centred on (x, y); with many corners it is a disc."""
    step = 2 * math.pi / corners
    return [(x + radius * math.cos(i * step), y + radius * math.sin(i * step)) for i in range(corners)]


def box(x: float, y: float, width: float, height: float) -> Polygon:
    """Return a rectangle whose top left corner is at (x, y)."""
    return [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]
