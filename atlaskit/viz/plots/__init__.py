"""Figures made from results and tables. None calls a model; only figures of frames decode any."""

from atlaskit.viz.plots.costs import failure_modes, tokens_by_role
from atlaskit.viz.plots.depths import depth_budget
from atlaskit.viz.plots.episodes import rewards
from atlaskit.viz.plots.fronts import pareto
from atlaskit.viz.plots.geometry import resolutions
from atlaskit.viz.plots.runs import before_after, path
from atlaskit.viz.plots.style import save
from atlaskit.viz.plots.tables import against_duration, against_spread
from atlaskit.viz.plots.workers import worker_scaling

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
