"""The lint of the page scripts: what it finds is told where it is."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import pytest
from support.paths import ROOT


@pytest.fixture(scope="module")
def linter() -> ModuleType:
    spec = importlib.util.spec_from_file_location("lint_scripts", ROOT / "tools" / "lint_scripts.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_a_fault_is_told_with_the_file_and_line_that_it_comes_from(linter: ModuleType) -> None:
    files = {
        "a.js": "const shared = 1;\nconst onlyOne = 2;\nconst nobody = 3;\n",
        "b.js": "// b\nglobalThis.one = shared + onlyOne;\n",
        "c.js": "globalThis.two = shared;\nglobalThis.three = missing == 1;\n",
    }
    scripts = {"one": files["a.js"] + files["b.js"], "two": files["a.js"] + files["c.js"]}
    found = {(each.file, each.line, each.rule) for each in linter.lint(scripts, files)}
    assert found == {
        ("a.js", 3, "eslint(no-unused-vars)"),
        ("c.js", 2, "eslint(no-undef)"),
        ("c.js", 2, "eslint(eqeqeq)"),
    }, "a name that one of the pages uses is used"
    files["d.js"] = "const shared = 4;\nglobalThis.four = shared;\n"
    (twice,) = linter.lint({"one": files["a.js"] + files["d.js"]}, files)
    assert "shared" in twice.words
