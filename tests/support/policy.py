"""A reader of grids that looks into the script, for tests of the policy without PyTorch."""

import numpy as np

import atlasworld as aw
from atlaskit.environment.atlas import Observation
from atlasworld.timeline import Script
from nano.policy.query import Floats
from nano.teacher.labels import VALUES, content_at, encode


def one_hot(script: Script, times_s: list[float]) -> Floats:
    """Return what perfect eyes would see at some seconds, (times, values)."""
    codes = [encode(content_at(script, time_s)) for time_s in times_s]
    parts = [
        np.eye(len(values))[list(column)]
        for values, column in zip(VALUES.values(), zip(*codes, strict=True), strict=True)
    ]
    return np.concatenate([part.astype(np.float32) for part in parts], axis=1)


class PerfectEyes:
    """Reads the grids of the worlds that it is told of."""

    def __init__(self, seeds: range, duration_s: float, size: tuple[int, int] = (128, 72)) -> None:
        worlds = [aw.world(seed, duration_s, size=size) for seed in seeds]
        self._scripts = {world.drawn.fingerprint: world.script for world in worlds}

    def __call__(self, observation: Observation) -> Floats:
        view = observation.view
        return one_hot(self._scripts[view.video.fingerprint], list(view.moments))
