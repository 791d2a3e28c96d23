"""`setting_rows`: the settings of a run under names that people understand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from atlaskit.runs.narrate import value_text
from atlaskit.viz.html.markup import plain_text

NAMES = {
    "k": "cells in a row and in a column (k)",
    "cell": "longer side of a cell in pixels (cell)",
    "fit": "how a frame fills its cell (fit)",
    "patch": "side of an image token in pixels (patch)",
    "cells": "cells that are drawn (cells)",
    "sampling": "frame that stands for a cell (sampling)",
    "max_depth": "deepest grid (max_depth)",
    "traversal": "order of the search (traversal)",
    "steps": "most steps of a worker in one visit (steps)",
    "plateau": "steps without a finding after which a worker stops (plateau)",
    "look_ahead": "the next round is scored while workers explore (look_ahead)",
    "scouts": "scouts that say where to look first",
    "votes": "votes on the answer",
}
"""Plain names of settings, in the order in which they are shown. Others follow under their own."""
MAX_SETTINGS = 64


def setting_rows(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the settings of a run as names and texts.

    Args:
        settings: The settings that the trace of the run begins with.
    """
    order = {name: place for place, name in enumerate(NAMES)}
    known = sorted(settings, key=lambda name: (order.get(name, len(order)), name))[:MAX_SETTINGS]
    return [(plain_text(NAMES.get(name, name.replace("_", " ")), 80), _text(settings[name])) for name in known]


def _text(value: Any) -> str:
    """Return a value in words: limits that are not set are left out."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        parts = [f"{str(name).replace('_', ' ')} {_text(part)}" for name, part in value.items() if part is not None]
        return plain_text(", ".join(sorted(parts)) or "none", 600)
    if isinstance(value, list):
        return plain_text(", ".join(map(_text, value)) or "none", 600)
    return plain_text("none" if value is None else value_text(value), 600)
