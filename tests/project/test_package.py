"""The package imports what a name stands for once the name is used."""

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import atlaskit


def test_the_names_of_the_package_are_those_that_type_checkers_see() -> None:
    """The stub imports each name from where `PLACES` finds it."""
    stub = ast.parse(Path(atlaskit.__file__).with_suffix(".pyi").read_text())
    imported = dict[str, object]()
    for node in stub.body:
        if isinstance(node, ast.ImportFrom):
            module = import_module(str(node.module))
            for alias in node.names:
                name = alias.asname or alias.name
                imported[name] = getattr(module, alias.name, None) or import_module(f"{node.module}.{alias.name}")
    assert imported.keys() == set(atlaskit.__all__)
    assert all(getattr(atlaskit, name) is value for name, value in imported.items())


def test_every_kind_of_cache_entries_is_registered() -> None:
    code = "from atlaskit.caching.keys import kinds; print(*sorted(kinds()))"
    used = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    package = Path(atlaskit.__file__).parent
    texts = [path.read_text() for path in package.rglob("*.py")]
    declared = [found for text in texts for found in re.findall(r'= Kind\(\s*"(\w+)"', text)]
    assert used == sorted(declared)
