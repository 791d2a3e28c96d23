"""Typed replies: one class for each kind of call, with every field that its reply may have.

A schema (`schemas`) is made for one call. It lists the legal cells and labels, and has only the
fields that the question needs. Code that reads a reply should not have to ask which fields there
are. So `read` turns a validated answer into one of these classes, in which a field that the schema
lacks has its default. A field that the class lacks is an error.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict

from atlaskit.environment.mdp import Traversal
from atlaskit.environment.question import Span

Label = str | int
"""A label of evidence, or the number of a cell."""


class Read(BaseModel):
    """Base class of typed replies."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Interval(Read):
    """An interval that a reply names, its ends in any order; no schema can force the order."""

    start_s: float
    end_s: float

    @property
    def span(self) -> Span:
        """Return it as (start, end) in seconds, the earlier end first."""
        return min(self.start_s, self.end_s), max(self.start_s, self.end_s)


class TaskReply(Read):
    """The search task and the traversal."""

    search_task: str
    traversal: Traversal = "dfs"


class RankedCell(Read):
    """A cell that a probe ranks."""

    cell: int
    score: float


class ProbeReply(Read):
    """The cells of the root grid to search first."""

    reasoning: str
    top: tuple[RankedCell, ...]


class KeptCell(Read):
    """A frame that a reply keeps as evidence."""

    cell: int
    description: str
    confidence: float


class ChosenAction(Read):
    """The action that a step takes."""

    action: str
    cell: int | None = None
    cells: tuple[int, ...] = ()
    items: tuple[KeptCell, ...] = ()
    direction: Literal["before", "after", ""] = ""


class StepReply(Read):
    """A worker's step."""

    thought: str
    action: ChosenAction


class WeighedChoice(Read):
    """A judgement of one choice: the evidence for and against it."""

    choice: int
    supporting: tuple[Label, ...] = ()
    contradicting: tuple[Label, ...] = ()
    sufficient: bool = False
    """Whether the review considers it proven."""


class ReviewConclusion(Read):
    """The conclusion of a review: the evidence suffices, or the regions to search next."""

    action: Literal["final_decision", "continue"]
    looked_for_to_contradict: str = ""
    supporting: tuple[Label, ...] = ()
    explore: tuple[int, ...] = ()
    intervals: tuple[Interval, ...] = ()


class ReviewReply(Read):
    """A review of the search by cells."""

    reasoning: str
    choices: tuple[WeighedChoice, ...] = ()
    erase: tuple[Label, ...]
    conclusion: ReviewConclusion

    @property
    def is_sufficient(self) -> bool:
        """Whether the review declares the evidence sufficient and its judgement supports that.

        For a question with choices, exactly one choice must be judged proven, and the conclusion
        must name evidence that supports it.
        """
        if self.conclusion.action != "final_decision":
            return False
        if not self.choices:
            return True
        proven = {each.choice: each.supporting for each in self.choices if each.sufficient}
        if len(proven) != 1:
            return False
        (supporting,) = proven.values()
        return not set(supporting).isdisjoint(self.conclusion.supporting)

    @property
    def labels_to_erase(self) -> list[str]:
        """The labels that it erases, each once, except those that it also uses as support."""
        by_choice = (choice.supporting for choice in self.choices)
        return _without(self.erase, chain(self.conclusion.supporting, *by_choice))


class AnswerFields(Read):
    """The answer to a question of any kind, and the frames that it cites."""

    supporting: tuple[Label, ...] = ()
    weighed: tuple[WeighedChoice, ...] = ()
    answer: str | int = ""
    start_s: float = 0.0
    end_s: float = 0.0
    intervals: tuple[Interval, ...] = ()


class DecisionReply(AnswerFields):
    """The answer to a question. A method may ask for more beside it."""

    model_config = ConfigDict(extra="ignore")

    reasoning: str = ""
    absent: bool = False
    """Whether nothing in the video fits the question."""

    @property
    def interval(self) -> Interval:
        """The interval that answers a when-question."""
        return Interval(start_s=self.start_s, end_s=self.end_s)

    @property
    def cited(self) -> list[Label]:
        """The cited frames, each once: labels, or cells of the root grid."""
        cited = [each.supporting for each in self.weighed if each.choice == self.answer]
        return list(dict.fromkeys(chain(*(cited or [self.supporting]))))


class PlanReply(Read):
    """The plan of a search by looks."""

    reasoning: str
    search_task: str
    settled_by: Literal["one", "first", "last", "all"]
    lasts_s: float
    keep: tuple[KeptCell, ...]
    look: tuple[Interval, ...]


class LookReply(Read):
    """The reply of a look at some sheets."""

    note: str
    keep: tuple[KeptCell, ...]
    look: tuple[Interval, ...]


class VerdictConclusion(AnswerFields):
    """A verdict's conclusion: an answer, "not there", or the stretches to look at next."""

    action: Literal["answer", "not_there", "look"]
    sure: float = 0.0
    look: tuple[Interval, ...] = ()


class VerdictReply(Read):
    """A review of the search by looks, which may answer."""

    reasoning: str
    erase: tuple[Label, ...] = ()
    conclusion: VerdictConclusion

    @property
    def labels_to_erase(self) -> list[str]:
        """The labels that it erases, each once, except those that it also uses as support."""
        return _without(self.erase, self.conclusion.supporting)


def _without(labels: Iterable[Label], needed: Iterable[Label]) -> list[str]:
    """Return labels in their order, each once, without those that are needed."""
    exempt = set(needed)
    return [str(label) for label in dict.fromkeys(labels) if label not in exempt]


R = TypeVar("R", bound=Read)


def read(kind: type[R], answer: BaseModel) -> R:
    """Return a validated answer as an instance of one of the classes of this module."""
    return kind.model_validate(answer.model_dump())
