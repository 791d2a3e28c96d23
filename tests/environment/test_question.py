"""Promise: an answer fits its kind and is scored as the field does; anything else is refused."""

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlaskit.environment.question import ABSENT, Question, Span, Spans
from atlaskit.environment.scoring import intervals_iou, merged, rouge_l, temporal_iou, token_f1
from atlaskit.errors import InputError

TWO = ((1.0, 2.5), (4.0, 5.0))
TEXTS = st.lists(st.sampled_from(["red", "blue", "circle", "then", "a"]), max_size=8).map(" ".join)


@pytest.mark.parametrize(
    ("kind", "choices", "good", "bad"),
    [
        ("choice", ("a", "b"), [0, 1], [2, -1, True, 0.5, (0.0, 1.0), "a"]),
        ("count", (), [0, 12], [-1, True, 1.5, "3", (0.0, 1.0)]),
        ("when", (), [(0.0, 1.0), (2, 3)], [(2.0, 1.0), (-1.0, 1.0), 3, "1-2", (1.0,), (0.0, float("nan"))]),
        ("when", (), [TWO], [((1.0, 2.0), 3.0), ((1.0, 2.0), (4.0, 3.0)), ((1.0, 2.0), (1.0,)), ("a",)]),
        ("open", (), ["red"], [3, (0.0, 1.0), " "]),
        ("summary", (), ["First red."], [3, ""]),
    ],
)
def test_an_answer_must_fit_its_kind(kind, choices, good, bad) -> None:  # type: ignore[no-untyped-def]
    for answer in good:
        question = Question("What?", choices, kind, answer=answer)
        assert question.score(answer) == 1.0 and question.is_right(answer) and question.score(None) == 0.0
        assert Question.from_json(json.loads(json.dumps(question.to_json()))) == question
    for answer in bad:
        with pytest.raises(InputError, match="The answer to a question of kind"):
            Question("What?", choices, kind, answer=answer)
    if kind != "choice":
        with pytest.raises(InputError, match="The prediction to"):
            Question("What?", choices, kind, answer=good[0]).score(bad[0])


def test_scores() -> None:
    """A choice is matched exactly: neither "Based…" matches B, nor "red circle" matches circle."""
    choice = Question("Which?", ("circle", "red circle", "B"), answer=0)
    assert choice.score("circle") == 1.0 and [choice.score(i) for i in range(3)] == [1.0, 0.0, 0.0]
    assert not any(map(choice.score, ("red circle", "Circle", " circle", "circ", "Based on it, circle", "0")))
    assert replace(choice, answer=2).score("Based on it, circle") == 0.0
    when = Question("When?", kind="when", answer=(10.0, 20.0))
    assert when.score((15.0, 25.0)) == pytest.approx(1 / 3)
    assert when.is_right((11.0, 20.0)) and not when.is_right((15.0, 25.0)) and not when.is_right(None)
    assert temporal_iou((0, 1), (2, 3)) == 0.0
    count = Question("How many?", kind="count", answer=3)
    assert (count.score(3), count.score(4)) == (1.0, 0.0)
    words = Question("What colour?", kind="open", answer="red")
    assert words.score("It is red.") == pytest.approx(0.5) and words.score("The RED!") == 1.0 and words.score("") == 0.0
    summary = Question("What happens?", kind="summary", answer="A circle, then a square, then a star.")
    assert summary.score("A star, then a square, then a circle.") == pytest.approx(3 / 5)
    assert summary.score("A circle, then a star.") == pytest.approx(2 * 3 / (5 + 3))
    with pytest.raises(InputError, match="not known"):
        Question("What?", kind="open").score("red")
    with pytest.raises(InputError, match="not a question"):
        Question.from_json({"text": "What?"})


@given(TEXTS, TEXTS)
def test_text_scores_are_symmetric_and_bounded(a: str, b: str) -> None:
    for score in (token_f1, rouge_l):
        assert 0.0 <= score(a, b) <= 1.0 and score(a, b) == score(b, a) and score(a, a) == 1.0
    assert rouge_l(a, b) <= token_f1(a, b), "the order of words can only lower the score"


def test_without_choices_keeps_the_true_answer() -> None:
    colour = Question("What colour?", ("red", "blue"), answer=1, category="S2A")
    assert colour.without_choices() == Question("What colour?", kind="open", answer="blue", category="S2A")
    times = Question("How many?", ("3", "1", "12"), answer=2)
    assert times.without_choices() == Question("How many?", kind="count", answer=12)
    assert Question("How many?", ("3", "1")).without_choices().answer is None
    with pytest.raises(InputError, match="no choices"):
        times.without_choices().without_choices()


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
    for one, other in zip(a, b, strict=False):
        assert Question("When?", kind="when", answer=one).score(other) == temporal_iou(one, other)
        assert intervals_iou([one], [other]) == temporal_iou(one, other)


def test_an_answer_of_several_intervals_asks_for_several() -> None:
    assert Question("When?", kind="when", answer=TWO).several
    assert not Question("When?", kind="when").several and Question("When?", kind="when", several=True).several
    one = Question("When?", kind="when", answer=((1.0, 2.0),))
    assert not one.several and one.answer == (1.0, 2.0), "one interval is one, however it is written"
    asked = Question("When?", kind="when", answer=(1.0, 2.0), several=True)
    assert asked.answer == ((1.0, 2.0),) and replace(asked, answer=(3.0, 4.0)).answer == ((3.0, 4.0),)
    with pytest.raises(InputError, match="Only a question of kind 'when'"):
        Question("How many?", kind="count", several=True)


@pytest.mark.parametrize("kind", ["when", "choice", "open", "summary"])
def test_not_in_the_video_is_an_answer_of_each_kind_but_a_count(kind: Any) -> None:
    choices = ("a", "b") if kind == "choice" else ()
    there: dict[str, Any] = {"when": (1.0, 2.0), "choice": 0, "open": "a fox", "summary": "A fox comes."}
    absent = Question("What?", choices, kind, ABSENT)
    known = Question("What?", choices, kind, there[kind])
    assert (absent.score(ABSENT), absent.score(there[kind])) == (1.0, 0.0)
    assert (known.score(ABSENT), known.score(there[kind])) == (0.0, 1.0)
    assert absent.can_be_absent and known.can_be_absent == (kind == "when")
    assert Question.from_json(absent.to_json()) == absent and absent.in_words(ABSENT) == "not in the video"
    assert replace(known, may_be_absent=True).can_be_absent
    with pytest.raises(InputError, match="is 0"):
        Question("How many?", kind="count", may_be_absent=True)
    with pytest.raises(InputError, match="must be an integer"):
        Question("How many?", kind="count", answer=ABSENT)


def test_json_names_several_only_where_it_holds_and_a_deeply_nested_answer_is_refused() -> None:
    assert "several" not in Question("When?", kind="when", answer=(1.0, 2.0)).to_json()
    nested: Any = 0.0
    for _ in range(400):
        nested = [nested]
    with pytest.raises(InputError, match="must be an interval"):
        Question.from_json({**Question("When?", kind="when").to_json(), "answer": nested})
