"""The choices of a question in the forms in which datasets write them.

* `Options`: the choices of one question, and the index of one by its letter or its text.
* `read_options`, `split_question`, `split_options`: choices from a list, from the end of a question
  and from one text.
* `LetteredRow`: a row whose answer is the letter of one of its options.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from pydantic import field_validator, model_validator

from atlaskit.benchmarks.datasets.rows import Row, is_missing

LABELLED_OPTION = re.compile(r"\(?([A-Z])(?:\)\.?|[.:、)]|(?=\s))\s*(.*)", re.DOTALL)
"""An option with its letter: "A. Apples.", "(A) Apples", "A: Apples", "A Apples"."""
LETTER = re.compile(r"\(?([A-Za-z])[).:]*")
"""An answer that is a letter: "B", "(b)", "B."."""
LINE_LABEL = re.compile(r"^[ \t]*(?P<open>\(?)(?P<letter>[A-Z])(?P<close>[).:、])", re.MULTILINE)
"""The label of an option that begins a line."""
INNER_LABEL = re.compile(
    r"(?:(?<=\s)|^)"
    r"(?:(?P<open>\()(?P<letter>[A-Z])(?P<close>\))"
    r"|(?P<bare>[A-Z])(?P<end>[).:、])(?=\s))"
)
"""The label of an option that begins within a line."""
MOST_LABELS = 500
"""Most labels of one text that are read: the last ones, because options end a question."""


@dataclass(frozen=True)
class Options:
    """The options of one question, in the dataset's order."""

    published: tuple[str, ...]
    """The options as the dataset writes them."""
    letters: tuple[str, ...]
    """The letter of each option: its own, or else A, B, C, …"""
    texts: tuple[str, ...]
    """The options without their letters."""

    def by_letter(self, answer: str) -> int | None:
        """Return the index of the option whose letter an answer is; None if there is none."""
        match = LETTER.fullmatch(answer.strip())
        if match and match[1].upper() in self.letters:
            return self.letters.index(match[1].upper())
        return None

    def by_text(self, answer: str) -> int | None:
        """Return the index of the first option that an answer repeats, with or without a letter."""
        answer = answer.strip()
        for forms in (self.published, self.texts):
            if answer in forms:
                return forms.index(answer)
        # The answer may have a letter where the options have none.
        match = LABELLED_OPTION.fullmatch(answer)
        if match is None:
            return None
        index = self.by_letter(match[1])
        if index is not None and self.texts[index] == match[2].strip():
            return index
        return None

    def index_of(self, answer: str) -> int | None:
        """Return the index of the option that an answer means, by letter, else by text."""
        index = self.by_letter(answer)
        return self.by_text(answer) if index is None else index


def read_options(options: Sequence[str]) -> Options:
    """Return the `Options` of a list.

    Letters are split off if all options have different ones, and one of them is A: other options
    may begin with a letter that is a word ("I agree").
    """
    published = tuple(options)
    letters = list[str]()
    texts = list[str]()
    for option in published:
        match = LABELLED_OPTION.fullmatch(option.strip())
        if match is not None:
            letters.append(match[1])
            texts.append(match[2].strip())
    if len(letters) == len(published) == len(set(letters)) and "A" in letters:
        return Options(published, tuple(letters), tuple(texts))
    alphabet = map(chr, range(ord("A"), ord("A") + len(published)))
    return Options(published, letters=tuple(alphabet), texts=tuple(map(str.strip, published)))


def split_question(text: str) -> tuple[str, list[str]]:
    """Return the stem of a question and the options that follow it in the same text.

    Options begin with the letters A, B, C, … in one style ("(A)", "A.", "A)", "A:"), each at the
    beginning of a line, or, if there are no such lines, within one. A line break, or a letter that
    is not the next one, is part of an option. If the text has several such runs of letters, the
    longest counts, and of equally long ones the last.

    Returns:
        The stem, and the options with their letters; the whole text and no options if there are
        fewer than two.
    """
    for label in (LINE_LABEL, INNER_LABEL):
        starts = _longest_run(text, label)
        if len(starts) > 1:
            ends = [*starts[1:], len(text)]
            options = list[str]()
            for start, end in zip(starts, ends, strict=True):
                options.append(text[start:end].strip())
            return text[: starts[0]].strip(), options
    return text.strip(), []


def split_options(options: Any) -> Any:
    """Return a list of options: those in one text, or those of a list without padding at its end.

    A value of another type is returned unchanged. The row's validation rejects it.
    """
    if isinstance(options, str):
        stem, labelled = split_question(options)
        if labelled and not stem:
            return labelled
        return [line for line in options.splitlines() if line.strip()]
    if isinstance(options, list | tuple):
        unpadded = list(options)
        while unpadded and _is_padding(unpadded[-1]):
            unpadded.pop()
        return unpadded
    return options


def _longest_run(text: str, label: re.Pattern[str]) -> list[int]:
    """Return where the options of the longest run A, B, C, … begin; [] if there is no A."""
    found = list[tuple[int, str, tuple[str, str]]]()
    for match in list(label.finditer(text))[-MOST_LABELS:]:
        groups = match.groupdict()
        letter = groups["letter"] or groups["bare"]
        style = (groups["open"] or "", groups["close"] or groups["end"])
        found.append((match.start(), letter, style))
    best = list[int]()
    for place, (start, letter, style) in enumerate(found):
        if letter != "A":
            continue
        run = [start]
        for next_start, next_letter, next_style in found[place + 1 :]:
            if next_style == style and next_letter == chr(ord("A") + len(run)):
                run.append(next_start)
        if len(run) >= len(best):
            best = run
    return best


def _is_padding(option: Any) -> bool:
    """Return whether an option is blank or missing. Such options only pad a list."""
    is_blank = isinstance(option, str) and not option.strip()
    return is_blank or is_missing(option)


class LetteredRow(Row):
    """Base of rows whose answer must be the letter, or the text, of an option."""

    options: tuple[str, ...] = ()
    """The options; empty if the dataset writes them in the question."""
    answer: str | None = None

    @field_validator("options", mode="before")
    @classmethod
    def _split_options(cls, options: Any) -> Any:
        return split_options(options)

    @model_validator(mode="after")
    def _check_answer(self) -> Self:
        if self.answer is not None and self.answer_index is None:
            letters = ", ".join(self.choices.letters)
            if not letters:
                letters = "the letters of its options, of which it has none"
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
