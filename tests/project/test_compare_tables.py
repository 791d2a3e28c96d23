"""`tools/compare_tables.py`: the first difference of each table, in one sentence."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.paths import ROOT

TABLE = "method,n,mean,note\nvideo-rlm,60,0.8333333333333334,\nuniform,60,0.75,a b\n"
DIFFERENT = {
    "a number": (TABLE.replace("0.75", "0.7501"), "row 2 (uniform), column mean: 0.7501; committed is 0.75."),
    "a word": (TABLE.replace("a b", "a c"), "row 2 (uniform), column note: a c; committed is a b."),
    "a column": (TABLE.replace("mean", "score"), "the columns are method, n, score, note; committed are method, n, "),
    "a row": (TABLE + "blind,60,0.1,\n", "there are 3 rows; committed are 2."),
    "a table": (None, "has no such table."),
}


def compared(tmp_path: Path, run: str | None, committed: str | None = TABLE) -> tuple[int, str]:
    for name, table in (("run", run), ("committed", committed)):
        (tmp_path / name).mkdir()
        if table is not None:
            (tmp_path / name / "05_x.csv").write_text(table)
    command = [sys.executable, ROOT / "tools/compare_tables.py", tmp_path / "run", tmp_path / "committed"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("last_digit", ["4", "5"])
def test_equal_tables_agree_but_for_rounding(tmp_path: Path, last_digit: str) -> None:
    status, said = compared(tmp_path, TABLE.replace("3333334", f"333333{last_digit}"))
    assert status == 0 and said.startswith("All 1 tables are those in")


@pytest.mark.parametrize("name", DIFFERENT)
def test_a_difference_is_one_sentence(tmp_path: Path, name: str) -> None:
    run, sentence = DIFFERENT[name]
    status, said = compared(tmp_path, run)
    assert status == 1 and said.count("\n") == 1 and "05_x.csv" in said and sentence in said


def test_a_table_that_is_not_committed_is_a_difference(tmp_path: Path) -> None:
    compared(tmp_path, TABLE)
    (tmp_path / "run" / "06_new.csv").write_text(TABLE)
    command = [sys.executable, ROOT / "tools/compare_tables.py", tmp_path / "run", tmp_path / "committed"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "06_new.csv" in done.stdout and "commit it" in done.stdout
