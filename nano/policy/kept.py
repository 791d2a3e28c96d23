"""`Kept`: the stored result of a training, in a file whose name is a hash of the recipe."""

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
        """Return episodes, given as the rows that `trials` returns, as columns."""
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
        """Return the result from the first folder that has it, or None.

        Args:
            folders: Folders of results.
            parts: The parts of the result's key: `Recipe.parts`.
        """
        for folder in folders:
            path = folder / _name(parts)
            if path.exists():
                return cls.model_validate_json(lzma.decompress(path.read_bytes()))
        return None

    def write(self, folder: Path, parts: dict[str, Any]) -> None:
        """Write the result to a folder, which is created if it is missing."""
        folder.mkdir(parents=True, exist_ok=True)
        compressed = lzma.compress(self.model_dump_json().encode(), preset=9)
        (folder / _name(parts)).write_bytes(compressed)


def _name(parts: dict[str, Any]) -> str:
    """Return the name of a result's file, from the parts of its key.

    The versions of PyTorch and of sb3-contrib and the machine are no parts of the key. They change
    the last digits of floats, and so the course of a training, but not the recipe.
    """
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    return f"{digest[:16]}.json.xz"
