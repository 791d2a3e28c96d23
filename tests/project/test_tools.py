"""What the tools tell: the first difference of each table, and a fault of a script where it is."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from support.paths import ROOT

TABLE = "method,n,mean,note\nvideo-rlm,60,0.8333333333333334,\nuniform,60,0.75,a b\n"
DIFFERENT = {
    "a number": (TABLE.replace("0.75", "0.7501"), "row 2 (uniform), column mean: 0.7501; committed is 0.75."),
    "a column": (TABLE.replace("mean", "score"), "the columns are method, n, score, note; committed are method, n, "),
    "a row": (TABLE + "blind,60,0.1,\n", "there are 3 rows; committed are 2."),
    "a table": (None, "has no such table."),
}


def compared(tmp_path: Path, run: str | None) -> tuple[int, str]:
    for folder, table in (("run", run), ("committed", TABLE)):
        (tmp_path / folder).mkdir()
        if table is not None:
            (tmp_path / folder / "05_x.csv").write_text(table)
    command = [sys.executable, ROOT / "tools/compare_tables.py", tmp_path / "run", tmp_path / "committed"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout + done.stderr


def test_equal_tables_agree_but_for_rounding(tmp_path: Path) -> None:
    status, said = compared(tmp_path, TABLE.replace("3333334", "3333335"))
    assert status == 0 and said.startswith("All 1 tables are those in")


@pytest.mark.parametrize("name", DIFFERENT)
def test_a_difference_is_one_sentence(tmp_path: Path, name: str) -> None:
    run, sentence = DIFFERENT[name]
    status, said = compared(tmp_path, run)
    assert status == 1 and said.count("\n") == 1 and "05_x.csv" in said and sentence in said


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
