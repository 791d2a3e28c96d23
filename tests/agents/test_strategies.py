"""Strategies of the user, and values of `traversal` that are none."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from support.paths import ROOT
from support.searches import of_category, search

import atlaskit as ak
from atlaskit.agents.budget import Budget
from atlaskit.agents.strategies import STRATEGIES, Assignment, Frontier, beam
from atlaskit.benchmarks.atlasworld import World
from atlaskit.caching.cache import Cache
from atlaskit.environment.grid import Grid
from atlaskit.errors import InputError

CELL = Grid(0.0, 36_000.0, 8, (3,))
TRAVERSALS = ("dfs", "bfs", "beam", "auto")


class TestCustomStrategies:
    def test_a_function_is_a_strategy(self, long_world: World, shared_cache: Cache) -> None:
        def from_the_end(frontier: Frontier, *, workers: int, steps: int) -> list[Assignment]:
            last = sorted((region.grid for region in frontier.open), key=lambda grid: -grid.start_s)
            return [ak.strategies.Assignment(grid, "dfs", steps) for grid in last[:workers]]

        question = of_category(long_world, "S2A")
        result = search(long_world, question, shared_cache, traversal=from_the_end, budget=Budget(calls=500))
        assert result.is_right and result.settings["traversal"] == "from_the_end"
        starts = [report.interval_s[0] for report in result.trace.of("report")]
        assert starts == sorted(starts, reverse=True)

    @pytest.mark.parametrize(
        ("message", "assign"),
        [
            ("at most 2 assignments; it returned 3", lambda cells: [Assignment(c, "dfs", 5) for c in cells[:3]]),
            ("different regions", lambda cells: [Assignment(cells[0], "dfs", 5)] * 2),
            ("regions of frontier.open", lambda cells: [Assignment(Grid(0.0, 36_000.0, 8), "dfs", 5)]),
            ("a list of assignments", lambda cells: cells),
            ("a list of assignments", lambda cells: None),
        ],
    )
    def test_invalid_assignments_raise_input_errors(
        self, long_world: World, shared_cache: Cache, message: str, assign: Any
    ) -> None:
        def invalid(frontier: Frontier, *, workers: int, steps: int) -> list[Assignment]:
            return assign([region.grid for region in frontier.open])  # type: ignore[no-any-return]

        with pytest.raises(InputError, match=f"invalid.*{message}"):
            search(long_world, of_category(long_world, "S2A"), shared_cache, traversal=invalid, workers=2)

    def test_the_example_in_the_docs_runs(self, in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
        page = (ROOT / "docs" / "how-the-search-works.md").read_text(encoding="utf-8")
        (code,) = re.findall(r"```python\n(.*?)```", page, re.S)
        names: dict[str, Any] = {}
        exec(code, names)
        assert names["result"].is_right and names["result"].settings["traversal"] == "from_the_end"
        assert "answer" in capsys.readouterr().out

    def test_invalid_assignments_and_strategies_are_rejected(self, long_world: World, shared_cache: Cache) -> None:
        for wrong in ((CELL, "DFS", 3), (CELL, "dfs", 0), (CELL, "dfs", 2.0), (CELL, "dfs", True), (None, "dfs", 2)):
            with pytest.raises(InputError, match="assignment"):
                Assignment(*wrong)  # type: ignore[arg-type]
        for strategy in (beam, Assignment, lambda frontier: [], ["dfs"], 3, None):
            with pytest.raises(InputError, match=r"strategy must be callable|traversal must be"):
                search(long_world, of_category(long_world, "S2A"), shared_cache, traversal=strategy)

    def test_an_unknown_name_is_rejected(self, long_world: World, shared_cache: Cache) -> None:
        with pytest.raises(InputError, match="'auto', 'dfs', 'bfs', 'beam', or a strategy function.*'mcts'"):
            search(long_world, of_category(long_world, "S2A"), shared_cache, traversal="mcts")
        assert set(STRATEGIES) | {"auto"} == set(TRAVERSALS)
