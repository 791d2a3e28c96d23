"""`LetteredRow`: a row with options, whose answer is the letter or the text of one of them."""

from __future__ import annotations

from typing import Any, Self

from pydantic import field_validator, model_validator

from atlaskit.benchmarks.datasets.options import Options, read_options, split_options
from atlaskit.benchmarks.datasets.rows import Row


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
            letters = ", ".join(self.choices.letters) or "the letters of its options, of which it has none"
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
