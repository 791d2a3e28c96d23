"""The layout of the package: its top level, the size of its parts, and who imports whom."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from support.paths import ROOT

import atlaskit as ak

PACKAGE, RECIPE = ROOT / "atlaskit", ROOT / "nano"
UNCOUNTED = {"__init__.py", "requirements.lock", "__main__.py", "py.typed", "__pycache__"}
MAX_TOP_ENTRIES, MAX_MODULE_LINES, MAX_FUNCTION_LINES = 15, 400, 60

CONTRACTS = {
    contract["id"]: contract["name"]
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
}
VIOLATIONS = {
    "rooms": ("caching", "atlaskit.video.video"),
    "no-circles": ("caching", "atlaskit.video.video"),
    "environment": ("environment", "atlaskit.models.protocol"),
    "benchmarks": ("benchmarks", "atlaskit.runs.trace"),
    "experiments": ("experiments", "atlaskit.caching.cache"),
    "gym": ("gym", "atlaskit.models.protocol"),
    "viz": ("viz", "atlaskit.agents.budget"),
    "recipe": ("cli", "nano.train"),
}
"""For each contract, a package and a module that it must not import."""


def long_functions(source: str) -> Iterator[str]:
    """Yield each function of a module whose body is too long.

    Parameters and docstring do not count: `ask` has 27 parameters, one a line, and documents each.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            has_docstring = ast.get_docstring(node) is not None
            code = node.body[1:] if has_docstring else node.body
            count = (code[-1].end_lineno or 0) - code[0].lineno + 1 if code else 0
            if count > MAX_FUNCTION_LINES:
                yield f"{node.name}: {count} lines"


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Check the import contracts on the copy of atlaskit in a folder."""
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


def test_the_top_level_stays_small() -> None:
    entries = {path.name for path in PACKAGE.iterdir()} - UNCOUNTED
    assert len(entries) <= MAX_TOP_ENTRIES, sorted(entries)


def test_modules_and_functions_stay_short() -> None:
    too_long = []
    for path in sorted([*PACKAGE.rglob("*.py"), *RECIPE.rglob("*.py")]):
        source, name = path.read_text(encoding="utf-8"), path.relative_to(ROOT)
        if (count := len(source.splitlines())) > MAX_MODULE_LINES:
            too_long.append(f"{name}: {count} lines")
        too_long += [f"{name}: {function}" for function in long_functions(source)]
    assert too_long == []


def test_a_violation_of_each_contract_is_found(tmp_path: Path) -> None:
    assert VIOLATIONS.keys() == CONTRACTS.keys()
    for path in (path for folder in (PACKAGE, RECIPE) for path in folder.rglob("*.py")):
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for package, module in VIOLATIONS.values():
        (tmp_path / "atlaskit" / package / "planted.py").write_text(f"import {module}\n")
    done = lint_imports(tmp_path)
    assert done.returncode == 1, done.stderr[-1000:]
    broken = set(re.findall(r"^(.+) BROKEN$", done.stdout, re.MULTILINE))
    assert broken == set(CONTRACTS.values())
    assert f"atlaskit.{VIOLATIONS['recipe'][0]}.planted -> {VIOLATIONS['recipe'][1]}" in done.stdout


def test_dir_lists_the_public_names() -> None:
    assert dir(ak) == sorted([*ak.__all__, "__version__"])
