"""`Index`: search among the records of clips, or other texts about a video, by words (BM25)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from atlaskit.environment.question import Question

WORD = re.compile(r"[぀-ヿ㐀-鿿가-힯]|[^\W_]+")
"""A word; in scripts that are written without spaces, a character."""


class Searchable(Protocol):
    """Something that is found by its words, such as a clip."""

    @property
    def words(self) -> str:
        """The text to search."""


Found = TypeVar("Found", bound=Searchable)


@dataclass(frozen=True)
class Index(Generic[Found]):
    """The clips of a video, searchable by caption, subjects, text on screen and speech."""

    clips: Sequence[Found]
    """The clips, or other texts about the video."""

    def search(self, query: str, k: int = 16) -> list[Found]:
        """Return up to `k` clips that share words with a query, best first.

        Args:
            query: Words. Their order does not matter.
            k: The most clips to return.
        """
        scores = self.scores(query)
        ranked = sorted(range(len(scores)), key=lambda number: (-scores[number], number))
        return [self.clips[number] for number in ranked[:k] if scores[number] > 0]

    def scores(self, query: str) -> np.ndarray:
        """Return the score of each clip for a query, 0 or more."""
        if self._bm25 is None or not (tokens := words(query)):
            return np.zeros(len(self.clips))
        return np.asarray(self._bm25.get_scores(tokens))

    @cached_property
    def _bm25(self) -> Any:
        """The index; None without words."""
        import bm25s  # loads scipy: only who searches waits for it

        tokens = [words(clip.words) for clip in self.clips]
        if not any(tokens):
            return None
        model = bm25s.BM25(method="lucene")
        model.index(tokens, show_progress=False)
        return model


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, in order."""
    return WORD.findall(text.casefold())


def query_of(question: Question) -> str:
    """Return what to search for if nothing but the question is known: its text and choices."""
    return " ".join([question.text, *question.choices])
