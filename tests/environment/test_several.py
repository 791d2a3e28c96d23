"""Answers of several intervals: their form, their score, their words and their JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlaskit.environment.question import Question, Span, Spans, spans_of
from atlaskit.environment.scoring import intervals_iou, merged, temporal_iou
from atlaskit.errors import InputError

TWO = ((1.0, 2.5), (4.0, 5.0))

# Sums and differences of multiples of a quarter are exact, so equal sets score exactly 1.
TIMES = st.integers(0, 80).map(lambda quarters: quarters / 4)
SPANS = st.tuples(TIMES, TIMES).map(lambda ends: (min(ends), max(ends)))
LISTS = st.lists(SPANS, max_size=6)


def covered(spans: list[Span] | Spans) -> set[int]:
    """Return the quarters of a second that intervals cover, counted one by one."""
    return {quarter for start_s, end_s in spans for quarter in range(int(start_s * 4), int(end_s * 4))}


@given(LISTS)
def test_merged_intervals_cover_the_same_and_lie_apart(spans: list[Span]) -> None:
    joined = merged(spans)
    assert covered(joined) == covered(spans)
    assert all(a[1] < b[0] for a, b in pairwise(joined)) and merged(joined) == joined
    assert joined == merged(reversed(spans))


@given(LISTS, LISTS)
def test_the_score_is_the_iou_of_what_is_covered(a: list[Span], b: list[Span]) -> None:
    score, both, either = intervals_iou(a, b), covered(a) & covered(b), covered(a) | covered(b)
    assert score == intervals_iou(b, a) and 0.0 <= score <= 1.0
    assert score == pytest.approx(len(both) / len(either) if either else 0.0)
    assert (score == 1.0) == (covered(a) == covered(b) != set())


@given(SPANS, SPANS)
def test_for_one_interval_each_it_is_the_temporal_iou(a: Span, b: Span) -> None:
    assert intervals_iou([a], [b]) == temporal_iou(a, b)
    assert Question("When?", kind="when", answer=a).score(b) == temporal_iou(a, b)


def test_hand_computed_scores() -> None:
    assert intervals_iou([(0, 10), (20, 30)], [(5, 25)]) == pytest.approx(10 / 30)
    assert intervals_iou([(0, 10), (5, 15)], [(0, 15)]) == 1.0
    assert intervals_iou([(0, 1)], []) == intervals_iou([], []) == intervals_iou([(3, 3)], [(3, 3)]) == 0.0


def test_an_answer_of_several_intervals_asks_for_several() -> None:
    assert Question("When?", kind="when", answer=TWO).several
    assert not Question("When?", kind="when", answer=(1.0, 2.0)).several
    assert not Question("When?", kind="when").several and Question("When?", kind="when", several=True).several
    one = Question("When?", kind="when", answer=((1.0, 2.0),))
    assert not one.several and one.answer == (1.0, 2.0), "one interval is one, however it is written"
    asked = Question("When?", kind="when", answer=(1.0, 2.0), several=True)
    assert asked.answer == ((1.0, 2.0),) and replace(asked, answer=(3.0, 4.0)).answer == ((3.0, 4.0),)
    with pytest.raises(InputError, match="Only a question of kind 'when'"):
        Question("How many?", kind="count", several=True)


@pytest.mark.parametrize(
    "answer", [(), ((1.0, 2.0), 3.0), ((1.0, 2.0), (4.0, 3.0)), ((1.0, 2.0), (1.0,)), "ab", ("a",)]
)
def test_what_is_no_list_of_intervals_is_refused(answer: Any) -> None:
    with pytest.raises(InputError, match="must be an interval"):
        Question("When?", kind="when", answer=answer)
    with pytest.raises(InputError, match="must be an interval"):
        Question("When?", kind="when", answer=TWO).score(answer)


def test_score_and_words() -> None:
    question = Question("When?", kind="when", answer=TWO)
    assert question.score(TWO) == question.score(((4.0, 5.0), (1.0, 2.0), (2.0, 2.5))) == 1.0
    assert question.score((1.0, 2.5)) == pytest.approx(1.5 / 2.5) and question.score(None) == 0.0
    assert question.is_right((1.0, 2.5)) and not question.is_right((4.0, 5.0))
    assert question.score([[1.0, 2.5], [4.0, 5.0]]) == 1.0  # type: ignore[arg-type]
    assert question.in_words(TWO) == "1.00–2.50 s, 4.00–5.00 s" and question.in_words((1.0, 2.5)) == "1.00–2.50 s"
    assert spans_of(TWO) == TWO and spans_of((1.0, 2.0)) == ((1.0, 2.0),)
    assert spans_of(None) == spans_of("a") == spans_of(3) == ()


def test_json_round_trips_and_leaves_other_questions_as_they_were() -> None:
    for question in (
        Question("When?", kind="when", answer=TWO, positions_s=TWO),
        Question("When?", kind="when", several=True),
        Question("When?", kind="when", answer=((1.0, 2.0),), several=True),
    ):
        row = json.loads(json.dumps(question.to_json()))
        assert row["several"] is True and Question.from_json(row) == question
    for question in (Question("When?", kind="when", answer=(1.0, 2.0)), Question("Which?", ("a", "b"), answer=1)):
        row = question.to_json()
        assert "several" not in row and Question.from_json(row) == question
    nested: Any = 0.0
    for _ in range(400):
        nested = [nested]
    with pytest.raises(InputError, match="must be an interval"):
        Question.from_json({**Question("When?", kind="when").to_json(), "answer": nested})
