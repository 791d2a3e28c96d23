"""`Votes`: several decisions on the same evidence, and the one that most agree with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from atlaskit.agents.master import prediction
from atlaskit.agents.master_calls import MasterCall
from atlaskit.environment.question import Answered, Question, spans_of
from atlaskit.environment.scoring import intervals_iou
from atlaskit.errors import InputError

SAME_IOU = 0.5
"""Two answers in intervals agree from this IoU on."""


def can_vote(vlm: object) -> bool:
    """Return whether a model's replies to the same request vary: at temperature 0 all are equal."""
    parameters = getattr(vlm, "parameters", None)  # a function that makes models has none
    return not isinstance(parameters, Mapping) or parameters.get("temperature") != 0


def check_votes(vlm: Any, votes: int) -> None:
    """Raise InputError if several votes of a model are one vote."""
    if votes > 1 and not can_vote(vlm):
        raise InputError(
            f"votes={votes} asks {vlm.name} the same several times, and at temperature 0 each reply is the same. "
            "Open the model with a temperature, for instance ak.VLM(…, temperature=0.7), or leave votes at 1."
        )


@dataclass
class Votes:
    """The decisions so far."""

    question: Question
    most: int
    """How many decisions are asked for at most."""
    calls: list[MasterCall] = field(default_factory=list)

    @property
    def is_open(self) -> bool:
        """Whether another decision is needed: there is none, or it can change the winner."""
        if not self.calls:
            return True
        # What a summary says is not compared: no two are alike.
        if len(self.calls) >= self.most or self.question.kind == "summary" or self.calls[-1].reply is None:
            return False
        return 2 * max(self._support) <= self.most

    @property
    def winner(self) -> MasterCall:
        """The first call that most replies agree with."""
        support = self._support
        return self.calls[support.index(max(support))]

    @property
    def others(self) -> Sequence[MasterCall]:
        """The calls that only counted as votes."""
        winner = self.winner
        return [call for call in self.calls if call is not winner]

    @property
    def _support(self) -> list[int]:
        """How many replies agree with each call; 0 for a call that failed."""
        given = [prediction(self.question, call.reply.answer) if call.reply else None for call in self.calls]
        return [
            0 if one is None else sum(other is not None and agree(self.question, one, other) for other in given)
            for one in given
        ]


def agree(question: Question, one: Answered, other: Answered) -> bool:
    """Return whether two answers to a question are the same answer."""
    if question.kind == "when":
        return intervals_iou(spans_of(one), spans_of(other)) >= SAME_IOU
    if isinstance(one, str) and isinstance(other, str):
        return one.casefold().split() == other.casefold().split()
    return one == other
