"""docs/example.md quotes the run that tools/example.py makes."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from support.paths import ROOT

from atlaskit.caching.cache import Cache

ADVICE = "The run of the example has changed. Update its page: .venv/bin/python tools/example.py"
COUNTS = {"last_seed", "right", "exhausted"}
"""Quotes that count over a hundred runs, which only tools/example.py makes."""


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("example", ROOT / "tools/example.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_quotes_the_run(example: ModuleType, shared_cache: Cache, tmp_path: Path) -> None:
    """An oracle reads the script and no frame, so the world need not be encoded for this run."""
    world = example.make_world(tmp_path)
    result = example.run(world, world.drawn, shared_cache)
    quoted = example.QUOTED.findall(example.PAGE.read_text(encoding="utf-8"))
    quotes = example.quotes(world, result)
    assert {name for name, _ in quoted} == quotes.keys() | COUNTS
    changed = [(name, text, quotes[name]) for name, text in quoted if name not in COUNTS and text != quotes[name]]
    assert not changed, f"{ADVICE}\n{changed[:3]}"
    assert result.is_right and result.rounds == example.WANTED_ROUNDS and example.black_cells(result), ADVICE
