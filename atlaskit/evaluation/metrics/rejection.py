"""Rejection: whether a method says that nothing is there where nothing is, and only there.

What is rejected is a question that is answered with ABSENT, or a count with 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from atlaskit.environment.question import ABSENT, Answered, Question
from atlaskit.evaluation.metrics.measure import Measure, Scored


def is_rejection(question: Question, answered: Answered | None) -> bool:
    """Return whether an answer says that what is asked for is not there."""
    return answered == ABSENT or (
        question.kind == "count" and answered == 0 and answered is not None
    )


def rejection(scored: Sequence[Scored]) -> list[Measure]:
    """Return rejection F1, false positives and false rejections; [] where nothing is absent.

    Rejection F1 is that of telling the questions about what is not there from the others: the
    harmonic mean of precision (of what was rejected, the share that is not there) and recall (of
    what is not there, the share that was rejected). A false positive is an answer to a question
    about what is not there; a false rejection says that of what is there. A question without an
    answer is neither, and counts as not rejected. Only questions that may be answered so count.

    Examples:
        >>> ak.metrics.rejection([])
        []
    """
    counted = [
        each for each in scored if each.question.can_be_absent or each.question.kind == "count"
    ]
    absent = [each for each in counted if is_rejection(each.question, each.question.answer)]
    if not absent:
        return []
    there = [each for each in counted if each not in absent]
    hits = [2.0 * (each in absent and _is_rejected(each)) for each in counted]
    sizes = [float(each in absent) + float(_is_rejected(each)) for each in counted]
    invented = [float(each.prediction is not None and not _is_rejected(each)) for each in absent]
    measures = [
        Measure("rejection F1", tuple(hits), _videos(counted), weights=tuple(sizes)),
        Measure("false positives", tuple(invented), _videos(absent)),
        Measure("false rejections", tuple(map(float, map(_is_rejected, there))), _videos(there)),
    ]
    return [measure for measure in measures if measure.values]


def _is_rejected(scored: Scored) -> bool:
    return is_rejection(scored.question, scored.prediction)


def _videos(scored: Sequence[Scored]) -> tuple[str, ...]:
    return tuple(each.video for each in scored)
