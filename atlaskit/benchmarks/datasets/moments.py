"""Intervals of dataset rows, with the oddities of real rows, and questions that ask for them.

The oddities are kept, since leaving questions out would change a published mean: the ends of a
reversed interval are put in order, a start before the video becomes its start, and an interval of
no length or beyond the video's end stays as it is (an answer to the former always scores 0).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from pydantic import Field

from atlaskit.environment.question import Span, Spans

Seconds = Annotated[float, Field(allow_inf_nan=False)]
Interval = tuple[Seconds, Seconds]
"""An interval of a row: a start and an end in seconds."""


def in_order(intervals: Iterable[Span]) -> Spans:
    """Return intervals with their earlier end first, and no end before the start of the video."""
    return tuple((max(0.0, min(span)), max(0.0, max(span))) for span in intervals)


def oddity(intervals: Iterable[Span], duration_s: float | None = None) -> str:
    """Return what is odd about the intervals of a row: words separated by ", ", or "".

    Args:
        intervals: The intervals as published.
        duration_s: Duration of the video in seconds, where the row tells it.
    """
    spans = list(intervals)
    faults = {
        "reversed": any(start_s > end_s for start_s, end_s in spans),
        "empty": any(start_s == end_s for start_s, end_s in spans),
        "before the start": any(min(span) < 0 for span in spans),
        "beyond the end": duration_s is not None and any(max(span) > duration_s for span in spans),
    }
    return ", ".join(name for name, applies in faults.items() if applies)


def when_shown(description: str) -> str:
    """Return the question of when the video shows what a sentence describes."""
    return f"When does the video show this: “{description.strip()}”"
