"""Options inside a question, with letters, without, and with letters that are none of theirs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlaskit.benchmarks.datasets.options import read_options, split_options, split_question

STYLES = ("({}) ", "{}. ", "{}) ", "{}: ", "{}、", "({})", "{}.")
WORDS = st.text("abc xyz,;-", min_size=1).map(str.strip).filter(bool)


@given(st.lists(WORDS, min_size=2, max_size=8), WORDS, st.sampled_from(STYLES))
def test_what_is_written_with_letters_is_read_back(texts: list[str], stem: str, style: str) -> None:
    lines = [style.format(chr(ord("A") + index)) + text for index, text in enumerate(texts)]
    found_stem, options = split_question("\n".join([stem, *lines]))
    assert found_stem == stem and list(read_options(options).texts) == texts
    assert read_options(split_options("\n".join(lines))).texts == tuple(texts)
    for index, text in enumerate(texts):
        letter = chr(ord("A") + index)
        read = read_options(options)
        assert read.by_letter(f" ({letter.lower()}). ") == index
        assert read.by_text(text) == texts.index(text)


@pytest.mark.parametrize(
    ("text", "stem", "texts"),
    [
        ("Which?", "Which?", ()),
        ("Which?\n(A) only one", "Which?\n(A) only one", ()),
        ("Which?\n(B) x\n(C) y", "Which?\n(B) x\n(C) y", ()),
        ("A man walks. B runs.\nWho?\nA. x\nB. y", "A man walks. B runs.\nWho?", ("x", "y")),
        # The statements have letters too, and as many options follow.
        ("Of:\nA. dog\nB. cat\nwhich?\nA. 1\nB. 2", "Of:\nA. dog\nB. cat\nwhich?", ("1", "2")),
        ("Of:\n(A) dog\n(B) cat\nwhich?\nA. 1\nB. 2\nC. 3", "Of:\n(A) dog\n(B) cat\nwhich?", ("1", "2", "3")),
        # The last option lists letters of its own.
        ("Which?\n(A) x\n(B) y\n(C) of\n(A) p\n(B) q", "Which?", ("x", "y", "of\n(A) p\n(B) q")),
        ("Which?\n(A) x\n(B) y\n(B) again\n(C) z", "Which?", ("x", "y\n(B) again", "z")),
        ("Which?\n(A) x\ntwo lines\n\n(B) y", "Which?", ("x\ntwo lines", "y")),
        ("Which? (A) x (B) y (C) z", "Which?", ("x", "y", "z")),
        ("Which? A. x B. y", "Which?", ("x", "y")),
        ("Which?\n  (A) x\n\t(B) y", "Which?", ("x", "y")),
    ],
)
def test_options_are_found_in_a_question(text: str, stem: str, texts: tuple[str, ...]) -> None:
    found, options = split_question(text)
    assert (found, read_options(options).texts) == (stem, texts)


@pytest.mark.parametrize("options", [["x", "y"], ["(A) x", "(B) y"]])
def test_an_answer_means_one_option_or_none(options: list[str]) -> None:
    read = read_options(options)
    assert {read.index_of(answer) for answer in ("B", "b", "(B)", "B.", "y", "(B) y")} == {1}
    assert {read.index_of(answer) for answer in ("B. x", "C", "")} == {None}
