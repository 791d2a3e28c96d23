"""Figures of the map itself: of its geometry alone, whatever the video."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from atlaskit.environment.grid import SUB_SECOND, deepest, resolution_s, sub_second_depth
from atlaskit.errors import InputError
from atlaskit.viz.plots.style import STYLE, colour
from atlaskit.viz.plots.tables import MARKERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NARROW = 0.08
"""A zone of durations that is a smaller share of the axis goes without its words."""
QUIET = "0.35"
"""The grey of lines that are no data."""


def resolutions(durations_s: Sequence[float], *, k: int = 8, fps: float = 25.0, ax: Axes | None = None) -> Axes:
    """Draw how long a cell is at each depth, Δt_d = T / K^(2(d+1)), against the duration T of the video (paper §3.1).

    Both axes are in seconds, and logarithmic. A line is a depth, the signs on it are the durations that were named.
    Where cells become a single frame stands an open circle; in the grey below they are shorter than a frame, so that
    neighbours show the same one, and the line is dotted. D_max, the steps that reach any single frame, is written
    above the axes: a video of more than one frame has that many lines. A dashed line marks a second, and a ring the
    first depth whose cells are shorter, `max_depth="auto"` (§4.4).

    Raises InputError for fewer than two different durations, for one that is no positive number of seconds, and for
    a rate that is no positive number of frames a second.
    """
    import matplotlib.pyplot as plt

    if not (fps > 0 and math.isfinite(fps)):
        raise InputError(f"A video has a positive number of frames a second, got {fps:g}.")
    named_s = sorted({float(duration_s) for duration_s in durations_s})
    if len(named_s) < 2 or not all(0 < duration_s < math.inf for duration_s in named_s):
        raise InputError(f"Name two durations or more, each a positive number of seconds; got {named_s}.")
    auto = [sub_second_depth(duration_s, k) for duration_s in named_s]
    finest_s = [resolution_s(duration_s, k, depth) for duration_s, depth in zip(named_s, auto, strict=True)]
    with plt.style.context(STYLE):
        if ax is None:
            _, ax = plt.subplots()
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlim(named_s[0] / 1.15, named_s[-1] * 1.15)
        ax.set_ylim(min(1 / (fps * k**2), 0.6 * min(finest_s)), 2 * resolution_s(named_s[-1], k, 0))
        for depth in range(max(deepest(named_s[-1], fps, k), auto[-1] + 1)):
            _draw_depth(ax, depth, named_s, k, fps)
        ring: dict[str, Any] = {"ms": 11, "mfc": "none", "mec": "black", "mew": 1, "zorder": 4, "clip_on": False}
        ax.plot(named_s, finest_s, "o", ls="none", label='first below 1 s:\nmax_depth="auto"', **ring)
        ax.axhline(SUB_SECOND, color=QUIET, lw=1, ls="--", label="1 s")
        below = f"below a frame at {fps:g} fps:\nneighbours show the same"
        ax.axhspan(ax.get_ylim()[0], 1 / fps, color="#e6e8ec", lw=0, zorder=0.3, label=below)
        _name_steps(ax, named_s, k, fps)
        ax.set_xticks(named_s, [_called(duration_s) for duration_s in named_s])
        ax.minorticks_off()
        ax.yaxis.set_major_formatter("{x:g}")
        ax.set_xlabel("duration of the video, T")
        ax.set_ylabel("length of a cell, Δt$_d$ (s)")
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def _draw_depth(ax: Axes, depth: int, named_s: Sequence[float], k: int, fps: float) -> None:
    """Draw a depth's line from the shortest video that has a use for it, dotted where cells are below a frame."""
    one_frame_s, longest_s = _lasting(1 / fps, depth, k), named_s[-1]
    first_s = max(named_s[0], _lasting(min(SUB_SECOND, 1 / fps), depth - 1, k)) if depth else named_s[0]
    label = f"depth {depth}" if depth else "depth 0, the root"
    ink = colour(depth)
    look: dict[str, Any] = {"color": ink, "marker": MARKERS[depth % len(MARKERS)], "ms": 5, "lw": 1.8}
    for from_s, to_s, stroke in ((max(first_s, one_frame_s), longest_s, "-"), (first_s, one_frame_s, ":")):
        inner_s = [each for each in named_s if from_s <= each <= to_s]
        at_s = sorted({from_s, *inner_s, min(to_s, longest_s)})
        if len(at_s) > 1 and from_s < to_s:
            signs = [at_s.index(each) for each in inner_s]
            spans_s = [resolution_s(each, k, depth) for each in at_s]
            ax.plot(at_s, spans_s, ls=stroke, markevery=signs, label=label, **look)
            label = ""
    if first_s < one_frame_s < longest_s:
        ax.plot(one_frame_s, 1 / fps, "o", ms=6, mfc="white", mec=ink, mew=1.6, zorder=5)


def _lasting(cell_s: float, depth: int, k: int) -> float:
    """Return the duration, in seconds, of the video whose cells at a depth are this long."""
    return cell_s / resolution_s(1.0, k, depth)


def _name_steps(ax: Axes, named_s: Sequence[float], k: int, fps: float) -> None:
    """Write D_max above the durations that have it, with thin lines between."""
    steps = range(deepest(named_s[0], fps, k), deepest(named_s[-1], fps, k) + 1)
    edges_s = [ax.get_xlim()[0], *(_lasting(1 / fps, step - 1, k) for step in steps[:-1]), ax.get_xlim()[1]]
    places = ax.transAxes.inverted().transform(ax.transData.transform([(edge_s, 1.0) for edge_s in edges_s]))[:, 0]
    for edge_s in edges_s[1:-1]:
        ax.axvline(edge_s, color=QUIET, lw=0.6, zorder=0.6)
    for step, left, right in zip(steps, places[:-1], places[1:], strict=True):
        if right - left >= NARROW:
            ax.text((left + right) / 2, 1.02, f"D$_{{max}}$ = {step}", ha="center", fontsize=8, transform=ax.transAxes)


def _called(duration_s: float) -> str:
    if duration_s < 60:
        return f"{duration_s:.3g} s"
    return f"{duration_s / 60:.3g} min" if duration_s < 3600 else f"{duration_s / 3600:.3g} h"
