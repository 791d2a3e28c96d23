"""`Index`: search among the records of clips by words (BM25); `nearest`: by their vectors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from atlaskit.agents.methods.clips import Clip
from atlaskit.environment.question import Question

if TYPE_CHECKING:
    import bm25s

WORD = re.compile(r"[぀-ヿ㐀-鿿가-힯]|[^\W_]+")
"""A word; in scripts that are written without spaces, a character."""
RANK_OFFSET = 60
"""Added to ranks before they are fused, so that the first rank of one query does not outweigh good
ranks of several (Cormack et al. 2009, reciprocal rank fusion)."""
DIGITS = 6
"""Digits of a cosine that count: machines differ in later ones, and the order must not."""


@dataclass(frozen=True)
class Index:
    """The clips of a video, searchable by caption, subjects, text on screen and speech."""

    clips: Sequence[Clip]

    def search(self, query: str, k: int = 16) -> list[Clip]:
        """Return up to `k` clips that share words with a query, best first.

        Args:
            query: Words. Their order does not matter.
            k: The most clips to return.
        """
        scores = self.scores(query)
        ranked = sorted(range(len(scores)), key=lambda number: (-scores[number], number))
        return [self.clips[number] for number in ranked[:k] if scores[number] > 0]

    def search_all(self, queries: Sequence[str], k: int = 16) -> list[Clip]:
        """Return up to `k` clips that several queries find, best first, by reciprocal rank fusion.

        Only the `k` best of each query count. A clip that all find, none of them well, would else
        come before the one that is just what a query asks for.

        Args:
            queries: Queries as for `search`. Equal ones count once.
            k: The most clips to return.
        """
        fused = dict[int, float]()
        for query in dict.fromkeys(queries):
            for rank, clip in enumerate(self.search(query, k), start=1):
                fused[clip.index] = fused.get(clip.index, 0.0) + 1 / (RANK_OFFSET + rank)
        by_index = {clip.index: clip for clip in self.clips}
        ranked = sorted(fused, key=lambda index: (-round(fused[index], 12), index))
        return [by_index[index] for index in ranked[:k]]

    def scores(self, query: str) -> np.ndarray:
        """Return the score of each clip for a query, 0 or more."""
        if self._bm25 is None or not (tokens := words(query)):
            return np.zeros(len(self.clips))
        return np.asarray(self._bm25.get_scores(tokens))

    @cached_property
    def _bm25(self) -> bm25s.BM25 | None:
        import bm25s  # here: it loads scipy, and `import atlaskit` must stay light

        tokens = [words(clip.words) for clip in self.clips]
        if not any(tokens):
            return None
        model = bm25s.BM25(method="lucene")
        model.index(tokens, show_progress=False)
        return model


def nearest(clips: Sequence[Clip], vectors: NDArray[np.float32], query: NDArray[np.float32], k: int = 16) -> list[Clip]:
    """Return up to `k` clips whose vectors are nearest to a query's by their cosine, best first.

    Args:
        clips: The clips.
        vectors: Their vectors, one row a clip, (n, length).
        query: Vector of the query, (length,).
        k: The most clips to return.
    """
    rows, wanted = vectors.astype(np.float64), query.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(wanted)
    cosines = np.divide(rows @ wanted, lengths, out=np.full(len(rows), -1.0), where=lengths > 0).round(DIGITS)
    return [clips[number] for number in np.argsort(-cosines, kind="stable")[:k]]


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, in order."""
    return WORD.findall(text.casefold())


def query_of(question: Question) -> str:
    """Return what to search for if nothing but the question is known: its text and choices."""
    return " ".join([question.text, *question.choices])
