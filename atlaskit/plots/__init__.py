"""Figures made from results and tables. Nothing here calls a model or decodes a frame."""

from atlaskit.plots.costs import failure_modes, tokens_by_role
from atlaskit.plots.maps import resolutions
from atlaskit.plots.runs import path, rounds
from atlaskit.plots.style import save
from atlaskit.plots.tables import against_duration, against_spread, depth_budget
from atlaskit.plots.workers import worker_scaling

__all__ = [
    "against_duration",
    "against_spread",
    "depth_budget",
    "failure_modes",
    "path",
    "resolutions",
    "rounds",
    "save",
    "tokens_by_role",
    "worker_scaling",
]
