"""Going over evidence, in writing: what each piece shows, which choice that speaks for, and so the answer.

"Of blue star0, red circle1: [A] red circle1+[B] white star-. [A] red circle1": the number of a choice stands right
behind its words, so that it is found where the same words stood before. What is looked for is marked as in a thought:
"[A]red~star~ HARBOR2+[B]red~circle,-". The pieces are gone over by their labels, one letter after another, and the last
that counts says the answer. Where time matters, what is earliest or last stands first or last in the list of evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from atlaskit.environment.memory import Evidence
from atlaskit.environment.question import Question, without_article
from atlaskit.nano.teacher.goal import Goal, sight_told
from atlaskit.nano.teacher.labels import CellContent
from atlaskit.nano.teacher.scan import HERE, NOTHING, listed, marked

MOST_WEIGHED = 16
"""Items of evidence that a judgement goes over."""
NUMBERS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen"),
)
"""Counts in words: a digit stands for a cell or a choice."""


@dataclass(frozen=True)
class Judgement:
    """What some evidence says in answer to a question."""

    told: str
    """The choices, then item by item which of them each speaks for, then the answer."""
    words: str
    choice: int | None
    proof: tuple[str, ...]
    """Labels of what supports that: of the last that says so; where the question is when, of the first and the last."""
    suffices: bool
    span_s: tuple[float, float] | None = None
    """From the first to the last, where the question is when."""


def weigh(quest: Goal, question: Question, found: Sequence[Evidence]) -> Judgement:
    """Go over evidence as it was found, so that the answer can be read off what was said last."""
    among = [_short(quest, choice) for choice in question.choices]
    steps, counted, said = [], list[Evidence](), list[str]()
    for item in _in_turn(quest, found):
        shown, says = _said(quest, sight_told(item.description), len(counted))
        is_choice = says in among
        counts = bool(says) and (is_choice or not among or quest.asks in ("count", "course"))
        number = among.index(says) if is_choice and quest.asks != "count" else ""
        when = f" {item.description} ({item.start_s:.2f}–{item.end_s:.2f}: " if quest.asks == "when" else ""
        steps.append(f"[{item.label}]{when}{shown}{f'{number}{HERE}' if counts else NOTHING}")
        if counts:
            counted.append(item)
            said.append(says)
    match quest.asks:
        case _ if not counted:
            words = ""
        case "course":
            words = ", then ".join(name for name, _ in groupby(said))
        case _:
            words = said[-1]
    choice = among.index(words) if words in among else None
    proving = counted if quest.asks == "when" else counted[-1:]
    proof = tuple(item.label for item in proving)
    suffices = bool(proof) and (choice is not None or not among) and quest.asks not in ("count", "course")
    if quest.asks == "first":
        suffices = suffices and set(quest.objects) <= set(said)
    marks = "".join(f"[{label}]" for label in proof)
    answer = f"{marks} {words}{'' if choice is None else choice}" if words else "nothing"
    span_s = (counted[0].start_s, counted[-1].end_s) if counted and quest.asks == "when" else None
    return Judgement(f"{listed(among)}{''.join(steps)}. {answer}", words, choice, proof, suffices, span_s)


def _in_turn(quest: Goal, found: Sequence[Evidence]) -> list[Evidence]:
    """Return the evidence in the order in which it is gone over: of when, the first and the last in time; of what is
    first, the first in time once more at the end."""
    in_time = sorted(found, key=attrgetter("timestamp_s"))[:MOST_WEIGHED]
    match quest.asks:
        case "when":
            return [in_time[0], in_time[-1]][: len(in_time)] if in_time else []
        case "course":
            return in_time
        case "first" if len(in_time) > 1:
            return [*found[: MOST_WEIGHED - 1], in_time[0]]
    return list(found[:MOST_WEIGHED])


def counted_in_words(number: int) -> str:
    """Return a count in words, as far as there are any here."""
    return NUMBERS[number] if number < len(NUMBERS) else str(number)


def _short(quest: Goal, choice: str) -> str:
    """Return a choice in few words: an object without its article, a caption without the number behind it, which
    cannot be read at the size of a cell."""
    if quest.asks == "count" and choice.isdecimal():
        return counted_in_words(int(choice))
    return choice.split(" ")[0] if quest.asks == "text" else without_article(choice)


def _said(quest: Goal, sight: CellContent, before: int) -> tuple[str, str]:
    """Return what is said of a frame, and what in that may be an answer, which stands at its end; `before` counts those
    that were one."""
    if not sight.object:
        return " nothing", ""
    is_it = sight.object in quest.objects
    marks = marked(sight.object.split(" "), quest.words)
    match quest.asks:
        case "object" | "line" | "course" | "first":
            return f" {sight.object}", sight.object if is_it or quest.asks != "first" else ""
        case "colour":
            is_it = sight.shape == quest.shape
            return marked([sight.shape], quest.words) + (f" {sight.colour}" if is_it else ""), sight.colour * is_it
        case "text":
            return marks + (f" {sight.word}" if is_it and sight.word else ""), sight.word * is_it
        case "neighbour":
            return marks + ("" if is_it else f" {sight.object}"), "" if is_it else sight.object
        case "count":
            number = counted_in_words(before + 1)
            return marks + (f" {number}" if is_it else ""), number * is_it
        case "when":
            return marks, sight.object * is_it
