"""Paints the scenery of a scene: a sky for its light, and one of eight places, such as a desert.

Which random numbers are drawn, and in which order, is frozen: the same seed must always give the
same frames.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product, repeat

import numpy as np
from PIL import Image

from atlasworld.brushes import RGB, Array, Canvas, Point, Polygon, box, regular
from atlasworld.timeline import Scene


def mix(a: RGB, b: RGB, share: float) -> RGB:
    """Return a blend of two colours: `a` at share 0, `b` at share 1."""
    return (
        a[0] + share * (b[0] - a[0]),
        a[1] + share * (b[1] - a[1]),
        a[2] + share * (b[2] - a[2]),
    )


@dataclass(frozen=True)
class Light:
    """How an hour of the day lights a place."""

    sky: tuple[RGB, RGB, RGB]
    """Colours of the zenith, the middle and the horizon."""
    own: float
    """Share of the place's own daytime sky that is blended into `sky`, 0 to 1."""
    tint: RGB
    """Factors of the red, green and blue of the ground, 0 to 1."""
    haze: tuple[float, float]
    """Share of the horizon's colour in near and in far land, 0 to 1."""
    orb: tuple[float, float, RGB]
    """y, radius and colour of the sun or moon; fractions of the frame's height."""
    stars: int
    """Number of stars."""
    lamps: float
    """Share of windows that are lit, 0 to 1."""


LOOKS: dict[str, Light] = {
    "dawn": Light(
        sky=((92, 84, 158), (236, 132, 140), (255, 206, 140)),
        own=0.08,
        tint=(0.92, 0.68, 0.66),
        haze=(0.0, 0.62),
        orb=(0.42, 0.055, (255, 236, 190)),
        stars=0,
        lamps=0.35,
    ),
    "noon": Light(
        sky=((52, 132, 222), (124, 188, 242), (222, 240, 250)),
        own=0.75,
        tint=(1.0, 1.0, 1.0),
        haze=(0.0, 0.5),
        orb=(0.13, 0.05, (255, 250, 222)),
        stars=0,
        lamps=0.0,
    ),
    "night": Light(
        sky=((10, 16, 46), (22, 36, 86), (58, 82, 138)),
        own=0.04,
        tint=(0.24, 0.33, 0.6),
        haze=(0.2, 0.5),
        orb=(0.16, 0.05, (236, 240, 250)),
        stars=220,
        lamps=0.6,
    ),
}


@dataclass(frozen=True)
class Air:
    """The light of one scene, and the colour into which distant land fades."""

    light: Light
    horizon: RGB

    def shade(self, colour: RGB, distance: float = 0.0) -> RGB:
        """Return a ground colour in this light at a distance, 0 (near) to 1 (far)."""
        tint = self.light.tint
        tinted = (colour[0] * tint[0], colour[1] * tint[1], colour[2] * tint[2])
        near, far = self.light.haze
        return mix(tinted, self.horizon, near + (far - near) * distance)


def paint_sky(far: Canvas, light: Light, own: tuple[RGB, RGB, RGB]) -> Air:
    """Paint a sky with its sun or moon; return the scene's air.

    Args:
        far: The canvas to paint on.
        light: The hour of the day.
        own: The place's own daytime sky: zenith, middle, horizon.
    """
    zenith, middle, horizon = map(mix, light.sky, own, repeat(light.own))
    far.gradient(zenith, middle, horizon, bottom=0.68)
    far.specks(light.stars, 0.0, 0.6, 0.0038, (225, 232, 255), 0.85)
    height, radius, colour = light.orb
    x = far.span * far.random.uniform(0.2, 0.8)
    far.glow(x, height, radius * 6, colour, 0.5)
    far.glow(x, height, radius * 2.2, colour, 0.6)
    far.shapes([regular(48, x, height, radius)], colour, 0.9)
    return Air(light, horizon)


def _fir(x: float, y: float, height: float) -> Polygon:
    """Return the outline of a conifer whose foot is at (x, y)."""
    right = [  # right and up from the foot, as shares of the height
        (0.0, 1.0),
        (0.15, 0.68),
        (0.08, 0.70),
        (0.22, 0.40),
        (0.12, 0.43),
        (0.29, 0.10),
        (0.05, 0.12),
        (0.05, -0.1),
    ]
    side = list[Point]()
    mirrored = list[Point]()
    for dx, dy in right:
        px = x + dx * height
        py = y - dy * height
        side.append((px, py))
        mirrored.append((2 * x - px, py))
    return side + mirrored[::-1]


def _firs(
    canvas: Canvas, skyline: Array, spacing: float, height: float, colour: RGB, *, sunk: float = 0.0
) -> None:
    """Paint firs along a skyline, each sunk into the land by a share of its height."""
    firs = list[Polygon]()
    for x in canvas.places(spacing):
        tall = height * canvas.random.uniform(0.55, 1.0)
        foot = canvas.at(skyline, x) + 0.01 + sunk * tall
        firs.append(_fir(x, foot, tall))
    canvas.shapes(firs, colour)


def paint_snow(far: Canvas, near: Canvas, air: Air) -> None:
    """Paint snowy hills, firs and peaks."""
    far.clouds(0.0, 0.4, air.shade((250, 252, 255)), 0.5)
    for distance, base, rise in ((1.0, 0.46, 0.17), (0.6, 0.58, 0.12)):
        peaks = far.line(base, rise, 0.5, jagged=True)
        far.land(
            peaks, air.shade((238, 245, 255), distance), air.shade((112, 142, 190), distance), 0.22
        )
    hills = far.line(0.70, 0.04, 0.6)
    _firs(far, hills, 0.06, 0.13, air.shade((62, 104, 112), 0.45))
    far.land(hills, air.shade((226, 237, 250), 0.3), air.shade((170, 196, 230), 0.1))
    drift = near.line(0.86, 0.035, 0.8)
    _firs(near, drift, 0.34, 0.36, air.shade((30, 74, 78)))
    near.land(drift, air.shade((240, 246, 255)), air.shade((178, 202, 236)), 0.16)
    far.specks(150, 0.0, 1.0, 0.005, air.shade((255, 255, 255)), 0.8)


def paint_desert(far: Canvas, near: Canvas, air: Air) -> None:
    """Paint dunes, cacti and distant rocks."""
    rocks = far.line(0.60, 0.035, 0.35, jagged=True)
    far.land(rocks, air.shade((196, 130, 92), 0.9), air.shade((214, 160, 110), 0.8))
    sands = ((240, 190, 112), (232, 172, 88), (222, 154, 70))
    for base, distance, colour in zip((0.66, 0.75, 0.86), (0.55, 0.25, 0.0), sands, strict=True):
        dune = far.line(base, 0.055, 0.75, rough=0.2)
        far.land(
            dune,
            air.shade(mix(colour, (255, 236, 190), 0.4), distance),
            air.shade(colour, distance),
            0.03,
        )
        lee = dune + np.maximum(0, far.line(0.02, 0.05, 0.5, rough=0.2))
        far.land(
            lee,
            air.shade(mix(colour, (150, 84, 48), 0.45), distance),
            air.shade(colour, distance),
            0.16,
        )
    sand = near.line(0.94, 0.03, 0.9, rough=0.2)
    for x in near.places(0.62):
        _cactus(
            near,
            x,
            near.at(sand, x) + 0.02,
            near.random.uniform(0.2, 0.34),
            air.shade((58, 116, 74)),
        )
    near.land(sand, air.shade((236, 178, 98)), air.shade((196, 128, 62)), 0.1)


def _cactus(canvas: Canvas, x: float, y: float, tall: float, colour: RGB) -> None:
    """Paint a cactus with two arms, whose foot is at (x, y)."""
    trunk = tall * 0.15
    arm = tall * 0.11
    bars = [(x, y, tall, trunk)]  # x, foot, height and width
    for side, low, high in ((-1, 0.38, 0.34), (1, 0.5, 0.36)):
        reach = x + side * tall * 0.26
        bars.append((reach, y - low * tall, high * tall, arm))
        canvas.shapes([box(min(x, reach), y - low * tall - arm / 2, abs(reach - x), arm)], colour)
        canvas.shapes([regular(20, reach, y - low * tall, arm / 2)], colour)
    for at, foot, height, width in bars:
        canvas.shapes([box(at - width / 2, foot - height, width, height)], colour)
        canvas.shapes([regular(20, at, foot - height, width / 2)], colour)


def paint_sea(far: Canvas, near: Canvas, air: Air) -> None:
    """Paint waves and an island."""
    far.clouds(0.05, 0.5, air.shade((255, 255, 255), 0.2), 0.75)
    isle = far.line(0.56, 0.05, 0.5)
    far.land(isle, air.shade((70, 120, 120), 0.9), air.shade((60, 110, 120), 0.8))
    flat = np.full_like(far.x, 0.54)
    far.land(flat, air.shade((92, 178, 206), 0.55), air.shade((16, 94, 150)), 0.4)
    glints = []
    for _ in range(150):
        depth = far.random.uniform(0, 1) ** 1.6
        width = 0.02 + 0.11 * depth * far.random.uniform(0.3, 1)
        x = far.random.uniform(-0.1, far.span)
        y = 0.548 + 0.4 * depth
        glints.append(
            [(x, y), (x + width / 2, y - 0.003), (x + width, y), (x + width / 2, y + 0.003)]
        )
    far.shapes(glints, mix(air.shade((220, 246, 250)), air.horizon, 0.4), 0.55)
    for base, colour in ((0.84, (34, 128, 176)), (0.90, (20, 106, 160)), (0.96, (10, 82, 136))):
        phase = near.random.uniform(0, 6)
        swell = base + 0.016 * np.sin(near.x * 9 + phase) + 0.007 * np.sin(near.x * 23 + 2 * phase)
        near.land(swell.astype(np.float32), air.shade((214, 242, 246)), air.shade((214, 242, 246)))
        crest = air.shade(mix(colour, (120, 210, 226), 0.4))
        near.land((swell + 0.008).astype(np.float32), crest, air.shade(colour), 0.06)


def paint_forest(far: Canvas, near: Canvas, air: Air) -> None:
    """Paint rows of firs behind trunks and moss."""
    rows = (
        (0.50, 0.05, 0.055, 0.20, 1.0),
        (0.62, 0.04, 0.075, 0.27, 0.6),
        (0.76, 0.03, 0.11, 0.36, 0.25),
    )
    for base, rise, spacing, tall, distance in rows:
        floor = far.line(base, rise, 0.6)
        _firs(far, floor, spacing, tall, air.shade((38, 112, 66), distance), sunk=0.18)
        far.land(floor, air.shade((44, 122, 68), distance), air.shade((96, 160, 96), distance), 0.2)
    for x in near.places(0.95, 0.3):
        wide = near.random.uniform(0.05, 0.09)
        trunk = [
            (x - wide / 2, 0),
            (x + wide / 2, 0),
            (x + wide * 0.62, 0.9),
            (x + wide, 1),
            (x - wide, 1),
        ]
        near.shapes([trunk], air.shade((84, 58, 42)))
        near.shapes([box(x - wide * 0.38, 0, wide * 0.2, 0.94)], air.shade((132, 98, 68)))
    crown = np.minimum(near.line(0.05, 0.06, 0.16), 0.2)
    near.fill(np.clip((crown - near.y) * near.height + 0.5, 0, 1), air.shade((24, 82, 48)))
    moss = near.line(0.92, 0.025, 0.4)
    near.land(moss, air.shade((84, 150, 70)), air.shade((34, 88, 48)), 0.09)


def paint_city(far: Canvas, near: Canvas, air: Air) -> None:
    """Paint a skyline with windows behind a lamp-lit street."""
    rows = (
        (0.42, 0.14, (150, 164, 190), 0.9),
        (0.55, 0.15, (104, 120, 152), 0.5),
        (0.68, 0.12, (70, 82, 112), 0.1),
    )
    for base, rise, colour, distance in rows:
        walls: list[Polygon] = []
        windows: list[Polygon] = []
        lit: list[Polygon] = []
        x = -0.1
        while x < far.span:
            width = far.random.uniform(0.07, 0.17)
            top = base + far.random.uniform(-rise, rise)
            walls.append(box(x, top, width + 0.002, 1 - top))
            if far.random.uniform() < 0.3:  # a mast on the roof
                walls.append(box(x + width / 2 - 0.003, top - 0.06, 0.006, 0.06))
            columns = np.arange(x + 0.014, x + width - 0.02, 0.024)
            floors = np.arange(top + 0.02, min(0.9, top + 0.5), 0.036)
            for left, upper in product(columns, floors):
                panes = lit if far.random.uniform() < air.light.lamps else windows
                panes.append(box(left, upper, 0.011, 0.017))
            x += width + far.random.uniform(0, 0.02)
        far.shapes(walls, air.shade(colour, distance))
        far.shapes(windows, air.shade(mix(colour, (190, 220, 245), 0.45), distance))
        far.shapes(lit, mix((255, 214, 120), air.horizon, 0.4 * distance))
    near.land(np.full_like(near.x, 0.88), air.shade((120, 126, 138)), air.shade((84, 90, 104)), 0.1)
    marks = [box(x, 0.945, 0.14, 0.012) for x in near.places(0.3, 0)]
    near.shapes(marks, air.shade((236, 232, 214)))
    is_lit = air.light.lamps > 0
    for x in near.places(0.8, 0.1):
        near.shapes([box(x, 0.56, 0.01, 0.33), box(x, 0.555, 0.07, 0.01)], air.shade((52, 58, 72)))
        near.shapes(
            [regular(16, x + 0.066, 0.57, 0.016)],
            (255, 226, 150) if is_lit else air.shade((236, 240, 244)),
        )


def paint_meadow(far: Canvas, near: Canvas, air: Air) -> None:
    """Paint grassy hills with trees and flowers."""
    far.clouds(0.02, 0.52, air.shade((255, 255, 255), 0.1), 0.9, stretch=2.2)
    hills = (
        (0.56, 0.06, (104, 172, 118), 0.85),
        (0.66, 0.06, (112, 186, 86), 0.45),
        (0.78, 0.05, (122, 200, 74), 0.1),
    )
    for base, rise, colour, distance in hills:
        slope = far.line(base, rise, 0.8, rough=0.3)
        for x in far.places(0.4 * (1.4 - distance), 0.8):
            size = 0.05 * (1.5 - distance)
            y = far.at(slope, x)
            far.shapes(
                [box(x - size * 0.1, y - size, size * 0.2, size * 1.2)],
                air.shade((104, 78, 56), distance),
            )
            crown = [(0, -1.5, 0.75), (-0.5, -1.1, 0.55), (0.5, -1.1, 0.55)]
            leaves = [regular(24, x + dx * size, y + dy * size, r * size) for dx, dy, r in crown]
            far.shapes(leaves, air.shade((56, 132, 70), distance))
        far.land(
            slope,
            air.shade(mix(colour, (224, 240, 150), 0.3), distance),
            air.shade(colour, distance),
            0.2,
        )
    grass = near.line(0.88, 0.025, 0.7)
    near.land(grass, air.shade((120, 196, 66)), air.shade((60, 140, 52)), 0.12)
    for colour in ((255, 250, 250), (250, 214, 70), (236, 120, 150)):
        near.specks(40, 0.915, 0.99, 0.011, air.shade(colour))


SPACE: dict[str, tuple[tuple[RGB, RGB, RGB], RGB, RGB, int]] = {
    # colours of the sky from the top down, of the nebula and of the planet; number of stars
    "dawn": (((24, 14, 58), (110, 38, 98), (255, 150, 92)), (255, 120, 130), (240, 150, 110), 160),
    "noon": (((14, 44, 92), (22, 92, 140), (70, 178, 196)), (120, 226, 230), (238, 206, 150), 120),
    "night": (((6, 8, 26), (14, 14, 46), (30, 24, 74)), (96, 70, 170), (92, 108, 160), 420),
}


MOON: dict[str, RGB] = {
    "dawn": (150, 122, 142),
    "noon": (196, 190, 204),
    "night": (84, 88, 122),
}
"""Colour of the ground in space, by light."""


def _ring(x: float, y: float, radius: float, turn: float) -> Polygon:
    """Return half of a planet's ring: the front half (`turn` = 0) or the back half (π)."""
    outer = list[Point]()
    inner = list[Point]()
    for angle in np.linspace(0, math.pi, 48):
        dx = radius * math.cos(turn + angle)
        dy = 0.22 * radius * math.sin(turn + angle)
        outer.append((x + 2 * dx, y + 2 * dy))
        inner.append((x + 1.45 * dx, y + 1.45 * dy))
    return outer + inner[::-1]


def paint_space(far: Canvas, near: Canvas, air: Air) -> None:
    """Paint a ringed planet above a cratered moon."""
    look = next(name for name, light in LOOKS.items() if light is air.light)
    sky, nebula, planet, stars = SPACE[look]
    far.gradient(*sky)  # covers the sky of `paint_sky`, whose random draws are frozen too
    far.clouds(-0.4, 1.2, nebula, 0.5, stretch=1.6)
    far.specks(stars, 0.0, 1.0, 0.0042, (240, 244, 255), 0.95)
    x = far.span * far.random.uniform(0.2, 0.8)
    y = far.random.uniform(0.2, 0.42)
    radius = 0.085
    far.glow(x, y, radius * 2, planet, 0.35)
    front = _ring(x, y, radius, 0.0)
    back = _ring(x, y, radius, math.pi)
    band = mix(planet, (255, 255, 255), 0.35)
    far.shapes([back], band, 0.7)
    far.shapes([regular(72, x, y, radius)], planet)
    for dy, share in ((-0.5, 0.25), (-0.1, 0.4), (0.35, 0.2)):
        half = radius * math.sqrt(1 - dy * dy) * 0.98
        far.shapes(
            [box(x - half, y + dy * radius, 2 * half, radius * 0.13)],
            mix(planet, sky[0], share),
            0.7,
        )
    far.shapes([front], band, 0.9)
    ground = MOON[look]
    moon = near.line(0.87, 0.03, 0.6)
    near.land(moon, mix(ground, (255, 255, 255), 0.25), mix(ground, sky[0], 0.45), 0.14)
    for cx in near.places(0.22):
        wide = near.random.uniform(0.03, 0.07)
        cy = near.random.uniform(0.93, 0.99)
        for scale, colour in ((1.0, mix(ground, sky[0], 0.55)), (0.8, mix(ground, sky[0], 0.3))):
            crater = list[Point]()
            for px, py in regular(32, cx, cy, wide * scale):
                crater.append((px, cy + (py - cy) * 0.35))
            near.shapes([crater], colour)


STRATA: tuple[RGB, ...] = (
    (206, 112, 70),
    (178, 82, 54),
    (222, 142, 92),
    (160, 70, 52),
    (200, 104, 66),
    (144, 62, 50),
)
"""Colours of the layers of stone, from the top down; they repeat."""


def paint_canyon(far: Canvas, near: Canvas, air: Air) -> None:
    """Paint layered mesas."""
    far.clouds(0.05, 0.4, air.shade((255, 246, 236)), 0.45, stretch=4)
    for distance, base, rise, scale in ((0.9, 0.44, 0.13, 0.4), (0.4, 0.58, 0.15, 0.5)):
        _mesas(far, air, base, rise, scale, distance)
    floor = far.line(0.84, 0.02, 0.6)
    far.land(floor, air.shade((226, 150, 98), 0.2), air.shade((190, 104, 64), 0.1), 0.14)
    _mesas(near, air, 0.98, 0.26, 0.55, 0.0)


def _mesas(
    canvas: Canvas, air: Air, base: float, rise: float, scale: float, distance: float
) -> None:
    """Paint flat-topped rocks with steep flanks, striped by layers of stone."""
    rough = (canvas.line(0, 1, scale) * 1.6).clip(-1, 1)
    # Rounding makes tops flat; averaging over a few columns makes flanks steep, not upright.
    steps = np.round(rough * 1.5) / 1.5 * 0.85 + rough * 0.15
    kernel = np.ones(max(1, canvas.height // 36))
    top = base + rise * np.convolve(
        np.pad(steps, len(kernel), mode="edge"), kernel / kernel.sum(), "same"
    )
    skyline = top[len(kernel) : -len(kernel)].astype(np.float32)
    sag = canvas.line(0, 0.012, 0.3)
    for layer in range(12):
        colour = air.shade(STRATA[layer % len(STRATA)], distance)
        level = base - rise + layer * 0.045 + 0.02 * (layer % 2)
        seam = np.maximum(skyline, level + sag) if layer else skyline
        canvas.land(seam, colour, air.shade((130, 58, 50), distance), 0.6)


FAR_WIDTH = 1.12
"""Width of the far layer, in frame widths."""
NEAR_WIDTH = 1.45
"""Width of the near layer, in frame widths. It pans faster than the far one, which gives depth."""

LandscapePainter = Callable[[Canvas, Canvas, Air], None]
LANDSCAPES: dict[str, tuple[tuple[RGB, RGB, RGB], LandscapePainter]] = {
    # the place's own daytime sky (zenith, middle, horizon), and the painter of its land
    "snow": (((92, 148, 208), (148, 190, 228), (206, 224, 242)), paint_snow),
    "desert": (((64, 158, 206), (150, 206, 214), (252, 232, 190)), paint_desert),
    "sea": (((30, 126, 214), (110, 190, 240), (220, 242, 248)), paint_sea),
    "forest": (((110, 180, 206), (176, 218, 206), (226, 240, 210)), paint_forest),
    "city": (((92, 144, 206), (160, 194, 226), (226, 232, 236)), paint_city),
    "meadow": (((44, 130, 226), (126, 192, 246), (216, 240, 250)), paint_meadow),
    "space": (((14, 44, 92), (22, 92, 140), (70, 178, 196)), paint_space),
    "canyon": (((40, 120, 200), (130, 190, 226), (252, 222, 186)), paint_canyon),
}


def paint_scenery(
    scene: Scene, size: tuple[int, int], seed: int
) -> tuple[Image.Image, Image.Image]:
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
