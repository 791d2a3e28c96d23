"""Official metrics of the grounding benchmarks: mIoU, R@τ, R1, mAP, rec.@IoU and acc.@IoU.

They are about the questions whose true answer is an interval; without a prediction, one scores 0.
All values lie in [0, 1], where papers print percent. `rejection` is about all questions: whether a
method says that nothing is there if nothing is, and only then.
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
"""Thresholds from 0.5 to 0.95 that QVHighlights' mAP averages over."""
CLUES = (0.1, 0.2, 0.3, 0.4, 0.5)
"""Thresholds that CG-Bench's rec.@IoU and acc.@IoU average over; an IoU must be above them."""
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
    """Return QVHighlights' R1@0.5 and 0.7, and its mAP: averaged over thresholds, @0.5 and @0.75.

    Predicted windows have no scores here: they rank in the order in which they are given, which in
    an answer of `ask` or a baseline is the order of time. R1 compares the first of them with the
    true window that it fits best. The average precision of a question is that of its own windows:
    each prediction, in turn, takes the free true window that it fits best.
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
    """Return CoMET-Bench's F1@0.5, mIoU and accuracy of counts, of queries that have events.

    F1 is pooled: of all predicted and all true intervals, those that are paired at an IoU of at
    least 0.5, each once. A query whose answer is none is left to rejection.
    """
    shown = _with_intervals(scored)
    return [
        Measure.of("F1@0.5", shown, lambda each: 2 * sum(_hits(each, 0.5)), weight=_true_and_given),
        Measure.of("mIoU", shown, iou),
        Measure.of("count accuracy", shown, _has_right_count),
    ]


def clues(scored: Sequence[Scored]) -> list[Measure]:
    """Return CG-Bench's long accuracy, mIoU, rec.@IoU and acc.@IoU.

    Accuracy needs the task "choice", mIoU and rec.@IoU the task "clues". acc.@IoU is the share of
    questions of both tasks (paired by the fact `qid`) whose choice is right and whose clues' IoU is
    above τ. Like rec.@IoU, it is the mean over τ of 0.1 to 0.5.
    """
    chosen = [each for each in scored if each.question.kind == "choice"]
    found = _with_intervals(scored)
    right = {each.facts["qid"]: each.score() for each in chosen}
    both = [each for each in found if each.facts["qid"] in right]
    return [
        Measure.of("long-acc.", chosen, Scored.score),
        Measure.of("mIoU", found, iou),
        Measure.of("rec.@IoU", found, share_above),
        Measure.of("acc.@IoU", both, lambda each: right[each.facts["qid"]] * share_above(each)),
    ]


GROUNDING: dict[str, Metric] = {
    "ExtremeWhenBench": single_interval,
    "Charades-STA": single_interval,
    "CoMET-Bench": every_event,
    "QVHighlights": windows,
    "CG-Bench": clues,
    "CG-Bench mini": clues,
}
"""The official metric of each grounding benchmark, by `Benchmark.name`."""


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
        total += _area(hits, wanted=len(spans_of(scored.question.answer)))
    return total / len(thresholds)


def share_above(scored: Scored) -> float:
    """Return the share of CG-Bench's thresholds that the IoU is above."""
    reached = iou(scored)
    return sum(reached > threshold for threshold in CLUES) / len(CLUES)


def _reaches(least: float, value: Callable[[Scored], float], scored: Scored) -> bool:
    return value(scored) >= least


def _with_intervals(scored: Sequence[Scored]) -> list[Scored]:
    """Return the questions that the video answers with an interval, or with several."""
    return [each for each in scored if spans_of(each.question.answer)]


def _true_and_given(scored: Scored) -> int:
    """Return how many intervals there are and how many are predicted, added up."""
    return len(spans_of(scored.question.answer)) + len(spans_of(scored.prediction))


def _has_right_count(scored: Scored) -> bool:
    return len(spans_of(scored.question.answer)) == len(spans_of(scored.prediction))


def _hits(scored: Scored, threshold: float) -> list[bool]:
    """Return which predictions, in turn, take a true interval that no earlier one has taken.

    Each takes the free one that it fits best, if their IoU is at least the threshold.
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


def _area(hits: Sequence[bool], wanted: int) -> float:
    """Return the area under precision over recall, the precision being interpolated.

    Args:
        hits: Which predictions are right, in the order of their rank.
        wanted: How many there are to find.
    """
    precisions = list[float]()
    for number in range(1, len(hits) + 1):
        precisions.append(sum(hits[:number]) / number)
    area = 0.0
    for place, is_hit in enumerate(hits):
        if is_hit:  # recall grows by one of those that are wanted
            area += max(precisions[place:]) / wanted
    return area


def rejection(scored: Sequence[Scored]) -> list[Measure]:
    """Return rejection F1, false positives and false rejections; [] where nothing is absent.

    A question is rejected by the answer that nothing is there (ABSENT), or by a count of 0.
    Rejection F1 is that of telling the questions about what is not there from the others: the
    harmonic mean of precision (of what was rejected, the share that is not there) and recall (of
    what is not there, the share that was rejected). A false positive is an answer to a question
    about what is not there; a false rejection says that of what is there. A question without an
    answer is neither, and counts as not rejected. Only questions that may be answered so count.

    Examples:
        >>> ak.metrics.rejection([])
        []
    """
    absent = list[Scored]()
    there = list[Scored]()
    for each in scored:
        if _is_absent(each):
            absent.append(each)
        elif each.question.can_be_absent or each.question.kind == "count":
            there.append(each)
    if not absent:
        return []
    measures = [
        Measure.of(
            "rejection F1",
            [*absent, *there],
            lambda each: 2 * (_is_absent(each) and _is_rejected(each)),
            weight=lambda each: _is_absent(each) + _is_rejected(each),
        ),
        Measure.of("false positives", absent, _is_invented),
        Measure.of("false rejections", there, _is_rejected),
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
