"""The code of docs/adding.md: the benchmark, the method, and the tests of both run as printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from support.paths import ROOT

from atlaskit.caching.cache import Cache

PAGE = (ROOT / "docs" / "adding.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What the blocks of the page define, in one module."""
    module: dict[str, Any] = {"__name__": "adding"}
    for number, block in enumerate(BLOCKS):
        exec(compile(block, f"docs/adding.md, block {number}", "exec"), module)
    return module


def test_the_benchmark_is_loaded(names: dict[str, Any], tmp_path: Path) -> None:
    names["test_lectures_are_loaded"](tmp_path)


def test_the_method_answers(names: dict[str, Any], cache: Cache) -> None:
    names["test_edges_asks_once_and_replays"](cache)
