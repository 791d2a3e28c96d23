"""`Recipe`: everything that decides what a policy learns and how it is measured."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from atlaskit.errors import InputError, check_whole
from atlasworld.ranges import seeds

TRAINER = 1
"""Version of features, network and training. Raise it when a change of them makes one recipe give
another policy."""
FIRST_WORLD = 500_000
"""Number of development seeds to skip: nano itself was trained on worlds with earlier seeds."""
CHOSEN_BY = "selection"
"""The range of seeds on which the learning curve is measured and settings are chosen."""


@dataclass(frozen=True)
class Recipe:
    """What a policy learns from, for how long, and how it is measured.

    Raises:
        InputError: A number is not positive, or too large for the range of its seeds.
    """

    steps: int = 200_000
    """Steps of training in the environment."""
    worlds: int = 200
    """Development worlds that tasks are drawn from."""
    trials: int = 200
    """Selection worlds for each point of the learning curve, one question in each."""
    tests: int = 300
    """Worlds of the measurement at the end, one question in each."""
    points: int = 8
    """Points of the learning curve after the first point, which is of the untrained network."""
    duration_s: float = 240.0
    """Duration of a world in seconds. Below 256, only the root grid and the grids of its 16 cells
    can be opened, so a world has 17 grids, and the eyes read each of them once."""
    max_steps: int = 32
    """Longest episode in steps."""
    step_cost: float = 0.01
    """Reward that each step costs."""
    seeds: Literal["test", "selection", "development"] = "test"
    """The range of seeds of the measurement at the end."""

    def __post_init__(self) -> None:
        for name in ("steps", "worlds", "trials", "tests", "points", "max_steps"):
            check_whole(name, getattr(self, name))
        for name, most in (("trials", len(seeds(CHOSEN_BY))), ("tests", len(seeds(self.seeds)))):
            if getattr(self, name) > most:
                raise InputError(
                    f"{name} must be at most {most}, the seeds of its range; got "
                    f"{getattr(self, name)}."
                )

    @property
    def training_worlds(self) -> range:
        """Seeds of the worlds that tasks are drawn from."""
        return seeds("development")[FIRST_WORLD : FIRST_WORLD + self.worlds]

    @property
    def trial_worlds(self) -> range:
        """Seeds of the worlds of a point of the curve."""
        return seeds(CHOSEN_BY)[: self.trials]

    @property
    def test_worlds(self) -> range:
        """Seeds of the worlds of the measurement at the end."""
        return seeds(self.seeds)[: self.tests]

    @property
    def environment(self) -> dict[str, Any]:
        """The settings of the environment."""
        return {
            "duration_s": self.duration_s,
            "max_steps": self.max_steps,
            "step_cost": self.step_cost,
        }

    def parts(self, training_seed: int | None = None) -> dict[str, Any]:
        """Return the parts of the key under which a result is kept.

        Args:
            training_seed: The seed of the training; None for rules, which are not trained.
        """
        parts = asdict(self) | {"duration_s": float(self.duration_s), "trainer": TRAINER}
        if training_seed is not None:
            return parts | {"seed": training_seed}
        return {name: parts[name] for name in parts if name not in ("steps", "worlds", "points")}
