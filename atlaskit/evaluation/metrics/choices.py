"""The official metrics of multiple-choice benchmarks: accuracies by a dataset's own groups, MLVU's
M-Avg, and the scores that Video-MME-v2 gives to groups of four questions.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from atlaskit.errors import InputError, printable
from atlaskit.evaluation.metrics.measure import Measure, Metric, Scored

GROUP = 4
"""Questions of a group of Video-MME-v2."""
CHAIN = (0, 100 / 16, 400 / 16, 900 / 16, 100)
"""Score of a group, in percent, by how many of its questions count as right."""
STRUCTURES: dict[str, tuple[tuple[int, ...], tuple[float, ...]]] = {
    "[1,2,3,4]": ((1, 1, 1, 1), CHAIN),
    "[1,[2,3],4]": ((1, 2, 1), (0, 100 / 12, 400 / 12, 700 / 12, 100)),
    "[[1,2],3,4]": ((2, 1, 1), (0, 10, 20, 50, 100)),
}
"""For each structure of a logic group, the sizes of its steps, and the score by right questions."""

ORDER = ("short", "medium", "long")
"""Values of columns that have an order other than that of numbers or texts."""
T = TypeVar("T")


def accuracy_by(*columns: str) -> Metric:
    """Return the metric that is the accuracy, overall and for each value of some columns.

    A question with several values in a column counts in each; one without a value in none.
    """

    def metric(scored: Sequence[Scored]) -> list[Measure]:
        measures = [_accuracy("accuracy", scored)]
        for column in columns:
            measures += _parts(scored, column)
        return measures

    return metric


def mlvu(scored: Sequence[Scored]) -> list[Measure]:
    """Return MLVU's M-Avg, which toolkits compute in two ways, and the accuracy of each category.

    The M-Avg of the paper is the mean of the categories' accuracies, so that a category with few
    questions counts as much as one with many; "pooled" is the share of right answers among all
    questions. Only questions with choices count: the open-ended ones belong to the G-Avg, for which
    MLVU asks a model of OpenAI to grade the words.

    Raises:
        InputError: No question has choices.
    """
    chosen = [each for each in scored if each.question.kind == "choice"]
    if not chosen:
        raise InputError("M-Avg is about MLVU's questions with choices, and none of these has any.")
    pooled = _accuracy("M-Avg, pooled", chosen)
    categories = tuple(each.question.category for each in chosen)
    by_category = Measure(
        "M-Avg, mean of categories", pooled.values, pooled.videos, groups=categories
    )
    return [by_category, pooled, *_parts(chosen, "category")]


class Group(NamedTuple):
    """Four questions about one video that Video-MME-v2 scores together."""

    scored: tuple[Scored, ...]
    """In the group's order."""

    @property
    def rights(self) -> tuple[bool, ...]:
        """Whether each question is answered right."""
        return tuple(_score(each) == 1 for each in self.scored)

    @property
    def facts(self) -> Any:
        """The columns of the group; its four questions have the same."""
        return self.scored[0].facts

    @property
    def is_scorable(self) -> bool:
        """Whether all four questions are there, and the benchmark says how to score them."""
        places = [each.facts["place"] for each in self.scored]
        kind = self.facts["group_type"]
        structure = self.facts["group_structure"]
        is_known = kind == "relevance" or (kind == "logic" and structure in STRUCTURES)
        return is_known and places == list(range(1, GROUP + 1))

    @property
    def score(self) -> float:
        """The score of the group, in percent."""
        if self.facts["group_type"] == "relevance":
            return CHAIN[sum(self.rights)]
        return logic_score(self.facts["group_structure"], self.rights)


def logic_score(structure: str, rights: Sequence[bool]) -> float:
    """Return the score, in percent, of a logic group of Video-MME-v2.

    Its questions are steps of an argument, so one counts only if all steps before it are right.
    Questions in an inner bracket are one step, in any order: each that is right counts, and the
    next step counts only if all of them are. That is how the published scorer reads a bracket.

    Args:
        structure: One of STRUCTURES.
        rights: Whether each of the four questions is answered right, in the group's order.
    """
    steps, scores = STRUCTURES[structure]
    count = 0
    start = 0
    for size in steps:
        right = sum(rights[start : start + size])
        count = count + right
        start = start + size
        if right < size:
            break
    return scores[count]


def videomme_v2(scored: Sequence[Scored]) -> list[Measure]:
    """Return the group scores of Video-MME-v2, in percent, and the plain accuracy, a share.

    A group is four questions about one video. One of "relevance" scores 0, 6.25, 25, 56.25 or 100 %
    for 0 to 4 right answers, one of "logic" by `logic_score`. The scores are given over all groups,
    and for each type, level and second heading.

    A group of which not all four questions were evaluated, or whose structure is none of
    STRUCTURES, has no score. It is left out of the group scores and counted in a warning, since the
    other groups are as good as ever: `--first` cuts a group, and a missing video lacks one.
    """
    by_group: dict[str, list[Scored]] = {}
    for each in scored:
        by_group.setdefault(each.facts["group"], []).append(each)
    groups = [
        Group(tuple(sorted(four, key=lambda each: each.facts["place"])))
        for four in by_group.values()
    ]
    scorable = [group for group in groups if group.is_scorable]
    if left_out := len(groups) - len(scorable):
        warnings.warn(
            f"Video-MME-v2: {left_out} of {len(groups)} groups are left out of the group scores, "
            f"because not all of their {GROUP} questions were evaluated or their structure is "
            "unknown.",
            stacklevel=2,
        )
    measures = [_accuracy("accuracy", scored)]
    if scorable:
        measures.append(_group_score("group score (%)", scorable))
        for column in ("group_type", "level", "second_head"):
            parts = _grouped(scorable, column, lambda group, name=column: group.facts[name])  # type: ignore[misc]
            measures += [_group_score(f"group score (%): {value}", part) for value, part in parts]
    return measures


def _group_score(name: str, groups: Sequence[Group]) -> Measure:
    videos = tuple(group.scored[0].video for group in groups)
    return Measure(name, tuple(group.score for group in groups), videos, are_shares=False)


def _score(scored: Scored) -> float:
    return scored.question.score(scored.prediction)


def _accuracy(name: str, scored: Sequence[Scored]) -> Measure:
    return Measure(name, tuple(map(_score, scored)), tuple(each.video for each in scored))


def _parts(scored: Sequence[Scored], column: str) -> list[Measure]:
    """Return the accuracy of the questions with each value of a column."""

    def values(each: Scored) -> Any:
        return each.question.category if column == "category" else each.facts.get(column)

    return [
        _accuracy(f"accuracy: {value}", part) for value, part in _grouped(scored, column, values)
    ]


def _grouped(
    items: Iterable[T], column: str, value_of: Callable[[T], Any]
) -> list[tuple[str, list[T]]]:
    """Return the items with each value of a column, and how to call it; numbers, then texts.

    An item whose value is a tuple is in the group of each of its elements; one without a value is
    in none.
    """
    groups: dict[Any, list[T]] = {}
    for item in items:
        value = value_of(item)
        for each in dict.fromkeys(value if isinstance(value, tuple) else (value,)):
            if each is not None and each != "":
                groups.setdefault(each, []).append(item)
    ordered = sorted(groups, key=_place)
    is_number = [isinstance(value, int | float) for value in ordered]
    names = [
        f"{column} {value}" if number else str(value)
        for value, number in zip(ordered, is_number, strict=True)
    ]
    return [
        (printable(name, 80), groups[value]) for name, value in zip(names, ordered, strict=True)
    ]


def _place(value: Any) -> tuple[float, int, str]:
    number = float(value) if isinstance(value, int | float) else math.inf
    return number, ORDER.index(value) if value in ORDER else len(ORDER), str(value)


CHOICES: dict[str, Metric] = {
    "LongVideoBench": accuracy_by("duration_group"),
    "Video-MME": accuracy_by("duration"),
    "Video-MME-v2": videomme_v2,
    "LVBench": accuracy_by("question_type"),
    "MLVU": mlvu,
    "EgoSchema": accuracy_by(),
    "LongTimeScope": accuracy_by("type", "length"),
}
"""The metric of each multiple-choice dataset, by its name."""
