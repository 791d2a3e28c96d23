"""What the tools print and remove: differences of tables, `make clean`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.paths import ROOT

TABLE = "method,n,mean,note\nvideo-rlm,60,0.8333333333333334,\nuniform,60,0.75,a b\n"
COMPARED = {
    "rounding": (TABLE.replace("3333334", "3333335"), "All 1 tables are those in"),
    "a number": (TABLE.replace("0.75", "0.7501"), "row 2 (uniform), column mean: 0.7501; committed is 0.75."),
    "a table": (None, "has no such table."),
}


@pytest.mark.parametrize("name", COMPARED)
def test_a_difference_of_tables_is_one_sentence(tmp_path: Path, name: str) -> None:
    run, sentence = COMPARED[name]
    for folder, table in (("run", run), ("committed", TABLE)):
        (tmp_path / folder).mkdir()
        if table is not None:
            (tmp_path / folder / "05_x.csv").write_text(table)
    command = [sys.executable, ROOT / "tools/compare_tables.py", tmp_path / "run", tmp_path / "committed"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == (name != "rounding") and said.count("\n") == 1 and sentence in said
    assert name == "rounding" or "05_x.csv" in said


OWN = ("cache/README.md", "figures/README.md", "recordings/mine.jsonl.xz", "cache/notes/0a.json")
PAID = ("cache/entries/cache.db", "cache/entries/ab/reply.val", "cache/atlasworld/film.mp4")
BUILT = (".venv/bin/python", ".venv-serve/x", "figures/run.html", "site/index.html", "atlaskit/__pycache__/x.pyc")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with nothing in it but the Makefile and what users and commands leave there."""
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copy(ROOT / "tools" / "clean-all", tmp_path / "tools")
    for name in (*OWN, *PAID, *BUILT):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x" * 3_000_000 if name.endswith(".mp4") else b"x")
    return tmp_path


def make(checkout: Path, *words: str) -> tuple[int, str]:
    """Run make where nobody can answer."""
    environment = {name: value for name, value in os.environ.items() if name not in ("YES", "MAKEFLAGS", "MAKELEVEL")}
    given: dict[str, Any] = {"cwd": checkout, "env": environment, "stdin": subprocess.DEVNULL, "timeout": 60}
    done = subprocess.run(["make", *words], capture_output=True, text=True, **given)
    return done.returncode, done.stdout + done.stderr


def left(checkout: Path, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if (checkout / name).exists()]


def test_clean_keeps_the_cache_and_the_recordings_as_clean_all_does_without_a_yes(checkout: Path) -> None:
    for words in ((), ("YES=0",)):
        status, output = make(checkout, "clean-all", *words)
        assert status != 0 and "nothing is removed" in output and "make clean-all YES=1" in output
        assert left(checkout, (*OWN, *PAID, *BUILT)) == [*OWN, *PAID, *BUILT]
    status, _ = make(checkout, "clean")
    assert status == 0 and left(checkout, (*OWN, *PAID, *BUILT)) == [*OWN, *PAID]


def test_clean_all_removes_the_cache_after_a_yes(checkout: Path) -> None:
    status, output = make(checkout, "clean-all", "YES=1")
    assert status == 0 and left(checkout, (*PAID, *BUILT)) == [] and left(checkout, OWN) == list(OWN)
    assert f"{checkout}/cache" in output and "cache/atlasworld" in output and "2.9M" in output
    assert "cache/README" not in output and "cache/notes" not in output
    status, output = make(checkout, "clean-all")
    assert status == 0 and "The cache is empty" in output, "there is nothing to ask about"
