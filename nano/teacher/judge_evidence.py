"""The teacher's thought about evidence: what each item shows, counts in words, and the answer.

"Of blue star0, red circle1: [A] red circle1+[B] white star-. [A] red circle1": the number of a
choice follows its words, so the model finds it after the same words. Keywords carry the mark that
they have in a scan: "[A]red~star~ HARBOR2+[B]red~circle,-". The thought takes the items by label,
in alphabetical order, and the last item that counts gives the answer. Where time matters, the
earliest or the latest item is the first or the last line of the list of evidence.
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
    *(
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
    ),
    *("thirteen", "fourteen", "fifteen", "sixteen"),
)
"""Counts in words, because a digit already stands for a cell or a choice."""


@dataclass(frozen=True)
class Judgement:
    """What evidence says about a question.

    Attributes:
        reasoning: The choices, then each item and the choice that it supports, then the answer.
        answer: The answer in words; empty if no item counts.
        choice: Index of the answer among the choices; None if it is none of them.
        supporting: Labels of the items that support the answer: the last that counts; for
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
    steps, counted, values = [], list[Evidence](), list[str]()
    for item in _reading_order(goal, evidence):
        reading, value = _read_item(goal, parse_description(item.description), len(counted))
        is_choice = value in choices
        counts = bool(value) and (is_choice or not choices or goal.type in ("count", "course"))
        number = choices.index(value) if is_choice and goal.type != "count" else ""
        if goal.type == "when":
            span = f" {item.description} ({item.start_s:.2f}–{item.end_s:.2f}: "
        else:
            span = ""
        steps.append(f"[{item.label}]{span}{reading}{f'{number}{HIT}' if counts else NOTHING}")
        if counts:
            counted.append(item)
            values.append(value)
    return _conclude(goal, choices, f"{list_names(choices)}{''.join(steps)}", counted, values)


def count_in_words(count: int) -> str:
    """Return a count in words, or in digits above sixteen."""
    return NUMBERS[count] if count < len(NUMBERS) else str(count)


def _conclude(
    goal: Goal,
    choices: Sequence[str],
    steps: str,
    counted: Sequence[Evidence],
    values: Sequence[str],
) -> Judgement:
    """Return the judgement that follows from the items that count and the value of each."""
    match goal.type:
        case _ if not counted:
            answer = ""
        case "course":
            answer = ", then ".join(name for name, _ in groupby(values))
        case _:
            answer = values[-1]
    choice = choices.index(answer) if answer in choices else None
    supporting = tuple(item.label for item in (counted if goal.type == "when" else counted[-1:]))
    suffices = (
        bool(supporting)
        and (choice is not None or not choices)
        and goal.type not in ("count", "course")
    )
    if goal.type == "first":
        suffices = suffices and set(goal.objects) <= set(values)
    labels = "".join(f"[{label}]" for label in supporting)
    conclusion = f"{labels} {answer}{'' if choice is None else choice}" if answer else "nothing"
    span_s = (counted[0].start_s, counted[-1].end_s) if counted and goal.type == "when" else None
    return Judgement(f"{steps}. {conclusion}", answer, choice, supporting, suffices, span_s)


def _reading_order(goal: Goal, evidence: Sequence[Evidence]) -> list[Evidence]:
    """Return the items that the thought takes into account, in its order.

    For when-questions these are the first and the last item in time. For questions about what
    appears first, the first item in time comes once more at the end.
    """
    in_time = sorted(evidence, key=attrgetter("timestamp_s"))[:MAX_ITEMS]
    match goal.type:
        case "when":
            return [in_time[0], in_time[-1]][: len(in_time)] if in_time else []
        case "course":
            return in_time
        case "first" if len(in_time) > 1:
            return [*evidence[: MAX_ITEMS - 1], in_time[0]]
    return list(evidence[:MAX_ITEMS])


def _short_choice(goal: Goal, choice: str) -> str:
    """Return a choice without its article, a count in words, or a caption without its number.

    The number of a caption is illegible at the size of a cell.
    """
    if goal.type == "count" and choice.isdecimal():
        return count_in_words(int(choice))
    return choice.split(" ")[0] if goal.type == "text" else without_article(choice)


def _read_item(goal: Goal, content: CellContent, counted: int) -> tuple[str, str]:
    """Return the reading of an item and its value: a possible answer, or "".

    The value is the end of the reading.

    `counted` is the number of items that counted so far.
    """
    if not content.object:
        return " nothing", ""
    is_named = content.object in goal.objects
    marked = mark_words(content.object.split(" "), goal.keywords)
    match goal.type:
        case "object" | "line" | "course" | "first":
            return f" {content.object}", content.object if is_named or goal.type != "first" else ""
        case "colour":
            has_shape = content.shape == goal.shape
            reading = mark_words([content.shape], goal.keywords) + (
                f" {content.colour}" if has_shape else ""
            )
            return reading, content.colour * has_shape
        case "text":
            return marked + (
                f" {content.word}" if is_named and content.word else ""
            ), content.word * is_named
        case "neighbour":
            return marked + (
                "" if is_named else f" {content.object}"
            ), "" if is_named else content.object
        case "count":
            number = count_in_words(counted + 1)
            return marked + (f" {number}" if is_named else ""), number * is_named
        case "when":
            return marked, content.object * is_named
