"""`change`: the cells in which more changes than usual, from the sizes of the video's packets."""

from __future__ import annotations

from bisect import bisect_left

from atlaskit.agents.scouts.hints import Hint, Hints, Usual
from atlaskit.agents.scouts.sight import Sight
from atlaskit.environment.grid import Grid
from atlaskit.video.activity import Activity

MOST = 0.75
"""The highest score: where much changes, it need not be what is asked about."""
LEVELS_ABOVE = 1.0
"""A peak stands out fully from so much above the usual one: by the bytes that are usual there."""
CUTS_ABOVE = 4.0
"""A cell stands out fully from so many scene cuts above the usual number."""


def change(sight: Sight, grid: Grid) -> Hints:
    """Name the cells with more activity, or more scene cuts, than other cells of the grid.

    The sizes of packets tell, and nothing is decoded. What it finds depends on no question. A video
    without packets, such as a world that is drawn on demand, has no hints.

    Examples:
        >>> by_name = ak.Search(scouts=["change"])
        >>> ak.ask(video, question, vlm=vlm, search=by_name).is_right
        True
    """
    scores = sight.kept("change", grid, lambda: _scores(sight.video.activity(sight.cache), grid))
    if scores is None:
        return Hints(note="The video has no packets whose sizes could tell.")
    return Hints({cell: Hint(score, "much changes there") for cell, score in scores.items() if score})


def _scores(activity: Activity | None, grid: Grid) -> dict[int, float] | None:
    """Return how far each cell stands out by its peak of activity or its cuts, up to MOST."""
    if activity is None:
        return None
    peaks = [peak(activity, cell.start_s, cell.end_s) for cell in grid.cells]
    counts = [cuts(activity, cell.start_s, cell.end_s) for cell in grid.cells]
    usual_peak, usual_count = Usual.of(peaks, LEVELS_ABOVE), Usual.of(counts, CUTS_ABOVE)
    return {
        index: MOST * max(usual_peak.standout(peaks[index]), usual_count.standout(counts[index]))
        for index in range(grid.size)
    }


def peak(activity: Activity, start_s: float, end_s: float) -> float:
    """Return the highest level of the steps that overlap an interval; 0 if there are none."""
    first = int(start_s // activity.step_s)
    last = max(first + 1, -int(-end_s // activity.step_s))
    return max(activity.levels[first:last], default=0.0)


def cuts(activity: Activity, start_s: float, end_s: float) -> int:
    """Return how many presumed cuts lie in an interval."""
    return bisect_left(activity.cuts_s, end_s) - bisect_left(activity.cuts_s, start_s)
