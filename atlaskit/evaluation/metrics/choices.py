"""The official metrics of multiple-choice benchmarks.

They are accuracies for each value of a dataset's columns, MLVU's M-Avg, and the scores that
Video-MME-v2 gives to groups of four questions.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from atlaskit.errors import InputError, printable
from atlaskit.evaluation.metrics.measure import Measure, Metric, Scored

GROUP = 4
"""Number of questions in a group of Video-MME-v2."""
CHAIN = (0, 100 / 16, 400 / 16, 900 / 16, 100)
"""Score of a group, in percent, by the number of its questions that count as right."""
STRUCTURES: dict[str, tuple[tuple[int, ...], tuple[float, ...]]] = {
    "[1,2,3,4]": ((1, 1, 1, 1), CHAIN),
    "[1,[2,3],4]": ((1, 2, 1), (0, 100 / 12, 400 / 12, 700 / 12, 100)),
    "[[1,2],3,4]": ((2, 1, 1), (0, 10, 20, 50, 100)),
}
"""For each structure of a logic group: the number of questions in each step, and the score, in
percent, by the number of questions that count as right."""

ORDER = ("short", "medium", "long")
"""Values that come in this order, before other texts, which are sorted by their letters."""


def accuracy_by(*columns: str) -> Metric:
    """Return a metric: the accuracy over all questions, and for each value of some columns.

    A question with several values in a column counts for each of them; a question without a value
    counts for none.
    """

    def metric(scored: Sequence[Scored]) -> list[Measure]:
        measures = [accuracy("accuracy", scored)]
        for column in columns:
            measures += accuracies(scored, column)
        return measures

    return metric


def accuracy(name: str, scored: Sequence[Scored]) -> Measure:
    """Return the mean score of some questions as a measure with a name."""
    return Measure.of(name, scored, Scored.score)


def accuracies(scored: Sequence[Scored], column: str) -> list[Measure]:
    """Return the accuracy of the questions with each value of a column."""
    parts = by_value(scored, column)
    return [accuracy(f"accuracy: {value}", part) for value, part in parts]


def mlvu(scored: Sequence[Scored]) -> list[Measure]:
    """Return MLVU's M-Avg, which toolkits compute in two ways, and the accuracy of each category.

    The M-Avg of the paper is the mean of the categories' accuracies, so that a category with few
    questions counts as much as one with many; "pooled" is the share of right answers among all
    questions. Only questions with choices count: open-ended questions belong to MLVU's G-Avg, which
    needs grades from a model of OpenAI.

    Raises:
        InputError: No question has choices.
    """
    chosen = [each for each in scored if each.question.kind == "choice"]
    if not chosen:
        raise InputError("M-Avg is about MLVU's questions with choices, and none of these has any.")
    pooled = accuracy("M-Avg, pooled", chosen)
    categories = tuple(each.question.category for each in chosen)
    by_category = Measure(
        "M-Avg, mean of categories", pooled.values, pooled.videos, groups=categories
    )
    return [by_category, pooled, *accuracies(chosen, "category")]


class Group(NamedTuple):
    """Four questions about one video that Video-MME-v2 scores together."""

    scored: tuple[Scored, ...]
    """The questions, in the group's order."""

    @property
    def rights(self) -> tuple[bool, ...]:
        """Whether the answer to each question is right."""
        return tuple(each.score() == 1 for each in self.scored)

    def value(self, column: str) -> Any:
        """Return the value of a column that is the same for all four questions."""
        return self.scored[0].value(column)

    @property
    def is_scorable(self) -> bool:
        """Whether all four questions were evaluated and the benchmark says how to score them."""
        places = [each.facts["place"] for each in self.scored]
        if places != list(range(1, GROUP + 1)):
            return False
        if self.value("group_type") == "logic":
            return self.value("group_structure") in STRUCTURES
        return bool(self.value("group_type") == "relevance")

    @property
    def score(self) -> float:
        """The score of the group, in percent."""
        if self.value("group_type") == "relevance":
            return CHAIN[sum(self.rights)]
        return logic_score(self.value("group_structure"), self.rights)


def logic_score(structure: str, rights: Sequence[bool]) -> float:
    """Return the score, in percent, of a logic group of Video-MME-v2.

    Its questions are steps of an argument, so a right answer counts only if all steps before it are
    right. The questions in an inner bracket are one step, in any order: each right answer counts,
    and the next step counts only if all of them are right. The published scorer reads brackets in
    this way.

    Args:
        structure: One of STRUCTURES.
        rights: Whether the answer to each of the four questions is right, in the group's order.
    """
    steps, scores = STRUCTURES[structure]
    count = 0
    start = 0
    for size in steps:
        n_right = sum(rights[start : start + size])
        count += n_right
        start += size
        if n_right < size:
            break
    return scores[count]


def videomme_v2(scored: Sequence[Scored]) -> list[Measure]:
    """Return the group scores of Video-MME-v2, in percent, and the plain accuracy, a share.

    A group is four questions about one video. A group of the type "relevance" scores 0, 6.25, 25,
    56.25 or 100 % for 0 to 4 right answers; `logic_score` scores one of the type "logic". The means
    are over all groups, and over those of each type, level and second heading.

    A group cannot be scored if not all four questions were evaluated, as when `--first` cuts a
    group or its video is missing, or if its structure is none of STRUCTURES. Such groups are left
    out of the group scores, and a warning counts them.
    """
    by_group: dict[str, list[Scored]] = {}
    for each in scored:
        by_group.setdefault(each.facts["group"], []).append(each)
    scorable = list[Group]()
    for four in by_group.values():
        group = Group(tuple(sorted(four, key=lambda each: each.facts["place"])))
        if group.is_scorable:
            scorable.append(group)
    left_out = len(by_group) - len(scorable)
    if left_out:
        warnings.warn(
            f"Video-MME-v2: {left_out} of {len(by_group)} groups are left out of the group scores, "
            f"because not all of their {GROUP} questions were evaluated or their structure is "
            "unknown.",
            stacklevel=2,
        )
    measures = [accuracy("accuracy", scored)]
    if scorable:
        measures.append(_group_score("group score (%)", scorable))
        for column in ("group_type", "level", "second_head"):
            for value, part in by_value(scorable, column):
                measures.append(_group_score(f"group score (%): {value}", part))
    return measures


def _group_score(name: str, groups: Sequence[Group]) -> Measure:
    scores = tuple(group.score for group in groups)
    videos = tuple(group.scored[0].video for group in groups)
    return Measure(name, scores, videos, are_shares=False)


Item = TypeVar("Item", Scored, Group)


def by_value(items: Sequence[Item], column: str) -> list[tuple[str, list[Item]]]:
    """Return each value of a column as a text, with the items that have it: numbers, then texts.

    An item whose value is a tuple is listed for each element. An item without a value is left out.
    """
    items_of: dict[Any, list[Item]] = {}
    for item in items:
        value = item.value(column)
        values = value if isinstance(value, tuple) else (value,)
        for each in dict.fromkeys(values):
            if each is not None and each != "":
                items_of.setdefault(each, []).append(item)
    parts = list[tuple[str, list[Item]]]()
    for value in sorted(items_of, key=_order):
        name = str(value)
        if isinstance(value, int | float):
            name = f"{column} {value}"
        parts.append((printable(name, 80), items_of[value]))
    return parts


def _order(value: Any) -> tuple[float, int, str]:
    """Return a value's sort key: numbers by size, then the texts of ORDER, then other texts."""
    number = float(value) if isinstance(value, int | float) else math.inf
    rank = ORDER.index(value) if value in ORDER else len(ORDER)
    return number, rank, str(value)


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
