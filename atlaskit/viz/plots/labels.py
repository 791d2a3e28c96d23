"""Direct labels: the name of a line beside its end, and numbers of tokens on an axis."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from atlaskit.viz.plots.style import figure_of, fit_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation
    from matplotlib.transforms import Bbox

LABEL_PT, GAP_PT, OFFSET_PT = 8.0, 1.5, 16.0
"""Type size of a label, least distance between two labels, and from the axes to the labels."""
MAX_SHARE, CHAR_EM = 0.34, 0.56
"""Widest label, as a share of the figure's width; width of a character, as a share of its size."""
Segment: TypeAlias = tuple[tuple[float, float], tuple[float, float]]
"""A line between two points."""
MARK_PT, MUCH = 4.0, 100
"""Half of the size of a point's mark; how much it counts that a label leaves the axes."""
STEPS_PT = (8.0, 14.0, 22.0, 32.0, 44.0, 60.0)
AROUND = ((1, 0), (1, 0.8), (1, -0.8), (-1, 0), (-1, 0.8), (-1, -0.8), (0, 1), (0, -1))
"""Where a label may stand: distances from its point, and directions (right, up)."""
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


def label_points(ax: Axes, points: Sequence[LineEnd], lines: Sequence[Segment]) -> None:
    """Write the label of each point beside it, where it hides as little as possible.

    It goes to the nearest place around its point that is free of marks, lines and other labels, or
    else to the one that hides least. A thin line leads to it from afar. Call it last: what is free
    depends on the layout.

    Args:
        ax: The axes of the points.
        points: The points with their labels.
        lines: Horizontal and vertical lines that labels should not stand on, in data coordinates.
    """
    figure_of(ax).draw_without_rendering()
    px, frame = figure_of(ax).dpi / 72, ax.get_window_extent()
    marks = {point: _box_around(ax, ((point.x, point.y), (point.x, point.y)), MARK_PT * px) for point in points}
    drawn = [_box_around(ax, line, px) for line in lines if math.isfinite(sum(map(sum, line)))]
    labels: list[Bbox] = []
    for point in sorted(points, key=lambda point: (-point.y, point.x)):
        label = _write_beside(ax, point)
        others = [*labels, *(mark for each, mark in marks.items() if each != point)]
        places = [(step, way) for step in STEPS_PT for way in AROUND]
        hidden = []
        for place in places:
            box = _move(label, *place)
            is_outside = not (frame.contains(box.x0, box.y0) and frame.contains(box.x1, box.y1))
            crossed = _crossed(marks[point], box, others)
            hidden.append(box.count_overlaps([*others, marks[point], *drawn]) + crossed + MUCH * is_outside)
        best = places[min(range(len(places)), key=lambda number: (hidden[number], number))]
        labels.append(_move(label, *best))
        if best[0] == STEPS_PT[0] and label.arrow_patch is not None:
            label.arrow_patch.set_visible(False)


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


def _write_beside(ax: Axes, point: LineEnd) -> Annotation:
    """Write a label beside its point, with a thin line to it."""
    return ax.annotate(
        point.label,
        (point.x, point.y),
        (STEPS_PT[0], 0.0),
        textcoords="offset points",
        va="center",
        fontsize=LABEL_PT,
        color=readable(point.colour),
        arrowprops={"arrowstyle": "-", "color": point.colour, "lw": 0.6, "shrinkA": 0.0, "shrinkB": MARK_PT},
        parse_math=False,
        zorder=5,
    )


def _box_around(ax: Axes, line: Segment, margin_px: float) -> Bbox:
    """Return the box of a horizontal or vertical line in pixels, with a margin."""
    from matplotlib.transforms import Bbox

    (x0, y0), (x1, y1) = ax.transData.transform(line)
    low_x, high_x, low_y, high_y = min(x0, x1), max(x0, x1), min(y0, y1), max(y0, y1)
    return Bbox.from_extents(low_x - margin_px, low_y - margin_px, high_x + margin_px, high_y + margin_px)


def _move(label: Annotation, step_pt: float, way: tuple[float, float]) -> Bbox:
    """Move a label beside its point; return the box of its text in pixels."""
    from matplotlib.text import Text

    right, up = way
    label.set_horizontalalignment("center" if not right else "left" if right > 0 else "right")
    label.xyann = (step_pt * right, step_pt * up)
    label.get_window_extent()  # moves the text; what it returns includes the line to the point
    return Text.get_window_extent(label)


def _crossed(mark: Bbox, label: Bbox, others: Sequence[Bbox]) -> int:
    """Return how many marks and labels the line from a label to its mark crosses."""
    from matplotlib.path import Path

    ends = [(box.x0 + box.width / 2, box.y0 + box.height / 2) for box in (mark, label)]
    return sum(Path(ends).intersects_bbox(other, filled=False) for other in others)


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
