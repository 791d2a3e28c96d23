"""What the master's answers say: sufficient, erase, explore, predict, cite; and which one most
decisions agree with (paper §3.2).

The functions take validated answers: their fields are those of the schemas in `agents/schemas`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from atlaskit.environment.grid import Grid, regions_over
from atlaskit.environment.memory import DeadZones
from atlaskit.environment.question import Answered, Question, Span, spans_of
from atlaskit.environment.scoring import intervals_iou, merged
from atlaskit.models.errors import ModelError
from atlaskit.models.protocol import Reply

SAME_IOU = 0.5
"""Two answers in intervals agree from this IoU on."""


def is_sufficient(review: Any) -> bool:
    """Return whether a review declares the evidence sufficient, and its judgement supports that.

    For a question with choices, exactly one choice must be judged proven, and the conclusion must
    name evidence that supports it.
    """
    if review.conclusion.action != "final_decision":
        return False
    choices = getattr(review, "choices", ())
    proven = {choice.choice: set(choice.supporting) for choice in choices if choice.sufficient}
    return not choices or (len(proven) == 1 and not set(review.conclusion.supporting).isdisjoint(*proven.values()))


def labels_to_erase(review: Any) -> list[str]:
    """Return the labels that a review erases, but for those that it also uses as support."""
    needed = {label for choice in getattr(review, "choices", ()) for label in choice.supporting}
    needed |= set(getattr(review.conclusion, "supporting", ()))
    return [label for label in dict.fromkeys(review.erase) if label not in needed]


def places_to_explore(review: Any, root: Grid, max_depth: int, dead_zones: DeadZones) -> tuple[list[int], list[Grid]]:
    """Return the root cells, and the regions below them, that a review names to be searched next.

    Of the intervals that it names, what is dead is left out. One as long as a root cell means that
    cell. The ends are sorted, because no schema can force a model to give the start first.
    """
    ends = [sorted((span.start_s, span.end_s)) for span in getattr(review.conclusion, "intervals", ())]
    over = [grid for start_s, end_s in ends for grid in regions_over(root, start_s, end_s, max_depth)]
    regions = [grid for grid in over if not dead_zones.covers(grid.start_s, grid.end_s)]
    cells = [*getattr(review.conclusion, "explore", ()), *(grid.path[0] for grid in regions if grid.depth == 1)]
    return cells, [grid for grid in regions if grid.depth > 1]


def prediction(question: Question, decision: Any) -> Answered:
    """Return what a decision predicts: a choice's index, interval(s), a number or words.

    The ends of an interval are sorted, because no schema can force a model to give the start first.
    Several intervals are in order of time, and one where they overlap or touch.
    """
    if question.several:
        return merged(map(_ordered, decision.intervals))
    if question.kind == "when":
        return _ordered(decision)
    return decision.answer.strip() if isinstance(decision.answer, str) else int(decision.answer)


def _ordered(interval: Any) -> Span:
    """Return the interval of a reply, its earlier end first."""
    return min(interval.start_s, interval.end_s), max(interval.start_s, interval.end_s)


def cited_cells(decision: Any) -> list[int]:
    """Return the root cells that a decision made from the root grid rests on, each once."""
    weighed = [each for each in getattr(decision, "weighed", ()) if each.choice == decision.answer] or [decision]
    return list(dict.fromkeys(cell for each in weighed for cell in getattr(each, "supporting", ())))


def can_change(question: Question, decisions: Sequence[Reply | ModelError], votes: int) -> bool:
    """Return whether another of at most so many votes can change which decision wins.

    What a summary says is not compared: no two are alike. No more are asked for after a failure.
    """
    if len(decisions) >= votes or question.kind == "summary" or isinstance(decisions[-1], ModelError):
        return False
    return 2 * max(support(question, decisions)) <= votes


def support(question: Question, decisions: Sequence[Reply | ModelError]) -> list[int]:
    """Return how many of some decisions agree with each; 0 for one that failed."""
    given = [None if isinstance(each, ModelError) else prediction(question, each.answer) for each in decisions]
    return [
        0 if one is None else sum(other is not None and agree(question, one, other) for other in given) for one in given
    ]


def agree(question: Question, one: Answered, other: Answered) -> bool:
    """Return whether two answers to a question are the same answer."""
    if question.kind == "when":
        return intervals_iou(spans_of(one), spans_of(other)) >= SAME_IOU
    if isinstance(one, str) and isinstance(other, str):
        return one.casefold().split() == other.casefold().split()
    return one == other
