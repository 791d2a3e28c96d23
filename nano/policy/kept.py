"""`Kept`: what is kept of a trained policy, in a file of its own, named by the recipe."""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, NonNegativeFloat, NonNegativeInt, model_validator


class Episodes(BaseModel):
    """Episodes of one policy at one point of its training, as columns, which take little room."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)

    policy: str
    trained: NonNegativeInt
    """Steps of training before these episodes."""
    world: list[NonNegativeInt]
    question: list[str]
    category: list[str]
    reward: list[float]
    score: list[float]
    right: list[bool]
    steps: list[NonNegativeInt]
    actions: list[str]

    @model_validator(mode="after")
    def _are_even(self) -> Episodes:
        if len({len(column) for column in self.columns.values()}) != 1:
            raise ValueError("columns of different lengths")
        return self

    @classmethod
    def of(cls, policy: str, trained: int, rows: list[dict[str, Any]]) -> Episodes:
        """Return the rows of `trials` as columns."""
        return cls(
            policy=policy,
            trained=trained,
            **{name: [row[name] for row in rows] for name in COLUMNS},
        )

    @property
    def columns(self) -> dict[str, list[Any]]:
        """The columns that have a value for each episode."""
        return {name: getattr(self, name) for name in COLUMNS}


COLUMNS = ("world", "question", "category", "reward", "score", "right", "steps", "actions")


class Kept(BaseModel):
    """A result: the episodes of the curve, those of the measurement at the end, and the cost."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)

    curve: list[Episodes]
    test: list[Episodes]
    cpu_s: NonNegativeFloat
    """Seconds of processor time of the training, without its trials."""

    @classmethod
    def read(cls, folders: Iterable[Path], parts: dict[str, Any]) -> Kept | None:
        """Return the result of a recipe's parts from the first folder that has it, or None."""
        paths = (folder / _name(parts) for folder in folders)
        return next(
            (cls.model_validate_json(lzma.decompress(p.read_bytes())) for p in paths if p.exists()),
            None,
        )

    def write(self, folder: Path, parts: dict[str, Any]) -> None:
        """Write the result of a recipe's parts to a folder, which is made if it is missing."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _name(parts)).write_bytes(
            lzma.compress(self.model_dump_json().encode(), preset=9)
        )


def _name(parts: dict[str, Any]) -> str:
    """Return the name of the file of a recipe's result.

    Left out: the versions of PyTorch and of the trainer, and the machine. They change the last
    digits of a float, and so the run, but not what the recipe says.
    """
    return f"{hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]}.json.xz"
