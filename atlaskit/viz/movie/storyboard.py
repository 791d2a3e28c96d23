"""Which events of a run a movie shows together, and for how long, so that it is always short."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from atlaskit.runs.trace import Trace

MAX_SCENES = 80
MIDDLE_S, FIRST_S, LAST_S = 40.0, 2.0, 5.0
"""Seconds of all scenes between the first and the end, of the first, and of the end."""
MIN_S, MAX_S = 0.4, 1.2
"""Bounds on the seconds of a scene between the first and the end."""

Scene = list[int]
"""Indices in the trace of the events that are shown together."""


def scenes(trace: Trace) -> list[Scene]:
    """Return the scenes of a trace, at most MAX_SCENES, in order; each event is in one.

    A scene has the first steps of all workers of a round, or their second ones, and so on; the
    reports of a round; or one other event. In a long run, neighbouring scenes are joined.
    """
    all_scenes = list(_scenes(trace))
    if len(all_scenes) <= MAX_SCENES:
        return all_scenes
    bounds = [round(number * len(all_scenes) / MAX_SCENES) for number in range(MAX_SCENES + 1)]
    return [[index for scene in all_scenes[first:last] for index in scene] for first, last in pairwise(bounds)]


def scene_seconds(number: int, count: int) -> float:
    """Return the seconds that scene `number` of `count` is shown; number `count` is the end."""
    if number == 0:
        return FIRST_S
    if number == count:
        return LAST_S
    return min(MAX_S, max(MIN_S, MIDDLE_S / count))


def _scenes(trace: Trace) -> Iterator[Scene]:
    steps: dict[int, Scene] = {}
    reports: Scene = []
    for index, event in enumerate(trace):
        if event.worker is not None and event.kind != "report":
            steps.setdefault(event.worker, []).append(index)
            continue
        yield from _interleaved(steps)
        steps = {}
        if event.kind == "report":
            reports.append(index)
            continue
        if reports:
            yield reports
            reports = []
        yield [index]
    yield from _interleaved(steps)
    if reports:
        yield reports


def _interleaved(steps: dict[int, Scene]) -> Iterator[Scene]:
    """Yield the first event of each worker, then the second of each, and so on."""
    for number in range(max(map(len, steps.values()), default=0)):
        yield [indices[number] for _, indices in sorted(steps.items()) if number < len(indices)]
