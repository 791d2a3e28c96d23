"""The oracle's answer to a question, from the wanted events that are in its evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from atlaskit.agents.schemas import MOST_ANSWERED, MOST_CITED
from atlaskit.benchmarks.atlasworld.oracle.perception import Perception
from atlaskit.benchmarks.atlasworld.question_writers import summary_of
from atlaskit.environment.question import Answered, Question, spans_of

COUNT_CATEGORIES = ("COUNT", "TALLY")


def decision_reply(
    perception: Perception, question: Question, found: Mapping[str, list[Any]], can_cite: bool = True
) -> dict[str, Any]:
    """Return the fields of a decision.

    Args:
        perception: What the oracle knows.
        question: The question.
        found: For each wanted event that was found, by id, the labels or cells that show it.
        can_cite: Whether the reply's schema has fields for cited labels or cells.
    """
    cited = [frame for frames in found.values() for frame in frames][:MOST_CITED]
    reasoning = f"{len(found)} of {len(perception.targets(question))} wanted events are in the evidence."
    answer = answer_from(perception, question, found)
    supporting = {"supporting": cited} if can_cite else {}
    if question.kind == "when":
        intervals = [{"start_s": start_s, "end_s": end_s} for start_s, end_s in spans_of(answer)]
        given = {"intervals": intervals[:MOST_ANSWERED]} if question.several else intervals[0]
        return {"reasoning": reasoning, **supporting, **given}
    if question.kind != "choice":
        return {"reasoning": reasoning, **supporting, "answer": answer}
    contradicting = {"contradicting": list[Any]()} if can_cite else {}
    weighed = [{"choice": answer, **supporting, **contradicting}]
    return {"reasoning": reasoning, "weighed": weighed, "answer": answer}


def answer_from(perception: Perception, question: Question, found: Mapping[str, Any]) -> Answered:
    """Return the answer that the found events give: the true one if they settle it, or a guess."""
    truth, targets = perception.truth(question), perception.targets(question)
    names = [event.name for event in sorted(targets, key=lambda event: event.start_s) if event.id in found]
    is_right = not perception.chances.confuses(question, "decide")
    if question.kind == "summary":
        return summary_of(names if is_right else reversed(names)) if names else "Nothing appears."
    if is_right and truth.category in COUNT_CATEGORIES:
        return _choice_of(perception, question, str(len(found))) if question.choices else len(found)
    if is_right and question.several and names:
        return tuple((event.start_s, event.end_s) for event in targets if event.id in found)
    if is_right and targets[0].id in found:
        return _true_answer(question, truth)
    if truth.category == "SSS" and names and question.choices:
        return next(i for i, choice in enumerate(question.choices) if choice.endswith(names[0]))
    return _guess(perception, question)


def _true_answer(question: Question, truth: Question) -> Answered:
    """Return the true answer in the form that `question` wants: among its choices, or without."""
    if truth.kind == "choice" and question.kind != "choice":
        truth = truth.without_choices()
    assert truth.answer is not None
    if question.choices == truth.choices:  # two of them may be equal
        return truth.answer
    return question.choices.index(truth.in_words(truth.answer)) if question.choices else truth.answer


def _choice_of(perception: Perception, question: Question, text: str) -> Answered:
    return question.choices.index(text) if text in question.choices else _guess(perception, question)


def _guess(perception: Perception, question: Question) -> Answered:
    draw = perception.chances.draw(question, "guess")
    if question.kind == "when":
        start_s = draw * perception.world.script.duration_s * 0.9
        return start_s, start_s + 2.0
    if question.kind == "choice":
        return int(draw * len(question.choices))
    return int(draw * 5) if question.kind == "count" else "I cannot tell."
