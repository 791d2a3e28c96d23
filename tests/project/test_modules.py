"""docs/modules.md lists every module with the first sentence of its docstring."""

from __future__ import annotations

import subprocess
import sys

from support.paths import ROOT


def test_the_index_of_modules_is_up_to_date() -> None:
    command = [sys.executable, "tools/module_index.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_module_says_what_it_holds() -> None:
    lines = (ROOT / "docs/modules.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.endswith(" –")] == []
