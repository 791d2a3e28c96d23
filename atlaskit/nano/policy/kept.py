"""`Kept`: what the cache keeps of a trained policy, checked, since it may come from elsewhere."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, NonNegativeFloat, NonNegativeInt, ValidationError, model_validator


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
        return cls(policy=policy, trained=trained, **{name: [row[name] for row in rows] for name in COLUMNS})

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
    def parse(cls, entry: object) -> Kept | None:
        """Return the result of a cache entry; None if there is none, or it is no result."""
        try:
            return cls.model_validate(entry)
        except ValidationError:
            return None
