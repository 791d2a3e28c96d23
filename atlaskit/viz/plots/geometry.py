"""Figure of the seconds a cell spans at each depth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from atlaskit.environment.grid import SUB_SECOND, deepest, resolution_s, sub_second_depth
from atlaskit.errors import InputError
from atlaskit.viz.palette import GRID_LINE, REFERENCE_LINE, categorical
from atlaskit.viz.plots.style import MARKERS, NOTE_PT, figure_of, fit_ticks, legend_below, styled_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE_IN = (7.2, 4.2)
"""Width and height of the figure."""
MIN_LABEL_IN = 0.65
"""Smallest width, in inches, that a range of durations needs for its label."""


def resolutions(durations_s: Sequence[float], *, k: int = 8, fps: float = 25.0, ax: Axes | None = None) -> Axes:
    """Draw the resolution of each depth, Δt_d = T / K^(2(d+1)), against duration T (paper §3.1).

    Both axes are logarithmic and in seconds. There is a line for each depth, with a marker at each
    of `durations_s`. An open circle marks where a cell spans one frame; in the grey area below,
    cells are shorter than a frame, so neighbours show the same one, and the line is dotted. D_max,
    the depth at which any single frame is reached, is written above the axes. A dashed line marks
    one second, and rings mark the first depth below it, which `max_depth="auto"` selects (§4.4).

    Args:
        durations_s: Durations to mark, in seconds; at least two different ones.
        k: Cells per side of a grid.
        fps: Frames per second of the video.
        ax: Axes to draw on; None makes a new figure.

    Raises:
        InputError: There are fewer than two different durations, or a duration or `fps` is not
            positive and finite.

    Examples:
        >>> ax = ak.plots.resolutions([60, 3_600, 36_000])
        >>> ax.get_xscale()
        'log'
    """
    if not (fps > 0 and math.isfinite(fps)):
        raise InputError(f"fps must be a positive number of frames per second; got {fps:g}.")
    marked_s = sorted({float(duration_s) for duration_s in durations_s})
    if len(marked_s) < 2 or not all(0 < duration_s < math.inf for duration_s in marked_s):
        raise InputError(f"durations_s must hold two or more different positive numbers of seconds; got {marked_s}.")
    auto_depths = [sub_second_depth(duration_s, k) for duration_s in marked_s]
    finest_s = [resolution_s(duration_s, k, depth) for duration_s, depth in zip(marked_s, auto_depths, strict=True)]
    with styled_axes(ax, SIZE_IN) as ax:
        ax.set(xscale="log", yscale="log", xlim=(marked_s[0] / 1.15, marked_s[-1] * 1.15))
        ax.set_ylim(min(1 / (fps * k**2), 0.6 * min(finest_s)), 2 * resolution_s(marked_s[-1], k, 0))
        for depth in range(max(deepest(marked_s[-1], fps, k), auto_depths[-1] + 1)):
            _draw_depth(ax, depth, marked_s, k, fps)
        ring: dict[str, Any] = {"ms": 11, "mfc": "none", "mec": "black", "mew": 1, "zorder": 4, "clip_on": False}
        ax.plot(marked_s, finest_s, "o", ls="none", label='first below 1 s:\nmax_depth="auto"', **ring)
        ax.axhline(SUB_SECOND, color=REFERENCE_LINE, lw=1, ls="--", label="1 s")
        below = f"below one frame at {fps:g} fps:\nneighbours show the same"
        ax.axhspan(ax.get_ylim()[0], 1 / fps, color=GRID_LINE, lw=0, zorder=0.3, label=below)
        _label_max_depths(ax, marked_s, k, fps)
        ax.set_xticks(marked_s, [_duration_label(duration_s) for duration_s in marked_s])
        ax.minorticks_off()
        ax.yaxis.set_major_formatter("{x:g}")
        ax.set_xlabel("video duration, T")
        ax.set_ylabel("resolution, Δt$_d$ (s)")
        legend_below(ax, ax.get_legend_handles_labels()[0])
        fit_ticks(ax)
    return ax


def _draw_depth(ax: Axes, depth: int, marked_s: Sequence[float], k: int, fps: float) -> None:
    """Draw one depth from the shortest video that uses it, dotted where cells are below a frame."""
    one_frame_s, longest_s = _duration_with_cells(1 / fps, depth, k), marked_s[-1]
    first_s = marked_s[0]
    if depth:
        first_s = max(first_s, _duration_with_cells(min(SUB_SECOND, 1 / fps), depth - 1, k))
    label = f"depth {depth}" if depth else "depth 0, the root"
    colour = categorical(depth)
    look: dict[str, Any] = {"color": colour, "marker": MARKERS[depth % len(MARKERS)], "ms": 5, "lw": 1.8}
    for from_s, to_s, stroke in ((max(first_s, one_frame_s), longest_s, "-"), (first_s, one_frame_s, ":")):
        inner_s = [duration_s for duration_s in marked_s if from_s <= duration_s <= to_s]
        x_s = sorted({from_s, *inner_s, min(to_s, longest_s)})
        if len(x_s) > 1 and from_s < to_s:
            marked = [x_s.index(duration_s) for duration_s in inner_s]
            y_s = [resolution_s(duration_s, k, depth) for duration_s in x_s]
            ax.plot(x_s, y_s, ls=stroke, markevery=marked, label=label, **look)
            label = ""
    if first_s < one_frame_s < longest_s:
        ax.plot(one_frame_s, 1 / fps, "o", ms=6, mfc="white", mec=colour, mew=1.6, zorder=5)


def _duration_with_cells(cell_s: float, depth: int, k: int) -> float:
    """Return the duration, in seconds, of the video whose cells at a depth span `cell_s`."""
    return cell_s / resolution_s(1.0, k, depth)


def _label_max_depths(ax: Axes, marked_s: Sequence[float], k: int, fps: float) -> None:
    """Write D_max above each range of durations that shares it, with thin lines between them."""
    depths = range(deepest(marked_s[0], fps, k), deepest(marked_s[-1], fps, k) + 1)
    inner_s = [_duration_with_cells(1 / fps, depth - 1, k) for depth in depths[:-1]]
    edges_s = [ax.get_xlim()[0], *inner_s, ax.get_xlim()[1]]
    edges = ax.transAxes.inverted().transform(ax.transData.transform([(edge_s, 1.0) for edge_s in edges_s]))[:, 0]
    width_in = ax.bbox.width / figure_of(ax).dpi
    for edge_s in inner_s:
        ax.axvline(edge_s, color=REFERENCE_LINE, lw=0.6, zorder=0.6)
    for depth, left, right in zip(depths, edges[:-1], edges[1:], strict=True):
        if (right - left) * width_in >= MIN_LABEL_IN:
            label = f"D$_{{max}}$ = {depth}"
            ax.text((left + right) / 2, 1.02, label, ha="center", fontsize=NOTE_PT, transform=ax.transAxes)


def _duration_label(duration_s: float) -> str:
    if duration_s < 60:
        return f"{duration_s:.3g} s"
    return f"{duration_s / 60:.3g} min" if duration_s < 3600 else f"{duration_s / 3600:.3g} h"
