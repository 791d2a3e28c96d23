"""`Sight`: what scouts may look at: video, lines, question, task, cache; `Scout`: their form."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from atlaskit.agents.scouts.hints import Hints
from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import Kind, canonical_json, is_json
from atlaskit.environment.grid import Grid
from atlaskit.environment.question import Question
from atlaskit.video.subtitles import Line
from atlaskit.video.video import Video

T = TypeVar("T")
HINTS = Kind("hints", 1, is_json(list))
"""A scout's scores of the cells of a grid. Left out: depth and path of the grid, which the interval
determines."""


@dataclass(frozen=True)
class Sight:
    """What a scout may look at in a run. All scouts of the run, and all grids, share it.

    Examples:
        >>> sight = ak.scouts.Sight(video, question, "find it", ak.Cache(None))
        >>> sight.lines == tuple(sorted(video.subtitles.lines, key=lambda line: line.start_s))
        True
    """

    video: Video
    question: Question
    search_task: str
    cache: Cache
    subtitles: bool = True
    """Whether the run uses the video's subtitles."""
    is_replay: bool = False
    """Whether nothing outside the cache may be asked."""
    deadline_s: float | None = None
    """When the time of the run is over, by `clock.now_s`."""
    cancel: threading.Event | None = None
    """Set when the run is interrupted."""
    _once: dict[str, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    @property
    def lines(self) -> tuple[Line, ...]:
        """The subtitle lines that the run may use, in one order whatever order they came in."""
        lines = self.video.subtitles.lines if self.subtitles else ()
        return tuple(sorted(lines, key=lambda line: (line.start_s, line.end_s, line.text)))

    def once(self, name: str, make: Callable[[], T]) -> T:
        """Return what `make` returns, made once in a run: what a scout needs for every grid."""
        if name not in self._once:
            self._once[name] = make()
        return self._once[name]  # type: ignore[no-any-return]

    def kept(self, scout: str, grid: Grid, make: Callable[[], Mapping[int, float] | None], **recipe: Any) -> Scores:
        """Return a scout's scores of cells from the cache, or make and store them.

        So a replay needs neither the file nor what the scout asked.

        Args:
            scout: Name of the scout.
            grid: The grid.
            make: Returns the scores, 0 to 1, by cell; None if there are none now, which is not
                stored.
            recipe: What the scores depend on beside the video and the grid.

        Returns:
            The scores; None if `make` returned none.
        """
        interval = {"start_s": grid.start_s, "end_s": grid.end_s}
        key = HINTS.key(video=self.video.fingerprint, scout=scout, **interval, k=grid.k, recipe=recipe)
        if (found := _scores(self.cache.get(key), grid)) is not None:
            return found
        if (made := make()) is None:
            return None
        self.cache.put(key, canonical_json([[cell, float(score)] for cell, score in sorted(made.items())]).encode())
        return dict(made)


class Scout(Protocol):
    """Any function that says which cells of a grid to look at first.

    Examples:
        >>> def middle(sight, grid):
        ...     return ak.scouts.Hints({grid.size // 2: ak.scouts.Hint(1.0, "it is the middle")})
        >>> ak.ask(video, question, vlm=vlm, search=ak.Search(scouts=[middle])).is_right
        True
    """

    def __call__(self, sight: Sight, grid: Grid, /) -> Hints:
        """Return hints about cells of the grid; the same for the same sight and grid."""


Scores = dict[int, float] | None
"""Scores by cell; None if there are none."""


def _scores(entry: bytes | None, grid: Grid) -> Scores:
    """Return the scores in a cache entry; None if there is none, or it holds anything else."""
    try:
        rows = json.loads(entry or b"null")
    except (ValueError, RecursionError):
        return None
    match = isinstance(rows, list) and all(
        isinstance(row, list) and len(row) == 2 and type(row[0]) is int and type(row[1]) is float for row in rows
    )
    if not match or not all(0 <= cell < grid.size and 0 <= score <= 1 for cell, score in rows):
        return None
    return dict(rows)
