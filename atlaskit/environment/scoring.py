"""Scores in [0, 1] of a prediction against the truth: temporal IoU, token F1 and ROUGE-L.

An interval is a pair `(start_s, end_s)` in seconds.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence


def temporal_iou(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Return the intersection over union of two intervals `(start_s, end_s)` in seconds."""
    overlap = max(0.0, min(a[1], b[1]) - max(a[0], b[0]))
    union = (a[1] - a[0]) + (b[1] - b[0]) - overlap
    return overlap / union if union > 0 else 0.0


def merged(spans: Iterable[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Return intervals in order of time; those that overlap or touch become one."""
    joined = list[tuple[float, float]]()
    for start_s, end_s in sorted(spans):
        if joined and start_s <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end_s)
        else:
            joined.append((start_s, end_s))
    return tuple(joined)


def intervals_iou(a: Iterable[tuple[float, float]], b: Iterable[tuple[float, float]]) -> float:
    """Return the intersection over union of the times that two lists of intervals cover.

    For one interval each, it is `temporal_iou`.
    """
    a = merged(a)
    b = merged(b)
    overlap = math.fsum(_overlaps(a, b))
    union = _total(a) + _total(b) - overlap
    return overlap / union if union > 0 else 0.0


def _total(spans: Iterable[tuple[float, float]]) -> float:
    return math.fsum(end_s - start_s for start_s, end_s in spans)


def _overlaps(
    a: Sequence[tuple[float, float]], b: Sequence[tuple[float, float]]
) -> Iterator[float]:
    """Yield the lengths of the overlaps of two lists of intervals, both merged."""
    i = j = 0
    while i < len(a) and j < len(b):
        yield max(0.0, min(a[i][1], b[j][1]) - max(a[i][0], b[j][0]))
        if a[i][1] <= b[j][1]:
            i += 1
        else:
            j += 1


def token_f1(truth: str, prediction: str) -> float:
    """Return the F1 of the words that two texts share, in any order (SQuAD)."""
    a = _words(truth)
    b = _words(prediction)
    return _f1((Counter(a) & Counter(b)).total(), a, b)


def rouge_l(truth: str, prediction: str) -> float:
    """Return the F1 of the longest common subsequence of the words of two texts (ROUGE-L)."""
    a = _words(truth)
    b = _words(prediction)
    row = [0] * (len(b) + 1)
    for word in a:
        diagonal = 0
        for column, other in enumerate(b, start=1):
            above = row[column]
            row[column] = diagonal + 1 if word == other else max(above, row[column - 1])
            diagonal = above
    return _f1(row[-1], a, b)


def _words(text: str) -> list[str]:
    """Return the normalized words of a text: lower case, without punctuation and articles."""
    return [word for word in re.findall(r"\w+", text.casefold()) if word not in ("a", "an", "the")]


def _f1(shared: int, a: Sequence[str], b: Sequence[str]) -> float:
    if not a or not b:
        return float(not a and not b)  # two empty texts are equal
    return 2 * shared / (len(a) + len(b))
