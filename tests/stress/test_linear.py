"""No text from outside holds a parser for a time that grows faster than its length.

Each reads one fragment over and over: every literal of its module, and what breaks patterns
elsewhere. Those of subtitles are in `video/subtitles/test_bounds.py`, those of models in
`models/test_bounds.py`.
"""

from collections.abc import Callable
from typing import Any

import pytest
from support.bounded import check_linear, literals

from atlaskit.benchmarks.datasets.options import split_question
from atlaskit.errors import printable

USUAL = ("a", "1.", " ", "\n", "\t", "<", "{", "[", '"', "\\", "-", "é", "a b ", "0:0:", "A. ", "(A", "\n1\n")


@pytest.mark.parametrize(
    ("module", "parse"),
    [("benchmarks/datasets/options", split_question), ("errors", lambda text: printable(text, 300))],
    ids=["options", "printable"],
)
def test_twice_the_text_takes_about_twice_the_time(module: str, parse: Callable[[str], Any]) -> None:
    for fragment in {*USUAL, *literals(module)}:
        check_linear(parse, fragment, 120_000, free_s=0.1)
