"""Official metrics of the grounding benchmarks: mIoU, R@τ, R1, mAP, rec.@IoU and acc.@IoU.

A question without an answer scores 0 in each. All values lie in [0, 1], where papers print percent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from atlaskit.environment.question import Spans, spans_of
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
    recalls = [_measure(f"R@{least}", scored, partial(_reaches, _iou, least)) for least in RECALLS]
    return [_measure("mIoU", scored, _iou), *recalls]


def windows(scored: Sequence[Scored]) -> list[Measure]:
    """Return QVHighlights' R1@0.5 and 0.7, and its mAP: averaged over thresholds, @0.5 and @0.75.

    Predicted windows have no scores here: they rank in the order in which they are given, which in
    an answer of `ask` or a baseline is the order of time. R1 compares the first of them with the
    true window that it fits best. The average precision of a question is that of its own windows:
    each prediction, in turn, takes the free true window that it fits best.
    """
    firsts = [
        _measure(f"R1@{least}", scored, partial(_reaches, _first_iou, least))
        for least in FIRST_RECALLS
    ]
    averages = {"mAP": PRECISIONS, "mAP@0.5": (0.5,), "mAP@0.75": (0.75,)}
    precisions = [
        _measure(name, scored, partial(_average_precision, among))
        for name, among in averages.items()
    ]
    return [*firsts, *precisions]


def every_event(scored: Sequence[Scored]) -> list[Measure]:
    """Return CoMET-Bench's F1@0.5, mIoU and accuracy of counts, of queries that have events.

    F1 is pooled: of all predicted and all true intervals, those that are paired at an IoU of at
    least 0.5, each once. A query whose answer is none is left to rejection.
    """
    there = [each for each in scored if spans_of(each.question.answer)]
    pairs = [(spans_of(each.question.answer), spans_of(each.prediction)) for each in there]
    videos = tuple(each.video for each in there)
    hits = tuple(2.0 * sum(_hits(truth, given, 0.5)) for truth, given in pairs)
    sizes = tuple(float(len(truth) + len(given)) for truth, given in pairs)
    counts = tuple(float(len(truth) == len(given)) for truth, given in pairs)
    return [
        Measure("F1@0.5", hits, videos, weights=sizes),
        _measure("mIoU", there, _iou),
        Measure("count accuracy", counts, videos),
    ]


def clues(scored: Sequence[Scored]) -> list[Measure]:
    """Return CG-Bench's long accuracy, mIoU, rec.@IoU and acc.@IoU, as far as there are questions.

    Accuracy needs the task "choice", mIoU and rec.@IoU the task "clues". acc.@IoU is the share of
    questions of both tasks (paired by the fact `qid`) whose choice is right and whose clues' IoU is
    above τ. Like rec.@IoU, it is the mean over τ of 0.1 to 0.5.
    """
    chosen = [each for each in scored if each.question.kind == "choice"]
    found = [each for each in scored if each.question.kind == "when"]
    right = {_qid(each): _right(each) for each in chosen}
    paired = [each for each in found if _qid(each) in right]
    measures = [
        _measure("long-acc.", chosen, _right),
        _measure("mIoU", found, _iou),
        _measure("rec.@IoU", found, _share_above),
        _measure("acc.@IoU", paired, lambda each: right[_qid(each)] * _share_above(each)),
    ]
    return [measure for measure in measures if measure.values]


GROUNDING: dict[str, Metric] = {
    "ExtremeWhenBench": single_interval,
    "Charades-STA": single_interval,
    "CoMET-Bench": every_event,
    "QVHighlights": windows,
    "CG-Bench": clues,
    "CG-Bench mini": clues,
}
"""The official metric of each grounding benchmark, by `Benchmark.name`."""


def _measure(name: str, scored: Sequence[Scored], value: Callable[[Scored], float]) -> Measure:
    return Measure(name, tuple(map(value, scored)), tuple(each.video for each in scored))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _reaches(iou: Callable[[Scored], float], least: float, scored: Scored) -> float:
    return float(iou(scored) >= least)


def _iou(scored: Scored) -> float:
    """Return the IoU of the times that truth and prediction cover; 0 without an answer."""
    return intervals_iou(spans_of(scored.question.answer), spans_of(scored.prediction))


def _first_iou(scored: Scored) -> float:
    """Return the IoU of the first predicted window with the true one that it fits best."""
    first = spans_of(scored.prediction)[:1]
    return max(
        (temporal_iou(truth, span) for span in first for truth in spans_of(scored.question.answer)),
        default=0.0,
    )


def _average_precision(thresholds: Sequence[float], scored: Scored) -> float:
    """Return the average precision of the predicted windows, as a mean over thresholds."""
    truth = spans_of(scored.question.answer)
    predicted = spans_of(scored.prediction)[:MOST_WINDOWS]
    return _mean(
        [_area(_hits(truth, predicted, threshold), len(truth)) for threshold in thresholds]
    )


def _area(hits: Sequence[bool], wanted: int) -> float:
    """Return the area under precision over recall, the precision being interpolated.

    Args:
        hits: Which predictions are right, in the order of their rank.
        wanted: How many there are to find.
    """
    found, points = 0, list[tuple[float, float]]()  # recall and precision after each prediction
    for number, is_hit in enumerate(hits, start=1):
        found += is_hit
        points.append((found / wanted, found / number))
    area = reached = 0.0
    for place, (recall, _) in enumerate(points):
        area += (recall - reached) * max(precision for _, precision in points[place:])
        reached = recall
    return area


def _hits(truth: Spans, predicted: Spans, threshold: float) -> list[bool]:
    """Return which predictions, in turn, take a true window that no earlier one has taken."""
    free = set(range(len(truth)))
    hits = list[bool]()
    for span in predicted:
        ious = {index: temporal_iou(truth[index], span) for index in sorted(free)}
        taken = [index for index in ious if ious[index] == max(ious.values()) >= threshold][:1]
        free.difference_update(taken)
        hits.append(bool(taken))
    return hits


def _right(scored: Scored) -> float:
    return scored.question.score(scored.prediction)


def _share_above(scored: Scored) -> float:
    """Return the share of CG-Bench's thresholds that the IoU is above."""
    iou = _iou(scored)
    return _mean([float(iou > threshold) for threshold in CLUES])


def _qid(scored: Scored) -> str:
    return str(scored.facts["qid"])
