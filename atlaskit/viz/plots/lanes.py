"""`Lane` and `draw_lanes`: rows over the time of a video, such as evidence, visits, dead zones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from atlaskit.environment.grid import clock
from atlaskit.environment.question import Span

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHORTEST = 0.004
"""Length of the shortest bar that can be seen on the axis of time, as a share of the axis."""
TICK_STEPS_S = (0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 18_000, 36_000, 86_400)


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


def draw_lanes(ax: Axes, lanes: Sequence[Lane], duration_s: float, most_ticks: int = 12) -> None:
    """Draw lanes as rows over the time of a video, the first on top."""
    for row, lane in enumerate(lanes):
        for spans, fill in ((lane.filled, lane.colour), (lane.outlined, "none")):
            for start_s, end_s in spans:
                length_s = max(end_s - start_s, SHORTEST * duration_s)
                ax.barh(row, length_s, left=start_s, height=0.6, facecolor=fill, edgecolor=lane.colour)
        for times_s, label in _merge_close_labels(lane.moments, min_gap_s=0.02 * duration_s):
            ax.plot(times_s, [row] * len(times_s), "o", ms=4, color="black")
            middle_s = sum(times_s) / len(times_s)
            ax.annotate(label, (middle_s, row), (0, 5), textcoords="offset points", ha="center", fontsize=8)
    ax.set_yticks(range(len(lanes)), [lane.name for lane in lanes], fontsize=8)
    ax.set(xlim=(0, duration_s), ylim=(len(lanes) - 0.4, -0.9))
    ticks = tick_times(duration_s, most_ticks)
    ax.set_xticks(ticks, [clock(tick).removesuffix(".0") for tick in ticks])
    ax.grid(axis="y", visible=False)


def tick_times(duration_s: float, most: int) -> list[float]:
    """Return the times in seconds, from 0 on, at which an axis over a duration has ticks."""
    step_s = next((step for step in TICK_STEPS_S if duration_s / step <= most), duration_s / 4)
    return [number * step_s for number in range(int(duration_s / step_s) + 1)]


def _merge_close_labels(labels: Iterable[tuple[float, str]], min_gap_s: float) -> list[tuple[list[float], str]]:
    """Return groups of times in seconds, each with one label: close labels would overlap."""
    groups: list[tuple[list[float], str]] = []
    for time_s, label in sorted(labels):
        if groups and time_s - groups[-1][0][-1] < min_gap_s:
            times_s, merged = groups.pop()
            groups.append(([*times_s, time_s], f"{merged} {label}"))
        else:
            groups.append(([time_s], label))
    return groups
