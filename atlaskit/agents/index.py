"""Search among the records of clips, or other texts about a video: `Index` by words (BM25),
`nearest` and `cosines` by vectors.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from atlaskit.environment.question import Question

if TYPE_CHECKING:
    import bm25s

K1 = 1.5
"""Saturation of term frequency in BM25: how soon repetitions of a word stop adding to a score."""
RANK_OFFSET = 60
"""Added to ranks before they are fused, so that the first rank of one query does not outweigh good
ranks of several (Cormack et al. 2009, reciprocal rank fusion)."""
DIGITS = 6
"""Decimals to which cosines are rounded. Further decimals differ between machines, and the order of
results must not."""


class Searchable(Protocol):
    """Anything that can be searched by its words, such as a clip."""

    @property
    def words(self) -> str:
        """The text to search."""


Found = TypeVar("Found", bound=Searchable)


@dataclass(frozen=True)
class Index(Generic[Found]):
    """The clips of a video, or other texts about it, searchable by their words (BM25)."""

    clips: Sequence[Found]

    def search(self, query: str, k: int = 16) -> list[Found]:
        """Return up to `k` clips that share words with a query, best first.

        Args:
            query: Words, whose order does not matter.
            k: The most clips to return.
        """
        return [self.clips[number] for number in self._ranked(query, k)]

    def search_all(self, queries: Sequence[str], k: int = 16) -> list[Found]:
        """Return up to `k` clips that several queries find, best first, by reciprocal rank fusion.

        Only the `k` best of each query count. Otherwise a clip that ranks low for every query
        would come before the best clip of one query.

        Args:
            queries: Queries as for `search`. Equal queries count once.
            k: The most clips to return.
        """
        fused = dict[int, float]()
        for query in dict.fromkeys(queries):
            for rank, number in enumerate(self._ranked(query, k), start=1):
                fused[number] = fused.get(number, 0.0) + 1 / (RANK_OFFSET + rank)
        # Rounded, since equal sums in another order may differ in their last digits.
        ranked = sorted(fused, key=lambda number: (-round(fused[number], 12), number))
        return [self.clips[number] for number in ranked[:k]]

    def _ranked(self, query: str, k: int) -> list[int]:
        """Return the positions of up to `k` clips that share words with a query, best first."""
        scores = self.scores(query)
        ranked = sorted(range(len(scores)), key=lambda number: (-scores[number], number))
        return [number for number in ranked[:k] if scores[number] > 0]

    def scores(self, query: str) -> np.ndarray:
        """Return the BM25 score of each clip for a query, (n,), 0 or more."""
        tokens = words(query)
        if self._bm25 is None or not tokens:
            return np.zeros(len(self.clips))
        return np.asarray(self._bm25.get_scores(tokens))

    @cached_property
    def _bm25(self) -> bm25s.BM25 | None:
        """The index of the clips' words; None if no clip has any."""
        # Imported here, since it loads scipy and `import atlaskit` must stay light.
        import bm25s

        tokens = [words(clip.words) for clip in self.clips]
        if not any(tokens):
            return None
        model = bm25s.BM25(k1=K1, method="lucene")
        model.index(tokens, show_progress=False)
        return model


def nearest(
    clips: Sequence[Found], vectors: NDArray[np.float32], query: NDArray[np.float32], k: int = 16
) -> list[Found]:
    """Return up to `k` clips whose vectors are nearest to a query's by their cosine, best first.

    Args:
        clips: The clips.
        vectors: Their vectors, one row a clip, (n, length).
        query: Vector of the query, (length,).
        k: The most clips to return.
    """
    order = np.argsort(-cosines(vectors, query), kind="stable")
    return [clips[number] for number in order[:k]]


def cosines(vectors: NDArray[np.float32], query: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the cosine of each vector, (n, length), with a query's vector, (length,).

    The cosines are rounded to DIGITS decimals. The cosine of a zero vector is −1.
    """
    rows = vectors.astype(np.float64)
    vector = query.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(vector)
    quotients: NDArray[np.float64] = np.divide(
        rows @ vector, lengths, out=np.full(len(rows), -1.0), where=lengths > 0
    )
    return quotients.round(DIGITS)


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, in order."""
    return _word().findall(text.casefold())


@cache
def _word() -> re.Pattern[str]:
    """Return the pattern of a word, which includes combining marks such as vowel signs.

    In scripts that are written without spaces, each character is a word.
    """
    characters = map(chr, range(0x300, 0x3000))
    marks = "".join(each for each in characters if unicodedata.category(each).startswith("M"))
    return re.compile(rf"[぀-ヿ㐀-鿿가-힯]|[^\W_](?:[^\W_]|[{marks}])*")


def query_of(question: Question) -> str:
    """Return the query of a question: its text and choices."""
    return " ".join([question.text, *question.choices])
