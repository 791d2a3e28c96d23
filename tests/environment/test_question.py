"""Questions: what is refused, how a prediction is scored, and how an answer is written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlaskit.environment.question import Question
from atlaskit.environment.scoring import rouge_l, temporal_iou, token_f1
from atlaskit.errors import InputError

TEXTS = st.lists(st.sampled_from(["red", "blue", "circle", "then", "a"]), max_size=8).map(" ".join)


def test_invalid_questions_are_refused() -> None:
    for text, choices, message in [
        ("  ", ("a", "b"), "empty"),
        ("What?", ("a",), "two choices"),
        ("What?", (), "two choices"),
        ("What?", ("a", " "), "choice is empty"),
    ]:
        with pytest.raises(InputError, match=message):
            Question(text, choices)
    for kind in ("when", "count", "open", "summary"):
        with pytest.raises(InputError, match="leave them out"):
            Question("What?", ("a", "b"), kind=kind)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="'why'"):
        Question("What?", kind="why")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "choices", "good", "bad"),
    [
        ("choice", ("a", "b"), [0, 1], [2, -1, True, 0.5, (0.0, 1.0), "a"]),
        ("count", (), [0, 12], [-1, True, 1.5, "3", (0.0, 1.0)]),
        ("when", (), [(0.0, 1.0), (2, 3)], [(2.0, 1.0), (-1.0, 1.0), 3, "1-2", (1.0,), (0.0, float("nan"))]),
        ("open", (), ["red"], [3, (0.0, 1.0), " "]),
        ("summary", (), ["First red."], [3, ""]),
    ],
)
def test_an_answer_must_fit_its_kind(kind, choices, good, bad) -> None:  # type: ignore[no-untyped-def]
    for answer in good:
        question = Question("What?", choices, kind, answer=answer)
        assert question.score(answer) == 1.0 and question.is_right(answer) and question.score(None) == 0.0
        assert Question.from_json(question.to_json()) == question
    for answer in bad:
        with pytest.raises(InputError, match="The answer to a question of kind"):
            Question("What?", choices, kind, answer=answer)
    if kind != "choice":
        with pytest.raises(InputError, match="The prediction to"):
            Question("What?", choices, kind, answer=good[0]).score(bad[0])


def test_a_choice_is_matched_exactly() -> None:
    """Neither "Based…" matches B, nor "red circle" matches circle."""
    question = Question("Which?", ("circle", "red circle", "B"), answer=0)
    assert question.score("circle") == 1.0
    for words in ("red circle", "Circle", "a circle", " circle", "circ", "Based on it, circle", "0"):
        assert question.score(words) == 0.0
    assert [question.score(i) for i in range(3)] == [1.0, 0.0, 0.0]


def test_scores() -> None:
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


def test_in_words_returns_the_answer_as_text() -> None:
    assert Question("Which?", ("a", "b")).in_words(1) == "b"
    assert Question("When?", kind="when").in_words((1.0, 2.5)) == "1.00–2.50 s"
    assert Question("How many?", kind="count").in_words(1) == "1"


def test_lists_become_tuples() -> None:
    when = Question("When?", kind="when", answer=[1.0, 2.0])  # type: ignore[arg-type]
    assert when.answer == (1.0, 2.0) and when.score([1.0, 2.0]) == 1.0  # type: ignore[arg-type]
    assert hash(Question("Which?", ["a", "b"])) == hash(Question("Which?", ("a", "b")))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="interval"):
        Question("When?", kind="when", answer=(0.0, float("inf")))
