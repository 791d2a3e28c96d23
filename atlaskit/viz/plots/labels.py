"""Direct labels: the name of a line beside its end, and numbers of tokens on an axis."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from atlaskit.viz.plots.style import figure_of, fit_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

LABEL_PT, GAP_PT, OFFSET_PT = 8.0, 1.5, 16.0
"""Type size of a label, least distance between two labels, and from the axes to the labels."""
MAX_SHARE, CHAR_EM = 0.34, 0.56
"""Widest label, as a share of the figure's width; width of a character, as a share of its size."""
CONTRAST = 4.5
"""Least contrast of text with white, as WCAG 2 asks for text of normal size."""


@dataclass(frozen=True)
class LineEnd:
    """The last point of a line, in data coordinates, with the label of the line."""

    x: float
    y: float
    label: str
    colour: str


def label_ends(ends: Sequence[tuple[Axes, Sequence[LineEnd]]], *, ticks: Axes) -> None:
    """Write the label of each line at the right of its axes, as high as the line's end.

    Labels that would overlap are moved up or down, and a thin line leads from each to its end. Call
    it last: where labels can stand depends on the layout.

    Args:
        ends: The lines' ends, by their axes.
        ticks: The axes whose labels below get narrower with the labels at the right.
    """
    written = [(ax, [_write(ax, end) for end in each], each) for ax, each in ends]
    fit_ticks(ticks)
    figure_of(ticks).draw_without_rendering()
    for ax, texts, each in written:
        to_pixels, frame = ax.transData, ax.get_window_extent()
        heights = [text.get_window_extent().height + GAP_PT * figure_of(ax).dpi / 72 for text in texts]
        wanted = [float(to_pixels.transform((end.x, end.y))[1]) for end in each]
        for text, y in zip(texts, spread(wanted, heights, (frame.y0, frame.y1)), strict=True):
            text.xyann = (1.0, float(to_pixels.inverted().transform((0.0, y))[1]))


def spread(wanted: Sequence[float], heights: Sequence[float], within: tuple[float, float]) -> list[float]:
    """Return middles near the wanted ones, such that boxes of the given heights do not overlap.

    Neighbours that would overlap become one block, which is where its members are closest to what
    they want. The middles keep the order of the wanted ones; of equal ones, the first is on top.
    All boxes lie `within` the bounds if they fit there.
    """
    low, high = within
    blocks: list[tuple[list[int], float]] = []  # members, from the lowest, and the block's lower edge
    for index in sorted(range(len(wanted)), key=lambda index: (wanted[index], -index)):
        members, start = [index], 0.0
        while True:
            height = sum(heights[member] for member in members)
            start = max(low, min(_best_start(members, wanted, heights), high - height))
            if not blocks or blocks[-1][1] + sum(heights[member] for member in blocks[-1][0]) <= start:
                break
            members = [*blocks.pop()[0], *members]
        blocks.append((members, start))
    middles = [math.nan] * len(wanted)
    for members, edge in blocks:
        for member in members:
            middles[member] = edge + heights[member] / 2
            edge += heights[member]
    return middles


def readable(colour: str) -> str:
    """Return the colour, darkened until text in it is legible on white."""
    from matplotlib.colors import to_hex, to_rgb

    red, green, blue = to_rgb(colour)
    while 1.05 / (_luminance(red, green, blue) + 0.05) < CONTRAST:
        red, green, blue = 0.95 * red, 0.95 * green, 0.95 * blue
    return to_hex((red, green, blue))


def short_count(value: float, _position: object = None) -> str:
    """Return a number in short, as on an axis: 0, 0.5, 950, 1.5 K, 148 K, 2.2 M."""
    for unit, size in (("M", 1e6), ("K", 1e3)):
        if abs(value) >= 0.9995 * size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g}"


def _write(ax: Axes, end: LineEnd) -> Annotation:
    """Write a label at the height of its line's end, wrapped, with a thin line to that end."""
    from matplotlib.transforms import offset_copy

    figure = figure_of(ax)
    chars = int(MAX_SHARE * figure.get_size_inches()[0] * 72 / (CHAR_EM * LABEL_PT))
    lines = (piece for line in end.label.split("\n") for piece in textwrap.wrap(line, chars))
    lead = {"arrowstyle": "-", "color": end.colour, "lw": 0.7, "shrinkA": 1.0, "shrinkB": 4.0, "relpos": (0.0, 0.5)}
    return ax.annotate(
        "\n".join(lines),
        (end.x, end.y),
        (1.0, end.y),
        textcoords=offset_copy(ax.get_yaxis_transform(), figure, x=OFFSET_PT, units="points"),
        va="center",
        fontsize=LABEL_PT,
        color=readable(end.colour),
        arrowprops=lead,
        annotation_clip=False,
        parse_math=False,
    )


def _best_start(members: Sequence[int], wanted: Sequence[float], heights: Sequence[float]) -> float:
    """Return the lower edge of a block for which its members are closest to where they belong."""
    below, total = 0.0, 0.0
    for member in members:
        total += wanted[member] - (below + heights[member] / 2)
        below += heights[member]
    return total / len(members)


def _luminance(*channels: float) -> float:
    """Return the relative luminance of an sRGB colour, in [0, 1]."""
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
