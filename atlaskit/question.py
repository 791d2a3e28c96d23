"""A question about a video, the forms its answer can take, and how an answer is scored.

Knows nothing of videos, models or benchmarks. The score is the reward of the MDP.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from atlaskit.errors import InputError

Kind = Literal["choice", "when"]
Span = tuple[float, float]
"""A half-open interval of seconds, `[start_s, end_s)`."""


@dataclass(frozen=True)
class Question:
    """One question.

    A question with choices is answered by the index of one of them. A *when* question (temporal grounding)
    has no choices and is answered by an interval in seconds.

    `answer` is the truth, where it is known: an index for a choice, an interval for *when*.
    `positions_s` are the intervals that hold the evidence, where they are known. `category` is the benchmark's
    own code for the sort of question (LongVideoBench's S2O, O3O, …).
    """

    text: str
    choices: tuple[str, ...] = ()
    kind: Kind = "choice"
    answer: int | Span | None = None
    id: str = ""
    category: str = ""
    positions_s: tuple[Span, ...] = ()
    misleading_subtitle: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise InputError("The question is empty: ask something, in words.")
        for words in (self.text, *self.choices):
            if not _is_text(words):
                raise InputError(f"{words!r} holds bytes that are no text: write it in UTF-8.")
        if self.kind == "when":
            if self.choices:
                raise InputError("A when-question is answered by an interval: leave out the choices.")
        elif len(self.choices) < 2:
            raise InputError(f"A question needs at least two choices, and got {len(self.choices)}.")
        if len(set(self.choices)) < len(self.choices):
            raise InputError(f"Two choices are the same, so no answer could be told apart: {list(self.choices)}.")
        if any(not choice.strip() for choice in self.choices):
            raise InputError(f"A choice is empty: {list(self.choices)}.")
        if isinstance(self.answer, int) and not 0 <= self.answer < len(self.choices):
            raise InputError(f"The answer {self.answer} is not the index of one of {len(self.choices)} choices.")

    def score(self, prediction: int | Span | None) -> float:
        """Return 1.0 or 0.0 for a choice, the temporal IoU in [0, 1] for *when*; no prediction scores 0."""
        if self.answer is None:
            raise InputError(f"The true answer of {self.text!r} is not known, so nothing can be scored.")
        if prediction is None:
            return 0.0
        if self.kind == "when":
            if isinstance(self.answer, int) or isinstance(prediction, int):
                raise InputError("A when-question is scored on intervals (start_s, end_s).")
            return temporal_iou(self.answer, prediction)
        return float(prediction == self.answer)

    def is_right(self, prediction: int | Span | None) -> bool:
        """Tell whether the prediction counts as right: the exact choice, or a temporal IoU of at least 0.5."""
        return self.score(prediction) >= 0.5

    def to_json(self) -> dict[str, Any]:
        """Return the question as plain JSON values."""
        return {
            "id": self.id,
            "text": self.text,
            "kind": self.kind,
            "choices": list(self.choices),
            "answer": list(self.answer) if isinstance(self.answer, tuple) else self.answer,
            "category": self.category,
            "positions_s": [list(span) for span in self.positions_s],
            "misleading_subtitle": self.misleading_subtitle,
        }

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Question:
        """Read what `to_json` wrote; raise InputError for a row that lacks a field or breaks a rule."""
        try:
            answer = row["answer"]
            return cls(
                text=row["text"],
                choices=tuple(row["choices"]),
                kind=row["kind"],
                answer=(float(answer[0]), float(answer[1])) if isinstance(answer, list) else answer,
                id=row["id"],
                category=row["category"],
                positions_s=tuple((float(a), float(b)) for a, b in row["positions_s"]),
                misleading_subtitle=bool(row["misleading_subtitle"]),
            )
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise InputError(f"This is not a question: {error!r} in {str(row)[:200]}.") from error


def _is_text(words: str) -> bool:
    try:
        words.encode("utf-8")
    except UnicodeEncodeError:  # the command line hands undecodable bytes through as lone surrogates
        return False
    return True


def temporal_iou(a: Span, b: Span) -> float:
    """Return the overlap of two intervals over their union, in [0, 1]."""
    overlap = max(0.0, min(a[1], b[1]) - max(a[0], b[0]))
    union = (a[1] - a[0]) + (b[1] - b[0]) - overlap
    return overlap / union if union > 0 else 0.0
