"""`Question`: text, kind, choices, truth; validates an answer and scores a prediction.

The score is the reward of the MDP (paper §3.1). This module knows nothing of videos, models or
benchmarks.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from atlaskit.environment.scoring import intervals_iou, rouge_l, token_f1
from atlaskit.errors import InputError, check_flags, printable

Kind = Literal["choice", "open", "when", "count", "summary"]
Span = tuple[float, float]
"""A half-open interval in seconds, `[start_s, end_s)`."""
Spans = tuple[Span, ...]
"""Several half-open intervals in seconds."""
Answered = int | Span | Spans | str
"""Value of an answer: the index of a choice, a count, one interval, several or none, or a text."""
ABSENT: Spans = ()
"""The answer that nothing in the video fits the question. The answer to a count is 0 instead."""
_SPAN_IN_WORDS = re.compile(r"(\d{1,9}\.\d\d)–(\d{1,9}\.\d\d) s", re.ASCII)
"""An interval as `Question.in_words` writes it."""


@dataclass(frozen=True)
class Question:
    """One question, its kind and, where known, its true answer.

    | kind | answer | score, in [0, 1] |
    |---|---|---|
    | choice | the index of one of `choices` | 1 for the true index, else 0 |
    | open | text | token F1 with the true text, as in SQuAD |
    | when | an interval in seconds (temporal grounding), or several | temporal IoU with the truth |
    | count | an integer | 1 for the true integer, else 0 |
    | summary | sentences in order of time | ROUGE-L F1 with the true sentences |

    A when-question of several intervals has an answer `((s, e), (s, e), …)`. Its score is the IoU
    of the times that truth and prediction cover.

    Raises:
        InputError: The text or a choice is empty, or the answer does not fit the kind. Two choices
            may be equal, as in published benchmarks: the answer is an index.

    Examples:
        >>> ak.Question("What colour is the star?", ("red", "blue"), answer=1).is_right(1)
        True
        >>> ak.Question("When does it rain?", kind="when", answer=(60, 80)).score((70, 80))
        0.5
    """

    text: str
    choices: tuple[str, ...] = ()
    kind: Kind = "choice"
    answer: Answered | None = None
    """The true answer; None where it is not known."""
    id: str = ""
    category: str = ""
    """The benchmark's code for the type of question, such as LongVideoBench's S2O."""
    positions_s: tuple[Span, ...] = ()
    """Intervals that hold the evidence; empty where they are not known."""
    misleading_subtitle: bool = field(default=False, kw_only=True)
    """Whether a subtitle line suggests a wrong answer."""
    several: bool = field(default=False, kw_only=True)
    """Whether the answer to a when-question may be several intervals.

    An answer of more than one interval makes it True."""
    may_be_absent: bool | None = field(default=None, kw_only=True)
    """Whether a model may answer that nothing in the video fits the question: ABSENT. None means
    yes for when-questions and where ABSENT is the true answer. A count is 0, never ABSENT."""

    def __post_init__(self) -> None:
        if isinstance(self.choices, str) or not isinstance(self.choices, Sequence):
            raise InputError(f"Choices must be a list of texts; got {self.choices!r:.80}.")
        object.__setattr__(self, "choices", tuple(self.choices))
        object.__setattr__(self, "answer", as_answered(self.answer))
        for text in (self.text, *self.choices):
            if not isinstance(text, str):
                raise InputError(f"Questions and choices must be texts; got {text!r:.80}.")
            if not _is_text(text):
                raise InputError(f"{text!r} holds bytes that are not UTF-8: encode it as UTF-8.")
        if not self.text.strip():
            raise InputError("The question is empty: give it a text.")
        if self.kind not in get_args(Kind):
            raise InputError(
                f"The kind of a question is one of {', '.join(get_args(Kind))}; got {self.kind!r}."
            )
        check_flags(misleading_subtitle=self.misleading_subtitle, several=self.several)
        if self.may_be_absent is not None:
            check_flags(may_be_absent=self.may_be_absent)
        self._check_choices()
        if self.answer is not None:
            self._check_answer("answer", self.answer)
        if self.may_be_absent and self.kind == "count":
            raise InputError(
                "A count of what is not there is 0: leave may_be_absent out for kind 'count'."
            )
        self._settle_several()

    def __repr__(self) -> str:
        name = f" {printable(self.id, 40)}" if self.id else ""
        choices = f", {len(self.choices)} choices" if self.choices else ""
        return f"<question{name}: {printable(self.text, 80)!r}, {self.kind}{choices}>"

    def _check_choices(self) -> None:
        """Raise InputError unless the choices fit the kind and none is empty."""
        if self.kind != "choice" and self.choices:
            raise InputError(f"A question of kind {self.kind!r} has no choices: leave them out.")
        if self.kind == "choice" and len(self.choices) < 2:
            raise InputError(
                f"A question of kind 'choice' needs at least two choices; got {len(self.choices)}."
            )
        if any(not choice.strip() for choice in self.choices):
            raise InputError(f"A choice is empty: {list(self.choices)}. Give each one a text.")

    @property
    def can_be_absent(self) -> bool:
        """Whether a model may answer ABSENT: `may_be_absent`, or its default if that is None."""
        if self.may_be_absent is None:
            return self.kind == "when" or self.answer == ABSENT
        return self.may_be_absent

    @property
    def evidence_s(self) -> Spans:
        """The known intervals of the evidence: `positions_s`, or the true intervals themselves."""
        return self.positions_s or spans_of(self.answer)

    def _settle_several(self) -> None:
        """Set `several`; make the answer a tuple of intervals if it is True, else one interval."""
        if self.kind != "when":
            if self.several:
                raise InputError(
                    "Only a question of kind 'when' has several intervals; this one is "
                    f"{self.kind!r}."
                )
            return
        spans = spans_of(self.answer)
        object.__setattr__(self, "several", bool(self.several) or len(spans) > 1)
        if spans:
            object.__setattr__(self, "answer", spans if self.several else spans[0])

    def score(self, prediction: Answered | None) -> float:
        """Return the score of a prediction, in [0, 1].

        Args:
            prediction: The predicted answer; None scores 0. For kind "choice" the exact text of a
                choice is accepted in place of its index; partial matches score 0.

        Raises:
            InputError: The true answer is not known, or the prediction does not fit the kind.
        """
        if self.answer is None:
            raise InputError(
                f"The true answer to {self.text!r} is not known, so a prediction cannot be scored."
            )
        if prediction is None:
            return 0.0
        prediction = as_answered(prediction)
        if ABSENT in (self.answer, prediction):
            self._check_answer("prediction", prediction)
            return float(prediction == self.answer)
        if self.kind == "choice" and isinstance(prediction, str):
            return float(prediction == self.choices[int(self.answer)])  # type: ignore[arg-type]
        self._check_answer("prediction", prediction)
        match self.answer, prediction:
            case tuple(truth), tuple(given):
                return intervals_iou(spans_of(truth), spans_of(given))
            case str(truth), str(text):
                return rouge_l(truth, text) if self.kind == "summary" else token_f1(truth, text)
        return float(prediction == self.answer)

    def is_right(self, prediction: Answered | None) -> bool:
        """Return whether a prediction scores at least 0.5."""
        return self.score(prediction) >= 0.5

    def without_choices(self) -> Question:
        """Return the question without its choices.

        Its kind becomes "count" if all choices are numbers, else "open".

        Raises:
            InputError: The question is not of kind "choice".
        """
        if self.kind != "choice":
            raise InputError(
                f"{self.text!r} is of kind {self.kind!r} and has no choices to remove."
            )
        are_numbers = all(re.fullmatch("[0-9]+", choice) for choice in self.choices)
        truth = self.answer
        if isinstance(truth, int):
            words = self.choices[truth]
            truth = int(words) if are_numbers else words
        return replace(self, kind="count" if are_numbers else "open", choices=(), answer=truth)

    def in_words(self, answered: Answered) -> str:
        """Return an answer as text: a choice by its text, an interval as "1.00–2.50 s".

        Several intervals are separated by commas. ABSENT is "not in the video".
        """
        match answered:
            case ():
                return "not in the video"
            case tuple():
                return ", ".join(f"{a:.2f}–{b:.2f} s" for a, b in spans_of(answered))
            case int(index) if self.kind == "choice":
                return self.choices[index]
        return str(answered)

    def _check_answer(self, role: str, value: Answered) -> None:
        """Raise InputError unless a value fits the kind; its role is "answer" or "prediction"."""
        count = len(self.choices)
        match self.kind, value:
            case "choice" | "open" | "when" | "summary", ():
                return
            case "choice", int(index) if not isinstance(value, bool) and 0 <= index < count:
                return
            case "count", int(number) if not isinstance(value, bool) and number >= 0:
                return
            case "when", tuple() if value and all(map(_is_interval, spans_of(value))):
                return
            case "open" | "summary", str(text) if _is_text(text) and (
                role == "prediction" or text.strip()
            ):
                return
        form = {
            "choice": f"the index of one of {count} choices",
            "count": "an integer of at least 0",
            "when": "an interval (start_s, end_s) in seconds, or a list of such intervals",
        }.get(self.kind, "text")
        raise InputError(
            f"The {role} to a question of kind {self.kind!r} must be {form}; got {value!r}."
        )

    def to_json(self) -> dict[str, Any]:
        """Return the question as values that JSON can hold."""
        row = {
            "id": self.id,
            "text": self.text,
            "kind": self.kind,
            "choices": list(self.choices),
            "answer": _tuples_as_lists(self.answer),
            "category": self.category,
            "positions_s": list(map(list, self.positions_s)),
            "misleading_subtitle": self.misleading_subtitle,
        }
        # Earlier records lack these fields, so records with their defaults lack them too.
        if self.several:
            row["several"] = True
        if self.may_be_absent is not None:
            row["may_be_absent"] = self.may_be_absent
        return row

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Question:
        """Return the question that `to_json` wrote.

        Raises:
            InputError: A field is missing or breaks a rule.
        """
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
                several=bool(row.get("several", False)),
                may_be_absent=row.get("may_be_absent"),
            )
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise InputError(f"A row is not a question ({error!r}): {str(row)[:200]}.") from error


def as_question(
    question: str | Question, choices: Sequence[str] | None, kind: Kind | None
) -> Question:
    """Return a `Question` unchanged, or make one from its text.

    Args:
        question: A question, or its text.
        choices: Choices for a text; None if there are none.
        kind: Kind for a text; None means "choice" with choices, "open" without.

    Raises:
        InputError: A `Question` comes together with choices or a kind, or two choices are equal.
    """
    if isinstance(question, Question):
        if choices is not None or kind is not None:
            raise InputError(
                "A Question carries its own choices and kind: leave `choices` and `kind` out."
            )
        return question
    given: Any = () if choices is None else choices  # the question makes a tuple of it
    check_distinct(given)
    return Question(question, given, kind or ("choice" if given else "open"))


def check_distinct(choices: Sequence[str]) -> None:
    """Raise InputError if a person gives the same choice twice.

    `Question` itself accepts equal choices, since published benchmarks have them and give the
    answer as an index.
    """
    seen = list[str]()
    for choice in choices:
        if choice in seen:
            raise InputError(
                f"The choice {choice!r:.80} is there twice, and nobody could tell which is meant: "
                "leave one out."
            )
        seen.append(choice)


def spans_of(answered: Any) -> Spans:
    """Return the intervals of an answer to a when-question; none for any other value."""
    if not isinstance(answered, tuple) or not answered:
        return ()
    return answered if isinstance(answered[0], tuple) else (answered,)


def _is_interval(span: Any) -> bool:
    """Return whether a value is (start_s, end_s), in order and finite."""
    match span:
        case (float() | int() as start_s, float() | int() as end_s):
            return bool(0 <= start_s <= end_s <= sys.float_info.max)
    return False


def spans_in_words(words: str) -> Spans:
    """Return the intervals in a text by `Question.in_words`; none for any other text."""
    spans = list[Span]()
    for part in words.split(", "):
        found = _SPAN_IN_WORDS.fullmatch(part)
        if found is None:
            return ()
        spans.append((float(found[1]), float(found[2])))
    return tuple(spans)


def as_answered(answer: Any) -> Any:
    """Return an answer with its lists as tuples, and any other value unchanged."""
    if not isinstance(answer, list | tuple):
        return answer
    spans = list[Any]()
    for span in answer:
        spans.append(tuple(span) if isinstance(span, list) else span)
    return tuple(spans)


def _tuples_as_lists(answer: Any) -> Any:
    """Return an answer with its tuples as lists, for JSON, and any other value unchanged."""
    if not isinstance(answer, tuple):
        return answer
    spans = list[Any]()
    for span in answer:
        spans.append(list(span) if isinstance(span, tuple) else span)
    return spans


def _is_text(text: str) -> bool:
    """Return whether a string can be encoded as UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        # Python decodes invalid bytes on the command line to lone surrogates.
        return False
    return True


def with_article(words: str) -> str:
    """Return a noun phrase with its indefinite article: "an owl"."""
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def without_article(words: str) -> str:
    """Return a noun phrase without its leading "a" or "an"."""
    return words.removeprefix("an ").removeprefix("a ")
