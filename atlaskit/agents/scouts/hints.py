"""`Hint`, `Hints`, `Said`: what scouts say of the cells of a grid, and the best of it.

Reasons hold text of unknown origin, such as subtitle lines. Here it becomes printable and short.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from atlaskit.environment.grid import Grid
from atlaskit.errors import InputError, printable

LEAST = 0.5
"""Score from which a hint counts: it is told, and ranks a region. Scouts record weaker ones too."""
MOST_TOLD = 8
"""Hints in one prompt, the best ones."""
LONGEST_REASON, LONGEST_QUOTE = 300, 120
"""Characters of a reason, and of the text that it quotes."""
SPREADS = 4.0
"""Typical distances from the median at which a value stands out fully."""


@dataclass(frozen=True)
class Hint:
    """What a scout says of one cell.

    Raises:
        InputError: If the score is not a number in [0, 1], or the reason is not a text.

    Examples:
        >>> ak.scouts.Hint(0.8, 'said there: "Goal!"')
        Hint(score=0.8, reason='said there: "Goal!"')
    """

    score: float
    """From 0 (nothing speaks for the cell) to 1."""
    reason: str = ""
    """Why, in a few words that go into prompts, such as `said there: "Goal!"`."""

    def __post_init__(self) -> None:
        is_number = isinstance(self.score, int | float) and not isinstance(self.score, bool)
        if not is_number or not 0 <= self.score <= 1:
            raise InputError(f"The score of a hint is a number in [0, 1]; got {self.score!r:.40}.")
        if not isinstance(self.reason, str):
            raise InputError(f"The reason of a hint is a text; got {self.reason!r:.40}.")


@dataclass(frozen=True)
class Hints:
    """What one scout says of the cells of one grid.

    Examples:
        >>> ak.scouts.Hints({12: ak.scouts.Hint(0.8, 'said there: "Goal!"')}).by_cell[12].score
        0.8
    """

    by_cell: Mapping[int, Hint] = field(default_factory=dict)
    """Its hints, by the index of the cell; cells it has nothing to say of are left out."""
    note: str = ""
    """Why there are no hints, if the scout could not look."""


@dataclass(frozen=True)
class Said:
    """The hints of a scout, with its name."""

    scout: str
    hints: Hints


@dataclass(frozen=True)
class CellHint:
    """One hint as prompts tell it."""

    cell: int
    score: float
    reason: str


def checked(name: str, hints: object, grid: Grid) -> Said:
    """Return what a scout said, its reasons printable and short.

    Raises:
        InputError: If a scout did not return `Hints` about cells of the grid.
    """
    if not isinstance(hints, Hints) or not isinstance(hints.by_cell, Mapping) or not isinstance(hints.note, str):
        raise InputError(f"The scout {name} must return ak.scouts.Hints; it returned {hints!r:.80}.")
    if not all(isinstance(hint, Hint) for hint in hints.by_cell.values()):
        raise InputError(f"The scout {name} must return ak.scouts.Hints of ak.scouts.Hint; it returned {hints!r:.80}.")
    for cell in hints.by_cell:
        if type(cell) is not int or not 0 <= cell < grid.size:
            raise InputError(f"The scout {name} must name cells from 0 to {grid.size - 1}; it named {cell!r:.40}.")
    named = sorted((cell, hint) for cell, hint in hints.by_cell.items() if hint.score)
    default = f"named by the scout {name}"
    by_cell = {c: Hint(float(h.score), printable(h.reason or default, LONGEST_REASON)) for c, h in named}
    return Said(name, Hints(by_cell, printable(hints.note, LONGEST_REASON)))


def priors(said: Sequence[Said]) -> dict[int, float]:
    """Return the prior of each cell that a scout names: the score of its best hint."""
    scores: dict[int, float] = {}
    for each in said:
        for cell, hint in each.hints.by_cell.items():
            if hint.score >= LEAST:
                scores[cell] = max(hint.score, scores.get(cell, 0.0))
    return scores


def best_hints(said: Sequence[Said], cells: Collection[int]) -> tuple[CellHint, ...]:
    """Return the best hints about some cells, at most MOST_TOLD, best first."""
    about = [
        CellHint(cell, hint.score, hint.reason)
        for each in said
        for cell, hint in each.hints.by_cell.items()
        if cell in cells and hint.score >= LEAST
    ]
    return tuple(sorted(about, key=lambda hint: (-hint.score, hint.cell))[:MOST_TOLD])


def quoted(text: str) -> str:
    """Return text of unknown origin in quotes that it cannot end, printable and short."""
    return json.dumps(printable(text, LONGEST_QUOTE), ensure_ascii=False)


@dataclass(frozen=True)
class Usual:
    """What values usually are: their median, and how far from it a value stands out fully."""

    median: float
    reach: float

    @classmethod
    def of(cls, values: Sequence[float], least: float) -> Usual:
        """Return what values usually are.

        Args:
            values: The values, at least one.
            least: A value that is less above the median never stands out fully.
        """
        median = statistics.median(values)
        spread = statistics.median(abs(value - median) for value in values)
        return cls(median, max(SPREADS * spread, least))

    def standout(self, value: float) -> float:
        """Return how far a value stands out above the median, in [0, 1]; 6 digits of it count."""
        share = (value - self.median) / self.reach
        return round(min(1.0, max(0.0, share)), 6) if math.isfinite(share) else 0.0
