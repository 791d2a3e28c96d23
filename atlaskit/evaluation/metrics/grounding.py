"""Official metrics of the grounding benchmarks: mIoU, R@τ, R1, mAP, rec.@IoU and acc.@IoU.

They score the questions whose true answer is an interval or several; without a prediction, the
score is 0. All values lie in [0, 1], where papers print percent. `rejection` scores whether a
method answers that nothing is there if, and only if, nothing is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from atlaskit.environment.question import ABSENT, Answered, Question, spans_of
from atlaskit.environment.scoring import intervals_iou, temporal_iou
from atlaskit.evaluation.metrics.measure import Measure, Metric, Scored

RECALLS = (0.3, 0.5, 0.7)
"""Thresholds τ of R@τ: the share of questions whose IoU is at least τ."""
FIRST_RECALLS = (0.5, 0.7)
"""Thresholds of QVHighlights' R1."""
PRECISIONS = tuple(round(0.5 + 0.05 * step, 2) for step in range(10))
"""Thresholds, from 0.5 to 0.95, over which QVHighlights' mAP is the mean."""
CLUES = (0.1, 0.2, 0.3, 0.4, 0.5)
"""Thresholds over which CG-Bench's rec.@IoU and acc.@IoU are means; an IoU must exceed them."""
MOST_WINDOWS = 10
"""Predicted windows that QVHighlights' mAP counts, as in its evaluator; later ones are ignored."""


def single_interval(scored: Sequence[Scored]) -> list[Measure]:
    """Return mIoU and R@0.3, 0.5 and 0.7 (ExtremeWhenBench, Charades-STA)."""
    shown = _with_intervals(scored)
    measures = [Measure.of("mIoU", shown, iou)]
    for threshold in RECALLS:
        measures.append(Measure.of(f"R@{threshold}", shown, partial(_reaches, threshold, iou)))
    return measures


def windows(scored: Sequence[Scored]) -> list[Measure]:
    """Return QVHighlights' R1@0.5 and 0.7, and its mAP: the mean over thresholds, @0.5 and @0.75.

    QVHighlights ranks predicted windows by a score. Predictions here have none, so they rank in
    their given order, which in an answer of `ask` or a baseline is the order of time. R1 compares
    the first predicted window with the true window that it fits best. For the average precision of
    a question, each predicted window in turn takes the free true window that it fits best.
    """
    shown = _with_intervals(scored)
    measures = list[Measure]()
    for threshold in FIRST_RECALLS:
        reaches = partial(_reaches, threshold, first_iou)
        measures.append(Measure.of(f"R1@{threshold}", shown, reaches))
    for name, thresholds in (("mAP", PRECISIONS), ("mAP@0.5", (0.5,)), ("mAP@0.75", (0.75,))):
        measures.append(Measure.of(name, shown, partial(average_precision, thresholds)))
    return measures


def every_event(scored: Sequence[Scored]) -> list[Measure]:
    """Return CoMET-Bench's F1@0.5, mIoU and accuracy of counts, over the queries that have events.

    F1 is pooled over these queries: a predicted and a true interval are a pair if their IoU is at
    least 0.5, and each interval is in at most one pair. Queries without events are scored by
    `rejection`.
    """
    shown = _with_intervals(scored)
    return [
        # F1 = 2 · pairs / (true intervals + predicted intervals)
        Measure.of("F1@0.5", shown, lambda each: 2 * sum(_hits(each, 0.5)), weight=_true_and_given),
        Measure.of("mIoU", shown, iou),
        Measure.of("count accuracy", shown, _has_right_count),
    ]


def clues(scored: Sequence[Scored]) -> list[Measure]:
    """Return CG-Bench's long accuracy, mIoU, rec.@IoU and acc.@IoU.

    Accuracy needs questions of the task "choice", mIoU and rec.@IoU questions of the task "clues".
    acc.@IoU needs both tasks, paired by the fact `qid`: it is the share of questions whose choice
    is right and whose clues have an IoU above τ. Like rec.@IoU, it is the mean over τ of 0.1 to
    0.5.
    """
    chosen = [each for each in scored if each.question.kind == "choice"]
    with_clues = _with_intervals(scored)
    score_of = {each.facts["qid"]: each.score() for each in chosen}
    paired = [each for each in with_clues if each.facts["qid"] in score_of]
    return [
        Measure.of("long-acc.", chosen, Scored.score),
        Measure.of("mIoU", with_clues, iou),
        Measure.of("rec.@IoU", with_clues, share_above),
        Measure.of(
            "acc.@IoU", paired, lambda each: score_of[each.facts["qid"]] * share_above(each)
        ),
    ]


GROUNDING: dict[str, Metric] = {
    "ExtremeWhenBench": single_interval,
    "Charades-STA": single_interval,
    "CoMET-Bench": every_event,
    "QVHighlights": windows,
    "CG-Bench": clues,
    "CG-Bench mini": clues,
}
"""The official metric of each grounding benchmark, by the name of its dataset."""


def iou(scored: Scored) -> float:
    """Return the IoU of the times that truth and prediction cover; 0 without an answer."""
    return intervals_iou(spans_of(scored.question.answer), spans_of(scored.prediction))


def first_iou(scored: Scored) -> float:
    """Return the IoU of the first predicted window with the true one that it fits best."""
    predicted = spans_of(scored.prediction)
    if not predicted:
        return 0.0
    ious = [temporal_iou(truth, predicted[0]) for truth in spans_of(scored.question.answer)]
    return max(ious, default=0.0)


def average_precision(thresholds: Sequence[float], scored: Scored) -> float:
    """Return the area under interpolated precision over recall, as a mean over thresholds."""
    total = 0.0
    for threshold in thresholds:
        hits = _hits(scored, threshold)[:MOST_WINDOWS]
        total += _area(hits, n_true=len(spans_of(scored.question.answer)))
    return total / len(thresholds)


def share_above(scored: Scored) -> float:
    """Return the share of CG-Bench's thresholds that the IoU exceeds."""
    reached = iou(scored)
    return sum(reached > threshold for threshold in CLUES) / len(CLUES)


def _reaches(least: float, value: Callable[[Scored], float], scored: Scored) -> bool:
    return value(scored) >= least


def _with_intervals(scored: Sequence[Scored]) -> list[Scored]:
    """Return the questions whose true answer is an interval or several."""
    return [each for each in scored if spans_of(each.question.answer)]


def _true_and_given(scored: Scored) -> int:
    """Return the number of true intervals plus the number of predicted ones."""
    return len(spans_of(scored.question.answer)) + len(spans_of(scored.prediction))


def _has_right_count(scored: Scored) -> bool:
    return len(spans_of(scored.question.answer)) == len(spans_of(scored.prediction))


def _hits(scored: Scored, threshold: float) -> list[bool]:
    """Return for each predicted interval, in order, whether it takes a true interval.

    It takes the free true interval that it fits best, if their IoU is at least the threshold.
    """
    free = list(spans_of(scored.question.answer))
    hits = list[bool]()
    for span in spans_of(scored.prediction):
        ious = [temporal_iou(truth, span) for truth in free]
        best = max(ious, default=0.0)
        is_hit = best >= threshold
        if is_hit:
            free.pop(ious.index(best))
        hits.append(is_hit)
    return hits


def _area(hits: Sequence[bool], n_true: int) -> float:
    """Return the area under the curve of interpolated precision over recall.

    Args:
        hits: Whether each prediction is right, in the order of their rank.
        n_true: The number of true intervals.
    """
    precisions = list[float]()
    for number in range(1, len(hits) + 1):
        precisions.append(sum(hits[:number]) / number)
    area = 0.0
    for place, is_hit in enumerate(hits):
        if is_hit:  # recall grows by 1 / n_true
            area += max(precisions[place:]) / n_true
    return area


def rejection(scored: Sequence[Scored]) -> list[Measure]:
    """Return rejection F1, false positives and false rejections; [] without an absent question.

    A question is absent if what it asks for is not in the video: its true answer is ABSENT, or a
    count of 0. A prediction of ABSENT, or of a count of 0, rejects the question. Rejection F1 is
    the harmonic mean of precision (the share of the rejected questions that are absent) and recall
    (the share of the absent questions that were rejected). A false positive is another answer to an
    absent question; a false rejection rejects one that is not absent. A question without a
    prediction counts as not rejected, and is no false positive. Questions that cannot be rejected
    do not count.

    Examples:
        >>> ak.metrics.rejection([])
        []
    """
    absent = list[Scored]()
    present = list[Scored]()
    for each in scored:
        if _is_absent(each):
            absent.append(each)
        elif each.question.can_be_absent or each.question.kind == "count":
            present.append(each)
    if not absent:
        return []
    measures = [
        # F1 = 2 · true positives / (absent questions + rejected questions)
        Measure.of(
            "rejection F1",
            [*absent, *present],
            lambda each: 2 * (_is_absent(each) and _is_rejected(each)),
            weight=lambda each: _is_absent(each) + _is_rejected(each),
        ),
        Measure.of("false positives", absent, _is_invented),
        Measure.of("false rejections", present, _is_rejected),
    ]
    return [measure for measure in measures if measure.values]


def _says_absent(question: Question, answered: Answered | None) -> bool:
    return answered == ABSENT or (question.kind == "count" and answered == 0)


def _is_absent(scored: Scored) -> bool:
    return _says_absent(scored.question, scored.question.answer)


def _is_rejected(scored: Scored) -> bool:
    return _says_absent(scored.question, scored.prediction)


def _is_invented(scored: Scored) -> bool:
    return scored.prediction is not None and not _is_rejected(scored)
