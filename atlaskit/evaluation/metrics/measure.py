"""`Measure`: a named mean over questions (or groups of them), and the values it is the mean of."""

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
    """The dataset's own columns."""
    prediction: Answered | None
    """None if the method gave no answer."""

    def score(self) -> float:
        """Return the score of the prediction, in [0, 1]; 0 without one."""
        return self.question.score(self.prediction)

    def value(self, column: str) -> Any:
        """Return the value of a column of the dataset; for "category", that of the question."""
        if column == "category":
            return self.question.category
        return self.facts.get(column)


@dataclass(frozen=True)
class Measure:
    """One number of a benchmark's official metric: the mean of its values.

    Examples:
        >>> measure = ak.metrics.Measure("R@0.5", (1.0, 0.0, 1.0), ("a", "b", "c"))
        >>> round(measure.interval().mean, 2)
        0.67
    """

    name: str
    """Its name in the benchmark's paper, such as "R@0.5". If the measure is of a part of the
    questions, a colon and the name of the part follow."""
    values: tuple[float, ...]
    """One value for each question, or for each group of questions that is scored together."""
    videos: tuple[str, ...]
    """The video of each value. An interval is clustered by videos."""
    are_shares: bool = True
    """Whether the values lie in [0, 1]."""
    groups: tuple[str, ...] = ()
    """If given, the group of each value; the number is then the mean of the groups' means."""
    weights: tuple[float, ...] = ()
    """If given, the number is the sum of the values over the sum of the weights, as in an F1."""

    @classmethod
    def of(
        cls,
        name: str,
        scored: Sequence[Scored],
        value: Callable[[Scored], float],
        *,
        weight: Callable[[Scored], float] | None = None,
    ) -> Measure:
        """Return the measure of one value for each question: their mean, or a ratio of sums.

        Args:
            name: The name of the measure.
            scored: The questions.
            value: Returns the value of a question.
            weight: Returns the weight of a question. If given, the measure is the sum of the values
                over the sum of the weights.

        Examples:
            >>> right = ak.metrics.Scored(question, "match.mp4", {}, prediction=question.answer)
            >>> ak.metrics.Measure.of("accuracy", [right], ak.metrics.Scored.score).values
            (1.0,)
        """
        values = tuple(float(value(each)) for each in scored)
        videos = tuple(each.video for each in scored)
        if weight is None:
            return cls(name, values, videos)
        return cls(name, values, videos, weights=tuple(float(weight(each)) for each in scored))

    def interval(self, level: float = 0.95) -> Interval:
        """Return the number with its interval, clustered by videos."""
        videos = list(self.videos)
        if self.groups:
            return interval_of_group_means(self.values, videos, self.groups, level=level)
        if self.weights:
            return interval_of_ratio(self.values, self.weights, videos, level=level)
        return interval(self.values, videos, are_shares=self.are_shares, level=level)


Metric = Callable[[Sequence[Scored]], list[Measure]]
"""The official metric of a benchmark: takes all answered questions, and returns its numbers."""
