"""Reads the reply to a review: is the evidence sufficient (exactly one choice proven), what to
erase, where to search next (paper §3.2).

The functions take the validated answer of a review: each choice weighed, the labels to erase, and a
conclusion, which either declares the evidence sufficient or names where to search next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from atlaskit.environment.grid import Grid, regions_over
from atlaskit.environment.memory import DeadZones


def choices_weighed(answer: Any) -> Sequence[Any]:
    """Return the answer's judgement of each choice; none for a question without choices."""
    weighed: Sequence[Any] = getattr(answer, "choices", ())
    return weighed


def is_sufficient(answer: Any) -> bool:
    """Return whether an answer declares the evidence sufficient, and its judgement supports that.

    For a question with choices, exactly one choice must be judged proven, and the conclusion must
    name evidence that supports it.
    """
    if answer.conclusion.action != "final_decision":
        return False
    weighed = choices_weighed(answer)
    proven = {choice.choice: set(choice.supporting) for choice in weighed if choice.sufficient}
    return not weighed or (len(proven) == 1 and not set(answer.conclusion.supporting).isdisjoint(*proven.values()))


def labels_to_erase(answer: Any) -> list[str]:
    """Return the labels that an answer erases, but for those that it also uses as support."""
    needed = {label for choice in choices_weighed(answer) for label in choice.supporting}
    needed |= set(getattr(answer.conclusion, "supporting", ()))
    return [label for label in dict.fromkeys(answer.erase) if label not in needed]


def cells_to_explore(answer: Any) -> list[int]:
    """Return the root cells that an answer names to be searched next."""
    return list(getattr(answer.conclusion, "explore", ()))


def intervals_to_explore(answer: Any, root: Grid, max_depth: int, dead_zones: DeadZones) -> list[Grid]:
    """Return the regions that cover the intervals an answer names, without those that are dead.

    The ends of an interval are sorted, because no schema can force a model to give the start first.
    """
    ends = [sorted((span.start_s, span.end_s)) for span in getattr(answer.conclusion, "intervals", ())]
    grids = [grid for start_s, end_s in ends for grid in regions_over(root, start_s, end_s, max_depth)]
    return [grid for grid in grids if not dead_zones.covers(grid.start_s, grid.end_s)]
