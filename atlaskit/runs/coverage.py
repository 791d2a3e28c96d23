"""`Coverage`: how finely each part of a video was seen in a run, which proves a "not there".

The measure is the step: the seconds between two neighbouring frames. Only frames that a model was
shown count.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from atlaskit.environment.atlas import EVEN_S
from atlaskit.environment.grid import clock
from atlaskit.environment.memory import Seen
from atlaskit.environment.question import Span
from atlaskit.runs.events import Look, Plan, Probe, Review, Step
from atlaskit.runs.trace import Trace


@dataclass(frozen=True)
class Coverage:
    """How finely each part of the searched interval was seen.

    Examples:
        >>> coverage = result.coverage
        >>> coverage.share(600.0)
        1.0
        >>> coverage.within == result.within
        True
    """

    within: Span
    """The interval that was searched, in seconds."""
    seen: Seen = Seen()
    """The parts that were shown, each with its finest step."""
    goal_s: float | None = None
    """The step at which the search aimed to see the whole; None if it had no such aim."""
    is_even: bool = True
    """Whether the frames of all cells are midpoints. If not, only those at steps of up to EVEN_S
    are, and at a coarser step two neighbouring frames may be two steps apart."""

    def share(self, step_s: float) -> float:
        """Return the share that was seen at a step in seconds or finer, in [0, 1]."""
        return self.seen.at(step_s).coverage(*self.within)

    def unseen(self, step_s: float) -> tuple[Span, ...]:
        """Return the stretches that were not seen at a step in seconds or finer, in order."""
        return self.seen.unseen(*self.within, step_s)

    @property
    def step_s(self) -> float | None:
        """The coarsest step, in seconds, at which a part was seen; None if a part was not seen."""
        if not self.seen.parts or self.unseen(math.inf):
            return None
        return max(step_s for _, _, step_s in self.seen.parts)

    @property
    def shortest_event_s(self) -> float | None:
        """The least duration, in seconds, of an event that cannot have been missed.

        A shorter event may lie between two shown frames. None if a part was not seen.
        """
        if self.step_s is None:
            return None
        longest_gap_s = 0.0
        for _, _, step_s in self.seen.parts:
            is_even = self.is_even or step_s <= EVEN_S
            gap_s = step_s if is_even else 2 * step_s
            longest_gap_s = max(longest_gap_s, gap_s)
        return longest_gap_s

    @property
    def is_complete(self) -> bool:
        """Whether the whole was seen at the step that the search aimed at."""
        return self.goal_s is not None and not self.unseen(self.goal_s)

    @property
    def text(self) -> str:
        """The coverage in words."""
        if not self.seen.parts:
            return "nothing was seen as sheets"
        start_s, end_s = self.within
        step_s = self.goal_s or max(step_s for _, _, step_s in self.seen.parts)
        rest = self.unseen(step_s)
        unseen_s = sum(b - a for a, b in rest)
        seen = clock(end_s - start_s - unseen_s)
        clauses = [f"{seen} of {clock(end_s - start_s)} at {step_s:.3g} s or finer"]
        if rest:
            a, b = max(rest, key=lambda span: span[1] - span[0])
            clauses.append(f"longest stretch not seen so finely: {b - a:.3g} s from {clock(a)}")
        if self.shortest_event_s is not None:
            clauses.append(
                f"anything that lasts {self.shortest_event_s:.3g} s or longer was in a frame"
            )
        return "; ".join(clauses)

    def to_json(self) -> dict[str, Any]:
        """Return the parts, each [start_s, end_s, step_s], and the step aimed at."""
        return {"goal_s": self.goal_s, "parts": [list(part) for part in self.seen.parts]}

    def __str__(self) -> str:
        return self.text


def recorded_edges(settings: Mapping[str, Any]) -> tuple[float, ...]:
    """Return the cell boundaries of the root grid in seconds, which runs on collections record.

    () for any other video, and if the setting is invalid, as it may be in a trace from elsewhere.
    """
    edges_s = settings.get("edges_s")
    if not isinstance(edges_s, list) or len(edges_s) < 2:
        return ()
    for edge_s in edges_s:
        if not isinstance(edge_s, int | float) or not math.isfinite(edge_s):
            return ()
    return tuple(map(float, edges_s))


def coverage_of(trace: Trace, within: Span, settings: dict[str, Any]) -> Coverage:
    """Return how finely a video was seen in a run.

    Args:
        trace: The trace.
        within: The interval that was searched, in seconds.
        settings: The settings of the run.
    """
    k = settings.get("k")
    cells = 0  # unknown: a trace from elsewhere may have no valid k
    root_step_s = 0.0
    if isinstance(k, int) and k > 0:
        cells = k * k
        root_step_s = (within[1] - within[0]) / cells
    edges_s = recorded_edges(settings)
    if edges_s:  # the cells differ in length: the longest counts
        root_step_s = max(b - a for a, b in pairwise(edges_s))
    seen = Seen()
    for start_s, end_s, step_s in _shown(trace, within, cells, root_step_s):
        if 0 <= start_s < end_s:
            seen = seen.add(start_s, end_s, step_s)
    # A search by looks aims at the duration of the event: at such a step, a frame must show it.
    goal_s = next((plan.lasts_s for plan in trace.of(Plan)), None)
    is_even = settings.get("sampling", "midpoint") == "midpoint"
    return Coverage(within, seen, goal_s=goal_s, is_even=is_even)


def _shown(
    trace: Trace, within: Span, cells: int, root_step_s: float
) -> Iterator[tuple[float, float, float]]:
    """Yield each stretch that a grid showed, as (start_s, end_s, step_s)."""
    for event in trace:
        if isinstance(event, Look):
            for (start_s, end_s), step_s in zip(event.intervals_s, event.steps_s, strict=True):
                yield start_s, end_s, step_s
        elif isinstance(event, Plan | Probe | Review) and cells:
            yield *within, root_step_s
        elif isinstance(event, Step) and cells:
            start_s, end_s = event.interval_s
            yield start_s, end_s, (end_s - start_s) / cells
