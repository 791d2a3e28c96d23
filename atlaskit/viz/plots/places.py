"""Labels of points that stand close together: `label_points` finds a place for each.

Everything is measured in pixels of the laid-out figure. A label that cannot stand beside its point
is led to by a thin line, its leader.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, product
from typing import TYPE_CHECKING, TypeAlias

from atlaskit.viz.plots.labels import LABEL_PT, LineEnd, readable
from atlaskit.viz.plots.style import figure_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

Point: TypeAlias = tuple[float, float]
Segment: TypeAlias = tuple[Point, Point]
"""A line between two points."""
Box: TypeAlias = tuple[float, float, float, float]
"""The left, lower, right and upper edge of a rectangle."""

MARK_PT = 4.0
"""Half of the size of a point's mark."""
BESIDE_PT = 8.0
BESIDE = ((1, 0), (1, 0.8), (1, -0.8), (-1, 0), (-1, 0.8), (-1, -0.8), (0, 1), (0, -1))
"""Where a label may stand beside its point: the distance, and the directions (right, up)."""
STEPS_PT = (14.0, 22.0, 32.0, 44.0, 60.0, 80.0, 104.0)
AFAR = tuple((right, up) for up in (0, 0.8, -0.8, 1.6, -1.6) for right in (1, -1))
"""Where it may stand at the end of a leader. None is vertical: that would lengthen an interval."""
BURIED, CROSSED, OUTSIDE = 10.0, 10.0, 1000.0
"""How much it counts that a label stands on another one or on a mark; that a leader meets a label,
a mark or another leader; that a label leaves the axes."""
ON_LINE, OVER_LINE, A_POINT = 2.0, 1.0, 0.025
"""How much it counts that a label stands on a line of the data; that a leader meets one; that a
leader is longer by a typographic point."""
ROUNDS = 12
"""How often the labels may give way to each other."""


@dataclass(frozen=True)
class Place:
    """A place where the label of a point may stand."""

    step_pt: float
    """Its distance from the point, to the side."""
    way: tuple[float, float]
    box: Box
    leader: Segment | None
    """From the mark to the middle of the label; None for a label beside its point."""

    def conflict(self, other: Place) -> float:
        """Return how much it counts that another label stands in that place."""
        cost = BURIED * _overlap(self.box, other.box)
        for one, two in ((self, other), (other, self)):
            cost += CROSSED * (one.leader is not None and _enters(one.leader, two.box))
        both = self.leader is not None and other.leader is not None and _cross(self.leader, other.leader)
        return cost + CROSSED * both


@dataclass(frozen=True)
class Ground:
    """What is drawn before any label stands."""

    frame: Box
    """The axes."""
    marks: Sequence[Box]
    """The mark of each point."""
    lines: Sequence[Box]
    """The lines of the data, a narrow box each."""

    def cost(self, number: int, place: Place) -> float:
        """Return how much of it a label of point `number` hides in a place."""
        cost = OUTSIDE * (not _contains(self.frame, place.box))
        cost += BURIED * sum(_overlap(place.box, mark) for mark in self.marks)
        cost += ON_LINE * sum(_overlap(place.box, line) for line in self.lines)
        if place.leader is None:
            return cost
        leader, own = place.leader, self.marks[number]
        cost += CROSSED * sum(_enters(leader, mark) for each, mark in enumerate(self.marks) if each != number)
        cost += OVER_LINE * sum(_enters(leader, line) for line in self.lines if not _overlap(line, own))
        return cost + A_POINT * place.step_pt * math.hypot(*place.way)


def label_points(ax: Axes, points: Sequence[LineEnd], lines: Sequence[Segment]) -> None:
    """Write the label of each point beside it, where it hides as little as possible.

    It goes to the nearest place around its point that is free of marks, lines and other labels, or
    else to the one that hides least. A leader goes around them too where it can. Call it last: what
    is free depends on the layout.

    Args:
        ax: The axes of the points.
        points: The points with their labels.
        lines: Horizontal and vertical lines that labels should not stand on, in data coordinates.
    """
    figure_of(ax).draw_without_rendering()
    px, frame = figure_of(ax).dpi / 72, ax.get_window_extent()
    marks = [_box_around(ax, ((point.x, point.y), (point.x, point.y)), MARK_PT * px) for point in points]
    drawn = [_box_around(ax, line, px) for line in lines if math.isfinite(sum(map(sum, line)))]
    ground = Ground((frame.x0, frame.y0, frame.x1, frame.y1), marks, drawn)
    labels = [_write_beside(ax, point) for point in points]
    places = [_places(_middle(mark), _size(label), px) for mark, label in zip(marks, labels, strict=True)]
    choices = [[(ground.cost(number, place), place) for place in each] for number, each in enumerate(places)]
    for label, place in zip(labels, arranged(choices), strict=True):
        _put(label, place)


def arranged(choices: Sequence[Sequence[tuple[float, Place]]]) -> list[Place]:
    """Return a place for each label, such that all together hide little.

    The labels are placed one after the other; then each is placed again, the others given, until
    none moves. Of several orders, the one that ends best counts.

    Args:
        choices: The places of each label with what they cost, others apart; the preferred first.
    """
    middles = [_middle(each[0][1].box) for each in choices]
    numbers = range(len(choices))
    down = sorted(numbers, key=lambda number: (-middles[number][1], middles[number][0]))
    across = sorted(numbers, key=lambda number: middles[number])
    found = [_settled(choices, order) for order in (down, down[::-1], across, across[::-1])]
    return min(found, key=lambda one: one[0])[1]


def _settled(choices: Sequence[Sequence[tuple[float, Place]]], order: Sequence[int]) -> tuple[float, list[Place]]:
    """Return what it costs to place labels in an order, and their places."""
    taken = dict[int, tuple[float, Place]]()
    for _ in range(ROUNDS):
        before = dict(taken)
        for number in order:
            others = [place for each, (_, place) in taken.items() if each != number]
            taken[number] = _best(choices[number], others)
        if taken == before:
            break
    pairs = sum(one.conflict(other) for (_, one), (_, other) in combinations(taken.values(), 2))
    return sum(cost for cost, _ in taken.values()) + pairs, [taken[number][1] for number in range(len(choices))]


def _best(choices: Sequence[tuple[float, Place]], others: Sequence[Place]) -> tuple[float, Place]:
    """Return the choice that costs least, other labels given."""
    best, least = choices[0], math.inf
    for cost, place in choices:
        if cost < least and (whole := cost + sum(map(place.conflict, others))) < least:
            best, least = (cost, place), whole
    return best


def _places(anchor: Point, size: Point, px: float) -> list[Place]:
    """Return the places of a label of some size around its point, the nearest first."""
    width, height = size
    places = []
    beside, afar = product((BESIDE_PT,), BESIDE), product(STEPS_PT, AFAR)
    for step_pt, (right, up) in (*beside, *afar):
        x, y = anchor[0] + step_pt * right * px, anchor[1] + step_pt * up * px
        left = x - width / 2 if not right else x if right > 0 else x - width
        box = left, y - height / 2, left + width, y + height / 2
        leader = None if step_pt == BESIDE_PT else _shortened(anchor, _middle(box), MARK_PT * px)
        places.append(Place(step_pt, (right, up), box, leader))
    return places


def _write_beside(ax: Axes, point: LineEnd) -> Annotation:
    """Write a label beside its point, with a leader."""
    return ax.annotate(
        point.label,
        (point.x, point.y),
        (BESIDE_PT, 0.0),
        textcoords="offset points",
        va="center",
        fontsize=LABEL_PT,
        color=readable(point.colour),
        arrowprops={"arrowstyle": "-", "color": point.colour, "lw": 0.6, "shrinkA": 0.0, "shrinkB": MARK_PT},
        parse_math=False,
        zorder=5,
    )


def _put(label: Annotation, place: Place) -> None:
    """Put a label in its place; hide its leader where it needs none."""
    right, up = place.way
    label.set_horizontalalignment("center" if not right else "left" if right > 0 else "right")
    label.xyann = (place.step_pt * right, place.step_pt * up)
    if label.arrow_patch is not None:
        label.arrow_patch.set_visible(place.leader is not None)


def _size(label: Annotation) -> Point:
    """Return the width and height of a label's text in pixels."""
    from matplotlib.text import Text

    label.get_window_extent()  # lays the text out; what it returns includes the leader
    box = Text.get_window_extent(label)
    return box.width, box.height


def _box_around(ax: Axes, line: Segment, margin_px: float) -> Box:
    """Return the box of a horizontal or vertical line in pixels, with a margin."""
    (x0, y0), (x1, y1) = ax.transData.transform(line)
    return min(x0, x1) - margin_px, min(y0, y1) - margin_px, max(x0, x1) + margin_px, max(y0, y1) + margin_px


def _middle(box: Box) -> Point:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def _shortened(start: Point, end: Point, by: float) -> Segment:
    """Return a segment that begins a little later, so that leaders of one point can part."""
    length = math.dist(start, end)
    share = min(1.0, by / length) if length else 0.0
    return (start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])), end


def _contains(outer: Box, inner: Box) -> bool:
    return outer[0] <= inner[0] and outer[1] <= inner[1] and inner[2] <= outer[2] and inner[3] <= outer[3]


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _enters(segment: Segment, box: Box) -> bool:
    """Return whether a segment has a point inside a box."""
    (x0, y0), (x1, y1) = segment
    if not _overlap((min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)), _widened(box)):
        return False
    inside = box[0] <= x0 <= box[2] and box[1] <= y0 <= box[3]
    left, low, right, high = box
    corners = [(left, low), (right, low), (right, high), (left, high), (left, low)]
    return inside or any(_cross(segment, side) for side in pairwise(corners))


def _widened(box: Box) -> Box:
    """Return a box that a horizontal or vertical segment at its edge overlaps."""
    return box[0] - 1e-6, box[1] - 1e-6, box[2] + 1e-6, box[3] + 1e-6


def _cross(one: Segment, other: Segment) -> bool:
    """Return whether two segments have a point in common."""
    a, b = (_side(one, point) for point in other)
    c, d = (_side(other, point) for point in one)
    return a * b <= 0 and c * d <= 0 and (a, b) != (0, 0)


def _side(line: Segment, point: Point) -> float:
    """Return a number whose sign says on which side of a line a point lies."""
    (x0, y0), (x1, y1) = line
    return (x1 - x0) * (point[1] - y0) - (y1 - y0) * (point[0] - x0)
