"""`Light` and `Air`: the colours of dawn, noon and night, and the sky they paint."""

from __future__ import annotations

from dataclasses import dataclass

from atlaskit.benchmarks.atlasworld.brushes import RGB, Canvas, regular


def mix(a: RGB, b: RGB, share: float) -> RGB:
    """Return a blend of two colours: `a` at share 0, `b` at share 1."""
    return (a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1]), a[2] + share * (b[2] - a[2]))


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
        ((92, 84, 158), (236, 132, 140), (255, 206, 140)),
        0.08,
        (0.92, 0.68, 0.66),
        (0.0, 0.62),
        (0.42, 0.055, (255, 236, 190)),
        0,
        0.35,
    ),
    "noon": Light(
        ((52, 132, 222), (124, 188, 242), (222, 240, 250)),
        0.75,
        (1.0, 1.0, 1.0),
        (0.0, 0.5),
        (0.13, 0.05, (255, 250, 222)),
        0,
        0.0,
    ),
    "night": Light(
        ((10, 16, 46), (22, 36, 86), (58, 82, 138)),
        0.04,
        (0.24, 0.33, 0.6),
        (0.2, 0.5),
        (0.16, 0.05, (236, 240, 250)),
        220,
        0.6,
    ),
}


@dataclass(frozen=True)
class Air:
    """The light of one scene, and the colour into which distant land fades."""

    light: Light
    horizon: RGB

    def shade(self, colour: RGB, distance: float = 0.0) -> RGB:
        """Return a ground colour in this light at a distance, 0 (near) to 1 (far)."""
        red, green, blue = (channel * factor for channel, factor in zip(colour, self.light.tint, strict=True))
        near, far = self.light.haze
        return mix((red, green, blue), self.horizon, near + (far - near) * distance)


def paint_sky(far: Canvas, light: Light, own: tuple[RGB, RGB, RGB]) -> Air:
    """Paint a sky with its sun or moon; return the scene's air.

    Args:
        far: The canvas to paint on.
        light: The hour of the day.
        own: The place's own daytime sky: zenith, middle, horizon.
    """
    zenith, middle, horizon = (mix(a, b, light.own) for a, b in zip(light.sky, own, strict=True))
    far.gradient(zenith, middle, horizon, bottom=0.68)
    far.specks(light.stars, 0.0, 0.6, 0.0038, (225, 232, 255), 0.85)
    height, radius, colour = light.orb
    x = far.span * far.random.uniform(0.2, 0.8)
    far.glow(x, height, radius * 6, colour, 0.5)
    far.glow(x, height, radius * 2.2, colour, 0.6)
    far.shapes([regular(48, x, height, radius)], colour, 0.9)
    return Air(light, horizon)
