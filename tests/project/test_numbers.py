"""Each measured number of README and docs is in a committed table."""

from __future__ import annotations

import sys

import pytest
from support.paths import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import check_numbers


def test_the_numbers_of_the_pages_are_in_tables() -> None:
    assert list(check_numbers.faults()) == []


@pytest.mark.parametrize("words", ["66.1 % (59.0 to 72.0)", "65.2 % (57.0 to 71.6)", "0.31 of it", "12.9 K tokens"])
def test_a_number_that_no_table_has_is_found(words: str) -> None:
    known = check_numbers.known_to(words, words)
    assert not all(number.is_in(known) for number in check_numbers.numbers_in(words))
