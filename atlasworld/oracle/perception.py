"""`Perception`: which wanted events the oracle recognises in a view, a cell, a frame or evidence.

Wanted events are those of the world's script that hold the evidence for a question. `Chances`
decides the oracle's random errors, `decision_reply` answers from the events that were found, and
`estimated_usage` estimates the usage of a call.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol, TypeAlias

from atlaskit.agents.schemas import MOST_ANSWERED, MOST_CITED
from atlaskit.caching.keys import canonical_json
from atlaskit.environment.grid import Cell
from atlaskit.environment.memory import Scratchpad
from atlaskit.environment.question import ABSENT, Answered, Question, spans_of
from atlaskit.environment.render import View
from atlaskit.errors import InputError
from atlaskit.models.protocol import CHARACTERS_A_TOKEN, Clip, Request, Usage
from atlasworld.question_writers import summary_of
from atlasworld.questions import is_absent
from atlasworld.timeline import WorldEvent, names_of, span_of
from atlasworld.worlds import World


@dataclass(frozen=True)
class Chances:
    """The oracle's two error rates, and the random draws that decide when it errs.

    A draw depends on the seed, the world, the question and the decision to make, never on the order
    of calls. The same run therefore always gets the same answers.

    Attributes:
        world: Name of the world.
        miss: Probability of overlooking something, in [0, 1].
        confuse: Probability of mistaking or misjudging something, in [0, 1].
        seed: Seed of the draws.
    """

    world: str
    miss: float
    confuse: float
    seed: int

    def draw(self, question: Question | None, *decision: Any) -> float:
        """Return the random number in [0, 1) of a decision.

        Args:
            question: The question that the decision is about; None if it is about none, as a
                caption is.
            *decision: JSON values that identify the decision, such as its kind and an event's id.
        """
        asked = question.text if question else None
        text = canonical_json([self.seed, self.world, asked, *decision])
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / 2**48

    def misses(self, question: Question | None, *decision: Any) -> bool:
        """Return whether the oracle overlooks something; see `draw`."""
        return self.draw(question, *decision) < self.miss

    def confuses(self, question: Question, *decision: Any) -> bool:
        """Return whether the oracle mistakes or misjudges something; see `draw`."""
        return self.draw(question, *decision) < self.confuse


class HasInterval(Protocol):
    """An interval of the video: a cell, a region or a gap."""

    @property
    def start_s(self) -> float:
        """Start in seconds."""

    @property
    def end_s(self) -> float:
        """End in seconds, exclusive."""


@dataclass(frozen=True)
class Perception:
    """A world as the oracle perceives it, with the mistakes that `chances` decides."""

    world: World
    chances: Chances

    def truth(self, question: Question) -> Question:
        """Return the world's own question with this text.

        Raises:
            InputError: There is none, or its answer has no form that `question` accepts.
        """
        truth = self.world.question(question.text)
        if not _can_answer(question, truth):
            raise InputError(
                "An oracle answers a question as its world asks it, without choices, or with the "
                f"true choice among others; {question.text!r:.120} is of kind {truth.kind!r}."
            )
        return truth

    def targets(self, question: Question) -> list[WorldEvent]:
        """Return the wanted events (those that hold the evidence), the deciding one first."""
        return self.world.targets(self.truth(question))

    def is_absent(self, question: Question) -> bool:
        """Return whether the world lacks what is asked for; the oracle finds out by looking."""
        return is_absent(self.truth(question))

    def missing(self, question: Question, pad: Scratchpad) -> list[WorldEvent]:
        """Return the wanted events that no frame in the scratchpad shows."""
        return [event for event in self.targets(question) if not is_in_evidence(event, pad)]

    def is_content(self, question: Question, missing: Iterable[WorldEvent]) -> bool:
        """Return whether the oracle is content with the evidence.

        It is if no event is missing, or if it wrongly takes each missing event for found.
        """
        return all(self.chances.confuses(question, "review", event.id) for event in missing)

    def evidence(self, question: Question, pad: Scratchpad) -> dict[str, list[str]]:
        """Return the labels of the frames that show each wanted event, by event id.

        The events are in order of time; those without a frame are left out.
        """
        events = sorted(self.targets(question), key=lambda event: event.start_s)
        labels = dict[str, list[str]]()
        for event in events:
            of_event = [item.label for item in pad if contains(event, item.timestamp_s)]
            if of_event:
                labels[event.id] = of_event
        return labels

    def recognised(
        self,
        question: Question,
        view: View,
        cells: Iterable[int],
        missing: list[WorldEvent],
        pad: Scratchpad = Scratchpad(),
    ) -> dict[str, list[int]]:
        """Return the cells whose frames show events that the oracle takes for wanted ones.

        If no event is missing, it takes none for a wanted one, unless the world lacks what is asked
        for.

        Args:
            question: The question.
            view: The view that the oracle looks at.
            cells: Indices of the cells that it looks at.
            missing: The wanted events that are not in the evidence yet.
            pad: Evidence so far. Events in it are not recognised again.

        Returns:
            Cells in order, by event id; an id may belong to an event mistaken for a wanted one.
        """
        recognised: dict[str, list[int]] = {}
        grid = view.grid
        moments = view.moments
        targets = self.targets(question)
        is_searching = bool(missing) or self.is_absent(question)
        for cell in cells:
            event = self.world.script.event_at(moments[cell])
            if event is None or not is_searching or is_in_evidence(event, pad):
                continue
            decision = event.id, grid.start_s, grid.end_s
            if event not in targets:
                is_recognised = self.chances.confuses(question, "confuse", *decision)
            elif event in missing:
                is_recognised = not self.chances.misses(question, "miss", *decision)
            else:
                is_recognised = False
            if is_recognised:
                recognised.setdefault(event.id, []).append(cell)
        return recognised

    def promise(self, question: Question, cell: Cell, missing: Iterable[WorldEvent]) -> float:
        """Return how promising a cell looks, in [0, 1].

        That is the largest share of a missing event that lies in the cell, of those that the oracle
        does not overlook.
        """
        largest = 0.0
        for event in missing:
            decision = event.id, cell.start_s, cell.end_s
            if share(event, cell) and not self.chances.misses(question, "miss region", *decision):
                largest = max(largest, share(event, cell))
        return largest


def _can_answer(question: Question, truth: Question) -> bool:
    """Return whether the true answer can be given in the form that a question wants."""
    if truth.answer is None or truth.answer == ABSENT:
        return True
    if question.choices:
        return truth.in_words(truth.answer) in question.choices
    if question.kind == "count" and truth.kind == "choice":
        return truth.without_choices().kind == "count"
    return question.kind in ("open", truth.kind)


def describe(event: WorldEvent) -> str:
    """Return the oracle's description of an event; its id makes it unambiguous."""
    return f"{event.name} is on screen ({event.id})"


def described(events: Iterable[WorldEvent]) -> list[str]:
    """Return a sentence about each event."""
    return [f"{describe(event)}." for event in events]


def others(events: Iterable[WorldEvent], ids: Container[str]) -> list[WorldEvent]:
    """Return the events that are not among some ids."""
    return [event for event in events if event.id not in ids]


def share(event: WorldEvent, interval: HasInterval) -> float:
    """Return the part of an event that lies in an interval, in [0, 1]."""
    overlap = min(event.end_s, interval.end_s) - max(event.start_s, interval.start_s)
    return max(0.0, overlap) / (event.end_s - event.start_s)


def overlaps(event: WorldEvent, interval: HasInterval) -> bool:
    """Return whether an event and an interval have time in common."""
    return event.start_s < interval.end_s and interval.start_s < event.end_s


def contains(event: WorldEvent, time_s: float) -> bool:
    """Return whether an event is visible at a time."""
    return event.start_s <= time_s < event.end_s


def shows_any(events: Iterable[WorldEvent], time_s: float) -> bool:
    """Return whether one of some events is visible at a time."""
    return any(contains(event, time_s) for event in events)


def picked_cells(question: Question, cells: Sequence[int]) -> list[int]:
    """Return the cells to cite for an event: the first and last for "when", else the middle one."""
    if question.kind == "when":
        return list(dict.fromkeys((cells[0], cells[-1])))
    return [cells[len(cells) // 2]]


def is_in_evidence(event: WorldEvent, pad: Scratchpad) -> bool:
    """Return whether a frame in the scratchpad shows an event."""
    return any(contains(event, item.timestamp_s) for item in pad)


PIXELS_A_TOKEN = 32 * 32


def estimated_usage(request: Request, text: str) -> Usage:
    """Estimate the usage of a call: one token per 4 characters, and per 32×32 pixels of an image.

    Two frames of a clip share their tokens, as in models that get videos.

    Args:
        request: The request.
        text: The text of its reply.
    """
    characters = 0
    pixels = 0
    for message in request.messages:
        for part in message.parts:
            if isinstance(part, str):
                characters += len(part)
                continue
            frames = math.ceil(len(part.times_s) / 2) if isinstance(part, Clip) else 1
            pixels += frames * math.prod(part.size)
    images = pixels // PIXELS_A_TOKEN
    return Usage(
        calls=1,
        prompt_tokens=characters // CHARACTERS_A_TOKEN + images,
        image_tokens=images,
        completion_tokens=max(1, len(text) // CHARACTERS_A_TOKEN),
        estimated=True,
    )


COUNT_CATEGORIES = ("COUNT", "TALLY")


def decision_reply(
    perception: Perception,
    question: Question,
    found: Mapping[str, list[Any]],
    can_cite: bool = True,
) -> dict[str, Any]:
    """Return the fields of a decision.

    Args:
        perception: What the oracle knows.
        question: The question.
        found: For each wanted event that was found, by id, the labels or cells that show it.
        can_cite: Whether the reply's schema has fields for cited labels or cells.
    """
    cited = list(chain.from_iterable(found.values()))[:MOST_CITED]
    reasoning = (
        f"{len(found)} of {len(perception.targets(question))} wanted events are in the evidence."
    )
    answer = answer_from(perception, question, found)
    supporting = {"supporting": cited} if can_cite else {}
    if question.kind == "when":
        intervals = [{"start_s": start_s, "end_s": end_s} for start_s, end_s in spans_of(answer)]
        given = {"intervals": intervals[:MOST_ANSWERED]} if question.several else intervals[0]
        return {"reasoning": reasoning, **supporting, **given}
    if question.kind != "choice":
        return {"reasoning": reasoning, **supporting, "answer": answer}
    weighed = list[dict[str, Any]]()
    for choice in range(len(question.choices)):
        sides: dict[str, Any] = {}
        if can_cite and choice == answer:
            sides = {"supporting": cited, "contradicting": []}
        elif can_cite:
            sides = {"supporting": [], "contradicting": cited}
        weighed.append({"choice": choice, **sides})
    return {"reasoning": reasoning, "weighed": weighed, "answer": answer}


def answer_from(perception: Perception, question: Question, found: Mapping[str, Any]) -> Answered:
    """Return the answer that the found events give: the true one if they suffice, or a guess."""
    truth = perception.truth(question)
    targets = perception.targets(question)
    shown = [event for event in targets if event.id in found]
    names = names_of(sorted(shown, key=lambda event: event.start_s))
    is_right = not perception.chances.confuses(question, "decide")
    if question.kind == "summary":
        if not names:
            return "Nothing appears."
        return summary_of(names if is_right else reversed(names))
    if question.kind == "count" and perception.is_absent(question):
        if not perception.chances.confuses(question, "review", "absent"):
            return 0
        return 1 + int(perception.chances.draw(question, "guess") * 4)
    if is_right and truth.category in COUNT_CATEGORIES:
        if question.kind == "open":
            return str(len(found))
        if not question.choices:
            return len(found)
        return _choice_of(perception, question, str(len(found)))
    if is_right and question.several and names:
        return tuple(map(span_of, shown))
    if is_right and targets and targets[0].id in found:
        return _true_answer(question, truth)
    if truth.category == "SSS" and names and question.choices:
        return next(i for i, choice in enumerate(question.choices) if choice.endswith(names[0]))
    return _guess(perception, question)


def _true_answer(question: Question, truth: Question) -> Answered:
    """Return the true answer in the form that `question` wants: among its choices, or without."""
    if truth.kind == "choice" and question.kind != "choice":
        truth = truth.without_choices()
    assert truth.answer is not None
    if question.kind == "open":
        return truth.in_words(truth.answer)
    if question.choices == truth.choices:  # the index itself, since two choices may be equal
        return truth.answer
    if question.choices:
        return question.choices.index(truth.in_words(truth.answer))
    return truth.answer


def _choice_of(perception: Perception, question: Question, text: str) -> Answered:
    if text in question.choices:
        return question.choices.index(text)
    return _guess(perception, question)


def _guess(perception: Perception, question: Question) -> Answered:
    draw = perception.chances.draw(question, "guess")
    if question.kind == "when":
        start_s = draw * perception.world.script.duration_s * 0.9
        return start_s, start_s + 2.0
    if question.kind == "choice":
        return int(draw * len(question.choices))
    if question.kind == "count":
        return int(draw * 5)
    return "I cannot tell."


Replies: TypeAlias = Mapping[type, Callable[[Perception, Any], dict[str, Any]]]
"""The function that answers each call, by the call's class."""
