"""Figure of the seconds a cell spans at each depth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from atlaskit.environment.grid import SUB_SECOND, deepest, resolution_s, sub_second_depth
from atlaskit.errors import InputError
from atlaskit.viz.palette import GRID_LINE, REFERENCE_LINE
from atlaskit.viz.plots.style import duration_label, label_ends, styled_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE_IN = (7.2, 4.2)
"""Width and height of the figure."""


def resolutions(durations_s: Sequence[float], *, k: int = 8, fps: float = 25.0, ax: Axes | None = None) -> Axes:
    """Draw the resolution of each depth, Δt_d = T / K^(2(d+1)), against duration T (paper §3.1).

    Both axes are logarithmic and in seconds. There is a line for each depth, with a marker at each
    of `durations_s`. In the grey area, cells are shorter than a frame, so neighbours show the same
    one. D_max, the depth at which any single frame is reached, is written
    below each duration. A dashed line marks one second, and rings mark the first depth below it,
    which `max_depth="auto"` selects (§4.4).

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
    import pandas as pd
    import seaborn as sns

    if not (fps > 0 and math.isfinite(fps)):
        raise InputError(f"fps must be a positive number of frames per second; got {fps:g}.")
    marked_s = sorted({float(duration_s) for duration_s in durations_s})
    if len(marked_s) < 2 or not all(0 < duration_s < math.inf for duration_s in marked_s):
        raise InputError(f"durations_s must hold two or more different positive numbers of seconds; got {marked_s}.")
    auto_depths = [sub_second_depth(duration_s, k) for duration_s in marked_s]
    finest_s = [resolution_s(duration_s, k, depth) for duration_s, depth in zip(marked_s, auto_depths, strict=True)]
    depths = range(max(deepest(marked_s[-1], fps, k), auto_depths[-1] + 1))
    names = {depth: f"depth {depth}" if depth else "depth 0, the root" for depth in depths}
    points = [(names[depth], each, resolution_s(each, k, depth)) for depth in depths for each in marked_s]
    table = pd.DataFrame(points, columns=["depth", "duration_s", "cell_s"])
    with styled_axes(ax, SIZE_IN) as ax:
        shared: dict[str, Any] = {"hue": "depth", "style": "depth", "dashes": False, "markers": True, "legend": False}
        sns.lineplot(table, x="duration_s", y="cell_s", **shared, estimator=None, linewidth=1.8, ax=ax)
        ring: dict[str, Any] = {"ms": 11, "mfc": "none", "mec": "black", "mew": 1, "zorder": 4, "clip_on": False}
        ax.plot(marked_s, finest_s, "o", ls="none", label='first below 1 s: max_depth="auto"', **ring)
        ax.axhline(SUB_SECOND, color=REFERENCE_LINE, lw=1, ls="--", label="1 s")
        ax.set(xscale="log", yscale="log", xlim=(marked_s[0] / 1.15, marked_s[-1] * 1.15))
        ax.set_ylim(min(1 / (fps * k**2), 0.6 * min(finest_s)), 2 * resolution_s(marked_s[-1], k, 0))
        below = f"below one frame at {fps:g} fps: neighbours show the same"
        ax.axhspan(ax.get_ylim()[0], 1 / fps, color=GRID_LINE, lw=0, zorder=0.3, label=below)
        labels = [f"{duration_label(each)}\n{deepest(each, fps, k)}" for each in marked_s]
        ax.set_xticks(marked_s, labels)
        ax.minorticks_off()
        ax.yaxis.set_major_formatter("{x:g}")
        ax.set(xlabel="video duration T, and below it D_max", ylabel="resolution, Δt (s)")
        ax.legend(loc="upper left")
        label_ends(ax, list(names.values()))
    return ax
