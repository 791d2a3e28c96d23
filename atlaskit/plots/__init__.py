"""Figures made from results and tables. Nothing here calls a model or decodes a frame."""

from atlaskit.plots.runs import path, rounds
from atlaskit.plots.style import save
from atlaskit.plots.tables import against_duration, against_spread, depth_budget

__all__ = ["against_duration", "against_spread", "depth_budget", "path", "rounds", "save"]
