"""The order and the text of the values of a run table."""

from __future__ import annotations

from functools import cmp_to_key
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Page
from support.scripts import PageScripts

NUMBERS = st.one_of(st.integers(-(10**9), 10**9), st.floats(-1e6, 1e6, width=32))
WORDS = st.text(st.sampled_from("abzABZéß 0123456789.-\u202e漢"), max_size=6)
VALUES = st.one_of(st.none(), st.just(""), st.booleans(), NUMBERS, WORDS)

SIGNS = "([values, direction]) => values.map((one) => values.map((other) => Math.sign(compare(one, other, direction))))"
SORT = "([values, direction]) => values.toSorted((one, other) => compare(one, other, direction))"


@pytest.fixture
def page(page_scripts: PageScripts) -> Page:
    return page_scripts("walk/script/dom.js", "widgets/runtable.js")


def test_the_order_of_values_is_total_whatever_a_column_holds(page: Page) -> None:
    @given(st.lists(VALUES, min_size=3, max_size=7), st.sampled_from([1, -1]))
    def check(values: list[Any], direction: int) -> None:
        signs = page.evaluate(SIGNS, [values, direction])
        places = range(len(values))
        assert all(signs[a][b] == -signs[b][a] for a in places for b in places), "antisymmetric"
        for a in places:
            for b in places:
                for c in places:
                    if signs[a][b] <= 0 and signs[b][c] <= 0:
                        assert signs[a][c] <= 0, ("transitive", values[a], values[b], values[c])
        by_python = sorted(places, key=cmp_to_key(lambda a, b: signs[a][b]))
        assert page.evaluate(SORT, [values, direction]) == [values[each] for each in by_python]

    check()


@pytest.mark.long
def test_missing_values_are_last_in_both_directions(page: Page) -> None:
    @given(st.lists(VALUES, max_size=12), st.sampled_from([1, -1]))
    def check(values: list[Any], direction: int) -> None:
        ordered = page.evaluate(SORT, [values, direction])
        missing = [value in (None, "") and not isinstance(value, bool) for value in ordered]
        assert missing == sorted(missing) and sum(missing) == sum(value is None or value == "" for value in values)

    check()


@pytest.mark.parametrize("direction", [1, -1])
def test_numbers_are_sorted_by_size_and_numbers_in_text_too(page: Page, direction: int) -> None:
    numbers = [10, 9, -1, 0.5, 100, 0]
    assert page.evaluate(SORT, [numbers, direction]) == sorted(numbers, reverse=direction < 0)
    words = ["question 10", "question 9", "Question 1", "answer 2"]
    assert page.evaluate(SORT, [words, 1]) == ["answer 2", "Question 1", "question 9", "question 10"]
    assert page.evaluate(SORT, [[True, False, True], 1]) == [False, True, True]
    assert page.evaluate(SORT, [["b", 2, "a", 10], 1]) == [2, 10, "a", "b"], "numbers come before text"
