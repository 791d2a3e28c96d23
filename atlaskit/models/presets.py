"""What suits a model, by its name: the grid, the cell size and the steps that it handles best."""

from __future__ import annotations

from dataclasses import dataclass

from atlaskit.models.protocol import Model


@dataclass(frozen=True)
class Preset:
    """How a model is asked where `ask` is not told otherwise: what it reads best."""

    k: int = 8
    cell: int = 320
    steps: int = 12
    plateau: int | None = None


NANO = Preset(k=4, cell=128, steps=40, plateau=39)
"""What the model that comes with the kit was taught with: it knows no other grid."""


def preset_for(model: Model) -> Preset:
    """Return what suits a model, going by its name: a folder is served as "folder@hash"."""
    return NANO if is_nano(model.name) else Preset()


def is_nano(name: str) -> bool:
    """Tell by its name whether a model is the one that is made with the kit, which knows its own grid and tokens."""
    return name.partition("@")[0] == "nano"
