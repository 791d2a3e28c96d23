"""Scores in [0, 1] of a prediction against the truth: temporal IoU, token F1 and ROUGE-L."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

ARTICLES = {"a", "an", "the"}


def temporal_iou(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Return the intersection over union of two intervals `(start_s, end_s)` in seconds."""
    overlap = max(0.0, min(a[1], b[1]) - max(a[0], b[0]))
    union = (a[1] - a[0]) + (b[1] - b[0]) - overlap
    return overlap / union if union > 0 else 0.0


def token_f1(truth: str, prediction: str) -> float:
    """Return the F1 of the words that two texts share in any order (SQuAD)."""
    a, b = _words(truth), _words(prediction)
    return _f1((Counter(a) & Counter(b)).total(), a, b)


def rouge_l(truth: str, prediction: str) -> float:
    """Return the F1 of the longest common subsequence of the words of two texts (ROUGE-L)."""
    a, b = _words(truth), _words(prediction)
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
    return [word for word in re.findall(r"\w+", text.casefold()) if word not in ARTICLES]


def _f1(shared: int, a: Sequence[str], b: Sequence[str]) -> float:
    if not a or not b:
        return float(list(a) == list(b))
    return 2 * shared / (len(a) + len(b))
