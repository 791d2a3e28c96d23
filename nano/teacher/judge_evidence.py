"""The teacher's thought about evidence: what each item shows, and the answer that follows.

An example is "Of blue star0, red circle1: [A] red circle1+[B] white star-. [A] red circle1". First
come the choices with their numbers. Then comes each item: its label, what it shows, and "+" if the
item counts for the answer or "-" if it does not. The end names the label that proves the answer,
and the answer. The number of a choice always follows the choice's words, so that the model finds
the number after the same words. Keywords carry the same mark as in a scan of a view:
"[A]red~star~ HARBOR2+[B]red~circle,-".

The thought takes the items in alphabetical order of their labels, and the last item that counts
gives the answer. If a question asks for the earliest or the latest item, the model finds it as the
first or the last line of the prompt's list of evidence, which is in order of time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from atlaskit.environment.memory import Evidence
from atlaskit.environment.question import Question, without_article
from nano.teacher.goal import Goal, parse_description
from nano.teacher.labels import CellContent
from nano.teacher.notation import HIT, NOTHING, list_names, mark_words

MAX_ITEMS = 16
"""Most items of evidence that a judgement takes into account."""
NUMBERS = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
)
"""Counts in words, because a digit already stands for a cell or a choice."""


@dataclass(frozen=True)
class Judgement:
    """What evidence says about a question.

    Attributes:
        reasoning: The text of the thought.
        answer: The answer in words; empty if no item counts.
        choice: Index of the answer among the choices; None if the answer is not a choice.
        supporting: Labels of the items that support the answer: the last item that counts; for
            when-questions, the first and the last.
        suffices: Whether the evidence suffices to end the search.
        span_s: For when-questions, start of the first and end of the last item, in seconds.
    """

    reasoning: str
    answer: str
    choice: int | None
    supporting: tuple[str, ...]
    suffices: bool
    span_s: tuple[float, float] | None = None


def judge_evidence(goal: Goal, question: Question, evidence: Sequence[Evidence]) -> Judgement:
    """Judge evidence, given in the order in which it was found."""
    choices = [_short_choice(goal, choice) for choice in question.choices]
    thought = list_names(choices)
    counted = list[Evidence]()
    values = list[str]()
    for item in _reading_order(goal, evidence):
        thought += f"[{item.label}]"
        if goal.type == "when":
            thought += f" {item.description} ({item.start_s:.2f}–{item.end_s:.2f}: "
        reading, value = _read_item(goal, parse_description(item.description), len(counted))
        thought += reading
        is_choice = value in choices
        counts = bool(value) and (is_choice or not choices or goal.type in ("count", "course"))
        if not counts:
            thought += NOTHING
            continue
        # For a count, the value is a running total, which equals a choice only by chance.
        if is_choice and goal.type != "count":
            thought += str(choices.index(value))
        thought += HIT
        counted.append(item)
        values.append(value)
    return _conclude(goal, choices, thought, counted, values)


def count_in_words(count: int) -> str:
    """Return a count in words, or in digits above sixteen."""
    return NUMBERS[count] if count < len(NUMBERS) else str(count)


def _conclude(
    goal: Goal,
    choices: Sequence[str],
    thought: str,
    counted: Sequence[Evidence],
    values: Sequence[str],
) -> Judgement:
    """Return the judgement that follows from the items that count and the value of each.

    `thought` is the thought so far, to which the conclusion is added.
    """
    if not counted:
        return Judgement(f"{thought}. nothing", "", None, (), suffices=False)
    answer = values[-1]
    if goal.type == "course":
        answer = ", then ".join(name for name, _ in groupby(values))
    choice = choices.index(answer) if answer in choices else None
    proof = counted if goal.type == "when" else counted[-1:]
    supporting = tuple(item.label for item in proof)
    # Another item could still change a count or a summary.
    suffices = goal.type not in ("count", "course") and (choice is not None or not choices)
    if goal.type == "first":
        suffices = suffices and set(goal.objects) <= set(values)
    labels = "".join(f"[{label}]" for label in supporting)
    number = "" if choice is None else choice
    span_s = (counted[0].start_s, counted[-1].end_s) if goal.type == "when" else None
    return Judgement(
        f"{thought}. {labels} {answer}{number}", answer, choice, supporting, suffices, span_s
    )


def _reading_order(goal: Goal, evidence: Sequence[Evidence]) -> list[Evidence]:
    """Return the items that the thought takes into account, in the order of the thought.

    For when-questions these are the first and the last item in time. For questions about what
    appears first, the first item in time comes once more at the end.
    """
    by_time = sorted(evidence, key=attrgetter("timestamp_s"))[:MAX_ITEMS]
    if goal.type == "course":
        return by_time
    if goal.type == "when" and len(by_time) > 1:
        return [by_time[0], by_time[-1]]
    if goal.type == "first" and len(by_time) > 1:
        return [*evidence[: MAX_ITEMS - 1], by_time[0]]
    return list(evidence[:MAX_ITEMS])


def _short_choice(goal: Goal, choice: str) -> str:
    """Return a choice as the thought writes it.

    A count is in words, a caption lacks its number, and any other choice lacks its article. The
    number of a caption is illegible at the size of a cell.
    """
    if goal.type == "count" and choice.isdecimal():
        return count_in_words(int(choice))
    if goal.type == "text":
        return choice.split(" ")[0]
    return without_article(choice)


def _read_item(goal: Goal, content: CellContent, counted: int) -> tuple[str, str]:
    """Return what the thought says about an item, and the item's value.

    The value is a possible answer, or "" if the item gives none. The text ends with the value,
    except for when-questions.

    Args:
        goal: What the question looks for.
        content: What the item shows.
        counted: Number of items that counted so far.
    """
    if not content.object:
        return " nothing", ""
    is_named = content.object in goal.objects
    text = mark_words(content.object.split(" "), goal.keywords)
    match goal.type:
        case "object" | "line" | "course":
            return f" {content.object}", content.object
        case "first":
            return f" {content.object}", content.object if is_named else ""
        case "when":
            return text, content.object if is_named else ""
        case "colour":
            text = mark_words([content.shape], goal.keywords)
            value = content.colour if content.shape == goal.shape else ""
        case "text":
            value = content.word if is_named else ""
        case "neighbour":
            value = "" if is_named else content.object
        case "count":
            value = count_in_words(counted + 1) if is_named else ""
    return f"{text} {value}" if value else text, value
