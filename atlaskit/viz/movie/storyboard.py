"""Which events of a run are shown at once, and how long: so that a film is short, whatever the run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from atlaskit.runs.trace import Trace

MOST_BEATS = 80
TOLD_S, FIRST_S, LAST_S = 40.0, 2.0, 5.0
"""How long a film is between its beginning and its end, if that is long enough for each beat, or not too long."""
SHORTEST_S, LONGEST_S = 0.4, 1.2

Beat = list[int]
"""The places of events in a trace."""


def beats(trace: Trace) -> list[Beat]:
    """Return the events that are shown together, in order; of a long run several beats become one."""
    told = list(_beats(trace))
    if len(told) <= MOST_BEATS:
        return told
    edges = [round(number * len(told) / MOST_BEATS) for number in range(MOST_BEATS + 1)]
    return [[place for beat in told[first:last] for place in beat] for first, last in pairwise(edges)]


def pace(number: int, count: int) -> float:
    """Return how many seconds one of `count` beats stands; the one after the last is the end."""
    if number in (0, count):
        return LAST_S if number else FIRST_S
    return min(LONGEST_S, max(SHORTEST_S, TOLD_S / count))


def _beats(trace: Trace) -> Iterator[Beat]:
    """Yield the first steps of all workers of a round, then their second ones; their reports; all else by itself."""
    out: dict[int, Beat] = {}
    back: Beat = []
    for place, event in enumerate(trace):
        if event.worker is not None and event.kind != "report":
            out.setdefault(event.worker, []).append(place)
            continue
        yield from _at_once(out)
        out = {}
        if event.kind == "report":
            back.append(place)
            continue
        if back:
            yield back
            back = []
        yield [place]
    yield from _at_once(out)
    if back:
        yield back


def _at_once(out: dict[int, Beat]) -> Iterator[Beat]:
    for number in range(max(map(len, out.values()), default=0)):
        yield [places[number] for _, places in sorted(out.items()) if number < len(places)]
