"""Figures made from results and tables. None calls a model; only figures of frames decode any."""

from atlaskit.viz.plots.costs import failure_modes, pareto, tokens_by_role
from atlaskit.viz.plots.runs import before_after, path, resolutions, rewards
from atlaskit.viz.plots.style import save
from atlaskit.viz.plots.tables import against_duration, against_spread, depth_budget, worker_scaling

__all__ = [
    "against_duration",
    "against_spread",
    "before_after",
    "depth_budget",
    "failure_modes",
    "pareto",
    "path",
    "resolutions",
    "rewards",
    "save",
    "tokens_by_role",
    "worker_scaling",
]


def __dir__() -> list[str]:
    """List the public names only."""
    return __all__
