"""The choices of a question as datasets write them.

* Options: letters before choices, choices inside the question, answers by letter, text or number.
* `LetteredRow`: a row whose answer is the letter of one of its options.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from pydantic import field_validator, model_validator

from atlaskit.benchmarks.datasets.rows import Row

LABELLED_OPTION = re.compile(r"\(?([A-Z])(?:\)\.?|[.:、)]|(?=\s))\s*(.*)", re.DOTALL)
"""An option with its letter: "A. Apples.", "(A) Apples", "A: Apples", "A Apples"."""
LETTER = re.compile(r"\(?([A-Za-z])[).:]*")
LINE_LABEL = re.compile(r"^[ \t]*(?P<open>\(?)(?P<letter>[A-Z])(?P<close>[).:、])", re.MULTILINE)
"""The letter at the beginning of a line that starts an option."""
INNER_LABEL = re.compile(
    r"(?:(?<=\s)|^)(?:(?P<open>\()(?P<letter>[A-Z])(?P<close>\))|(?P<bare>[A-Z])(?P<end>[).:、])(?=\s))"
)
"""The letter of an option that may stand within a line."""
MOST_LABELS = 500
"""Labels of one text that are looked at: the last ones, because options end a question."""


@dataclass(frozen=True)
class Options:
    """The options of one question, in the dataset's order."""

    published: tuple[str, ...]
    """The options as the dataset writes them."""
    letters: tuple[str, ...]
    """The letter of each: its own, or else A, B, C, …"""
    texts: tuple[str, ...]
    """The options without their letters."""

    def by_letter(self, answer: str) -> int | None:
        """Return the index of the option with the letter that an answer is; None if it is none."""
        match = LETTER.fullmatch(answer.strip())
        if match and match[1].upper() in self.letters:
            return self.letters.index(match[1].upper())
        return None

    def by_text(self, answer: str) -> int | None:
        """Return the index of the first option whose text, with or without letter, an answer is."""
        answer = answer.strip()
        forms = [*self.published, *self.texts]
        if answer in forms:
            return forms.index(answer) % len(self.published)
        match = LABELLED_OPTION.fullmatch(answer)  # the answer has a letter, the options have none
        index = self.by_letter(match[1]) if match else None
        if match and index is not None and self.texts[index] == match[2].strip():
            return index
        return None

    def index_of(self, answer: str) -> int | None:
        """Return the index of the option that an answer means, by letter, else by text."""
        index = self.by_letter(answer)
        return self.by_text(answer) if index is None else index


def read_options(options: Sequence[str]) -> Options:
    """Take the letters off options, if all of them have one, each its own."""
    published = tuple(options)
    matches = [LABELLED_OPTION.fullmatch(option.strip()) for option in published]
    pairs = [(match[1], match[2].strip()) for match in matches if match is not None]
    is_labelled = len(pairs) == len(published) == len(dict(pairs))
    if is_labelled and pairs and min(pairs)[0] == "A":
        return Options(
            published, tuple(letter for letter, _ in pairs), tuple(text for _, text in pairs)
        )
    letters = tuple(chr(ord("A") + index) for index in range(len(published)))
    return Options(published, letters, tuple(option.strip() for option in published))


def split_question(text: str) -> tuple[str, list[str]]:
    r"""Return the stem of a question and the options that follow it in the same text.

    Options begin with the letters A, B, C, … in one style ("(A)", "A.", "A)", "A:"), each at the
    beginning of a line, or, if there are no such lines, within one. A line break, or a letter that
    is not the next one, is part of an option. If the letters run through more than once, the run
    with the most options counts, and of equal ones the last.

    Returns:
        The stem, and the options with their letters; the whole text and no options if there are
        fewer than two.
    """
    for label in (LINE_LABEL, INNER_LABEL):
        starts = _longest_run(text, label)
        if len(starts) > 1:
            ends = [*starts[1:], len(text)]
            return text[: starts[0]].strip(), [
                text[a:b].strip() for a, b in zip(starts, ends, strict=True)
            ]
    return text.strip(), []


def split_options(options: Any) -> Any:
    """Return options that stand in one text as a list, and without what fills a list up.

    A value of another type, which no list of options is, returns unchanged: the row's validation
    rejects it.
    """
    if isinstance(options, str):
        stem, labelled = split_question(options)
        if labelled and not stem:
            return labelled
        return [line for line in options.splitlines() if line.strip()]
    if isinstance(options, list | tuple):
        kept = list(options)
        while kept and _is_padding(kept[-1]):
            kept.pop()
        return kept
    return options


def _longest_run(text: str, label: re.Pattern[str]) -> list[int]:
    """Return where the options of the longest run of letters begin; nothing without an A."""
    found = []
    for match in list(label.finditer(text))[-MOST_LABELS:]:
        groups = match.groupdict()
        letter = groups["letter"] or groups["bare"]
        found.append(
            (match.start(), letter, (groups["open"] or "", groups["close"] or groups["end"]))
        )
    best: list[int] = []
    for place, (start, letter, style) in enumerate(found):
        if letter != "A":
            continue
        run = [start]
        for later, its_letter, its_style in found[place + 1 :]:
            if its_style == style and its_letter == chr(ord("A") + len(run)):
                run.append(later)
        if len(run) >= len(best):
            best = run
    return best


def _is_padding(option: Any) -> bool:
    """Return whether a value only fills up a list of options, as columns of one length need it."""
    is_blank = isinstance(option, str) and not option.strip()
    return option is None or is_blank or (isinstance(option, float) and math.isnan(option))


class LetteredRow(Row):
    """Base of such rows. A row whose answer is none of its options is invalid."""

    options: tuple[str, ...] = ()
    """The options; some datasets have them in the question instead."""
    answer: str | None = None

    @field_validator("options", mode="before")
    @classmethod
    def _split_options(cls, options: Any) -> Any:
        return split_options(options)

    @model_validator(mode="after")
    def _check_answer(self) -> Self:
        if self.answer is not None and self.answer_index is None:
            letters = (
                ", ".join(self.choices.letters)
                or "the letters of its options, of which it has none"
            )
            raise ValueError(f"answer must be one of {letters}; got {self.answer[:40]!r}")
        return self

    @property
    def choices(self) -> Options:
        """The options, with and without their letters."""
        return read_options(self.options)

    @property
    def answer_index(self) -> int | None:
        """Index of the right option; None if it is not known."""
        return None if self.answer is None else self.choices.index_of(self.answer)
