"""Figures made from results and tables. Nothing here calls a model or decodes a frame."""

from atlaskit.plots.runs import path, rounds
from atlaskit.plots.style import save
from atlaskit.plots.tables import against_duration

__all__ = ["against_duration", "path", "rounds", "save"]
