"""`Measure`: a named mean of values of questions (or groups of them), and what it is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from atlaskit.environment.question import Answered, Question
from atlaskit.evaluation.intervals import (
    Interval,
    interval,
    interval_of_group_means,
    interval_of_ratio,
)


@dataclass(frozen=True)
class Scored:
    """One question of a benchmark, and what a method answered.

    Examples:
        >>> ak.metrics.Scored(question, "match.mp4", {}, prediction=0).prediction
        0
    """

    question: Question
    video: str
    facts: Mapping[str, Any]
    """The columns of the dataset, and those of the evaluation's row."""
    prediction: Answered | None
    """None if the question has no answer."""


@dataclass(frozen=True)
class Measure:
    """One number of a benchmark's official metric: the mean of its values.

    Examples:
        >>> measure = ak.metrics.Measure("R@0.5", (1.0, 0.0, 1.0), ("a", "b", "c"))
        >>> round(measure.interval().mean, 2)
        0.67
    """

    name: str
    """Its name in the benchmark's paper, such as "R@0.5"; a part of it after a colon."""
    values: tuple[float, ...]
    """One value for each question, or for each group of questions that is scored together."""
    videos: tuple[str, ...]
    """The video of each value. An interval is clustered by videos."""
    are_shares: bool = True
    """Whether the values lie in [0, 1]."""
    groups: tuple[str, ...] = ()
    """If given, the group of each value, and the number is the mean of the means of the groups."""
    weights: tuple[float, ...] = ()
    """If given, the number is the sum of the values over the sum of these, as of an F1."""

    def interval(self, level: float = 0.95) -> Interval:
        """Return the number with its interval, clustered by videos."""
        if self.groups:
            return interval_of_group_means(self.values, list(self.videos), self.groups, level=level)
        if self.weights:
            return interval_of_ratio(self.values, self.weights, list(self.videos), level=level)
        return interval(self.values, list(self.videos), are_shares=self.are_shares, level=level)


Metric = Callable[[Sequence[Scored]], list[Measure]]
"""The official metric of a benchmark: its numbers, from all questions with their answers."""
