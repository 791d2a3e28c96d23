"""The house's floors: a module imports only from lower ones (DESIGN §2)."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import atlaskit

ROOT = Path(atlaskit.__file__).parent

FLOORS = {
    "usage": -2,  # what calls cost: counts that errors carry too
    "errors": -1,  # the names of what can go wrong: below everything
    "grid": 0,
    "flights": 0,
    "store": 0,
    "cache": 1,
    "question": 0,
    "charset": 0,
    "subtitles": 1,
    "memory": 1,
    "forms": 0,
    "model": 1,
    "gate": 1,
    "counters": 1,
    "wire": 0,
    "endpoint": 1,
    "recipes": 2,
    "replies": 3,
    "ledger": 2,
    "dialect": 2,
    "readers": 1,
    "video": 2,
    "budget": 2,
    "render": 3,
    "opening": 3,
    "vlm": 3,
    "progress": -1,
    "vllm_log": 0,
    "install": 0,
    "keeper": 0,
    "serve": 4,
    "environment": 4,
    "schemas": 5,
    "trace": 6,
    "prompts": 6,
    "result": 7,
    "agents": 7,
    "search": 9,
    "frontier": 2,
    "events": 5,
    "strategies": 5,
    "wording": 5,
    "rounds": 8,
    "replay": 8,
    "recording": 8,
    "gym": 12,
    "baselines": 10,
    "benchmarks": 11,
    "engines": 12,
    "evaluate": 13,
    "outcomes": 12,
    "statistics": 0,
    "upkeep": 12,
    "assessment": 14,
    "nano": 14,
    "diagnosis": 12,
    "displays": 14,
    "scaling": 12,
    "plots": 13,
    "notebooks": 12,
    "gallery": 0,
    "experiments": 14,
    "walk": 15,
    "widgets": 16,
    "__init__": 17,
    "__main__": 18,
}
HEAVY = {"av", "charset_normalizer", "httpcore", "httpx", "pysubs2", "papermill", "matplotlib", "pandas", "IPython"}
HEAVY |= {"ray", "torch", "transformers", "vllm", "decord", "gymnasium", "anywidget", "ipywidgets"}
MODULES = sorted(ROOT.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [
                f"{node.module}.{alias.name}" if node.module == "atlaskit" else node.module for alias in node.names
            ]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        rooms |= {name.split(".")[1] for name in names if name.startswith("atlaskit.")}
    return rooms


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_only_from_lower_floors(path: Path) -> None:
    room = room_of(path)
    assert room in FLOORS, f"{room} has no floor: put it in the table"
    for other in imported_rooms(path) - {room}:
        assert FLOORS[other] < FLOORS[room], f"{room} (floor {FLOORS[room]}) imports {other} (floor {FLOORS[other]})"


def test_the_table_names_only_rooms_that_are_there() -> None:
    assert set(FLOORS) == {room_of(path) for path in MODULES}


def test_the_test_can_fail(tmp_path: Path) -> None:
    bad = tmp_path / "grid.py"
    bad.write_text("from atlaskit.search import ask\nimport atlaskit.render\nfrom atlaskit import plots\n")
    assert imported_rooms(bad) == {"search", "render", "plots"}


def test_importing_the_kit_is_light_and_writes_nothing(tmp_path: Path) -> None:
    code = "import sys, atlaskit; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert not HEAVY & set(done.stdout.split())
    assert list(tmp_path.iterdir()) == []
