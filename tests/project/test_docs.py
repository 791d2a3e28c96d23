"""docs/example.md says what the run it tells of really does."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from support.paths import ROOT

from atlaskit.caching.cache import Cache

AGAIN = "The example's run has changed. Make its page again: .venv/bin/python tools/example.py"
COUNTED = {"last_seed", "right", "exhausted"}
"""What is told of a hundred runs, which only tools/example.py makes."""


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("example", ROOT / "tools/example.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_quotes_the_run(example: ModuleType, shared_cache: Cache, tmp_path: Path) -> None:
    """The run is the filmed one's: an oracle does not look, so it need not be filmed."""
    world = example.make_world(tmp_path)
    result = example.run(world, world.drawn, shared_cache)
    told = example.QUOTED.findall(example.PAGE.read_text(encoding="utf-8"))
    quotes = example.quotes(world, result)
    assert {name for name, _ in told} == quotes.keys() | COUNTED
    changed = [(name, text, quotes[name]) for name, text in told if name not in COUNTED and text != quotes[name]]
    assert not changed, f"{AGAIN}\n{changed[:3]}"


def test_the_run_is_worth_telling(example: ModuleType, shared_cache: Cache, tmp_path: Path) -> None:
    world = example.make_world(tmp_path)
    result = example.run(world, world.drawn, shared_cache)
    assert result.is_right and result.rounds == example.WANTED_ROUNDS and example.black_cells(result), AGAIN


def test_each_picture_is_there_and_small(example: ModuleType) -> None:
    page = example.PAGE.read_text(encoding="utf-8")
    pictures = sorted(path.name for path in example.FIGURES.iterdir())
    assert pictures == ["root_after.jpg", "root_before.jpg", "rounds.png", "scratchpad.jpg"]
    for name in pictures:
        assert f"(example/{name})" in page and (example.FIGURES / name).stat().st_size < 300_000
