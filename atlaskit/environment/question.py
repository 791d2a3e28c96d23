"""A question about a video, the forms its answer can take, and how an answer is scored.

Knows nothing of videos, models or benchmarks. The score is the reward of the MDP (paper §3.1).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from atlaskit.errors import InputError

Kind = Literal["choice", "open", "when", "count", "summary"]
Span = tuple[float, float]
"""A half-open interval of seconds, `[start_s, end_s)`."""
Answered = int | Span | str
"""An answer: the index of a choice or a number, an interval, or words."""

ARTICLES = {"a", "an", "the"}


@dataclass(frozen=True)
class Question:
    """One question, and the form of its answer.

    | kind | answered by | score, in [0, 1] |
    |---|---|---|
    | choice | the index of one of `choices` | 1 if it is the right one |
    | open | some words | token F1 with the true words, as in SQuAD |
    | when | an interval in seconds (temporal grounding) | temporal IoU with the true one |
    | count | a whole number | 1 if it is the right one |
    | summary | some sentences, in order | ROUGE-L F1 with the true ones |

    `answer` is the truth, where it is known. `positions_s` are the intervals that hold the evidence, where they are
    known. `category` is the benchmark's own code for the sort of question (LongVideoBench's S2O, O3O, …).
    """

    text: str
    choices: tuple[str, ...] = ()
    kind: Kind = "choice"
    answer: Answered | None = None
    id: str = ""
    category: str = ""
    positions_s: tuple[Span, ...] = ()
    misleading_subtitle: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        if isinstance(self.choices, str) or not isinstance(self.choices, Sequence):
            raise InputError(f"Choices are a list of texts, in order; got {self.choices!r:.80}.")
        object.__setattr__(self, "choices", tuple(self.choices))
        object.__setattr__(self, "answer", _as_span(self.answer))
        for words in (self.text, *self.choices):
            if not isinstance(words, str):
                raise InputError(f"Questions and choices are texts, got {words!r:.80}.")
            if not _is_text(words):
                raise InputError(f"{words!r} holds bytes that are no text: write it in UTF-8.")
        if not self.text.strip():
            raise InputError("The question is empty: ask something, in words.")
        if self.kind not in get_args(Kind):
            raise InputError(f"A question is of kind {', '.join(get_args(Kind))}; got {self.kind!r}.")
        if self.kind != "choice" and self.choices:
            raise InputError(f"A question of kind {self.kind!r} has no choices to pick from: leave them out.")
        if self.kind == "choice" and len(self.choices) < 2:
            raise InputError(f"A question needs at least two choices, and got {len(self.choices)}.")
        if len(set(self.choices)) < len(self.choices):
            raise InputError(f"Two choices are the same, so no answer could be told apart: {list(self.choices)}.")
        if any(not choice.strip() for choice in self.choices):
            raise InputError(f"A choice is empty: {list(self.choices)}.")
        if self.answer is not None:
            self._check("answer", self.answer)

    def score(self, prediction: Answered | None) -> float:
        """Return the score of a prediction, in [0, 1]; no prediction scores 0.

        The words of a choice stand for its index if they are exactly its words: nothing is ever matched in part.
        Raises InputError where the truth is not known, or where the prediction is of another kind.
        """
        if self.answer is None:
            raise InputError(f"The true answer of {self.text!r} is not known, so nothing can be scored.")
        if prediction is None:
            return 0.0
        prediction = _as_span(prediction)
        if self.kind == "choice" and isinstance(prediction, str):
            return float(prediction == self.choices[int(self.answer)])  # type: ignore[arg-type]
        self._check("prediction", prediction)
        match self.answer, prediction:
            case tuple(truth), tuple(span):
                return temporal_iou(truth, span)
            case str(truth), str(words):
                return rouge_l(truth, words) if self.kind == "summary" else token_f1(truth, words)
        return float(prediction == self.answer)

    def is_right(self, prediction: Answered | None) -> bool:
        """Tell whether a prediction counts as right: a score of at least 0.5."""
        return self.score(prediction) >= 0.5

    def without_choices(self) -> Question:
        """Return the same question with nothing to pick from: a count if all choices are numbers, else an open one."""
        if self.kind != "choice":
            raise InputError(f"{self.text!r} is of kind {self.kind!r}: it has no choices to do without.")
        if all(re.fullmatch("[0-9]+", choice) for choice in self.choices):
            truth = None if self.answer is None else int(self.choices[int(self.answer)])  # type: ignore[arg-type]
            return replace(self, kind="count", choices=(), answer=truth)
        words = None if self.answer is None else self.choices[int(self.answer)]  # type: ignore[arg-type]
        return replace(self, kind="open", choices=(), answer=words)

    def in_words(self, answered: Answered) -> str:
        """Return an answer in words."""
        match answered:
            case tuple((start_s, end_s)):
                return f"{start_s:.2f}–{end_s:.2f} s"
            case int(index) if self.kind == "choice":
                return self.choices[index]
        return str(answered)

    def _check(self, what: str, given: Answered) -> None:
        """Raise InputError for an answer that is not of this question's kind."""
        match self.kind, given:
            case "choice", int(index) if not isinstance(given, bool) and 0 <= index < len(self.choices):
                return
            case "count", int(number) if not isinstance(given, bool) and number >= 0:
                return
            case "when", (float() | int() as start_s, float() | int() as end_s) if 0 <= start_s <= end_s < math.inf:
                return
            case "open" | "summary", str(words) if _is_text(words) and (what == "prediction" or words.strip()):
                return
        form = {
            "choice": f"the index of one of {len(self.choices)} choices",
            "count": "a whole number from 0",
            "when": "an interval (start_s, end_s) in seconds",
        }.get(self.kind, "words")
        raise InputError(f"The {what} to a question of kind {self.kind!r} is {form}, not {given!r}.")

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
            return cls(
                text=row["text"],
                choices=tuple(row["choices"]),
                kind=row["kind"],
                answer=row["answer"],
                id=row["id"],
                category=row["category"],
                positions_s=tuple((float(a), float(b)) for a, b in row["positions_s"]),
                misleading_subtitle=bool(row["misleading_subtitle"]),
            )
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise InputError(f"This is not a question: {error!r} in {str(row)[:200]}.") from error


def as_question(question: str | Question, choices: Sequence[str] | None, kind: Kind | None) -> Question:
    """Return what is asked as a question; raise InputError for a question that is given choices or a kind again."""
    if not isinstance(question, Question):
        return Question(question, () if choices is None else choices, kind or ("choice" if choices else "open"))  # type: ignore[arg-type]
    if choices is not None or kind is not None:
        raise InputError("This question has its own choices and kind: leave `choices` and `kind` out.")
    return question


def _as_span(answer: Any) -> Any:
    """Return an interval as a tuple, whatever it came as; anything else as it is."""
    return tuple(answer) if isinstance(answer, list) else answer


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


def token_f1(truth: str, words: str) -> float:
    """Return the F1 of the words that two texts share, whatever their order, in [0, 1] (SQuAD)."""
    a, b = _words(truth), _words(words)
    return _f1((Counter(a) & Counter(b)).total(), a, b)


def rouge_l(truth: str, words: str) -> float:
    """Return the F1 of the longest run of words that two texts share in the same order, gaps allowed (ROUGE-L)."""
    a, b = _words(truth), _words(words)
    row = [0] * (len(b) + 1)
    for word in a:
        diagonal = 0
        for place, other in enumerate(b, start=1):
            above = row[place]
            row[place] = diagonal + 1 if word == other else max(above, row[place - 1])
            diagonal = above
    return _f1(row[-1], a, b)


def with_article(words: str) -> str:
    """Return words with the "a" or "an" that belongs before them."""
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def without_article(words: str) -> str:
    """Return words without the "a" or "an" that they begin with: a choice as it is named elsewhere."""
    return words.removeprefix("an ").removeprefix("a ")


def _words(text: str) -> list[str]:
    """Return a text's words as they are compared: lower case, without punctuation and articles."""
    return [word for word in re.findall(r"\w+", text.casefold()) if word not in ARTICLES]


def _f1(shared: int, a: Sequence[str], b: Sequence[str]) -> float:
    if not a or not b:
        return float(list(a) == list(b))
    return 2 * shared / (len(a) + len(b))
