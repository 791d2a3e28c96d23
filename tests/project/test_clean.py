"""`make clean` keeps what was paid for; `make clean-all` says what it removes, and asks."""

import os
import pty
import shutil
import subprocess
from pathlib import Path

import pytest
from support.paths import ROOT

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


def make(checkout: Path, *words: str, typed: str | None = None) -> tuple[int, str]:
    """Run make; with `typed`, in a terminal in which somebody types it."""
    environment = {name: value for name, value in os.environ.items() if name not in ("YES", "MAKEFLAGS", "MAKELEVEL")}
    theirs, ours = (subprocess.DEVNULL, None) if typed is None else pty.openpty()[::-1]
    if ours is not None and typed is not None:
        os.write(ours, f"{typed}\n".encode())
    done = subprocess.run(
        ["make", *words], cwd=checkout, stdin=theirs, capture_output=True, text=True, env=environment, timeout=60
    )
    return done.returncode, done.stdout + done.stderr


def left(checkout: Path, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if (checkout / name).exists()]


def test_clean_keeps_the_cache_and_the_recordings(checkout: Path) -> None:
    status, _ = make(checkout, "clean")
    assert status == 0 and left(checkout, BUILT) == []
    assert left(checkout, OWN) == list(OWN) and left(checkout, PAID) == list(PAID)


@pytest.mark.parametrize(("words", "typed"), [((), "yes"), (("YES=1",), None)])
def test_clean_all_removes_the_cache_after_a_yes(checkout: Path, words: tuple[str, ...], typed: str | None) -> None:
    status, output = make(checkout, "clean-all", *words, typed=typed)
    assert status == 0 and left(checkout, (*PAID, *BUILT)) == [] and left(checkout, OWN) == list(OWN)
    assert f"{checkout}/cache" in output and "cache/atlasworld" in output and "2.9M" in output
    assert "Files in recordings/ stay, and so do notes" in output and "drawn again" in output
    assert "cache/README" not in output and "cache/notes" not in output
    status, output = make(checkout, "clean-all")
    assert status == 0 and "The cache is empty" in output, "there is nothing to ask about"


@pytest.mark.parametrize(
    ("words", "typed", "sentence"),
    [
        ((), None, "Nobody can answer here, so nothing is removed"),
        (("YES=0",), None, "make clean-all YES=1"),
        ((), "y", "Nothing is removed"),
    ],
)
def test_clean_all_removes_nothing_without_a_yes(
    checkout: Path, words: tuple[str, ...], typed: str | None, sentence: str
) -> None:
    status, output = make(checkout, "clean-all", *words, typed=typed)
    assert status != 0 and sentence in output
    assert left(checkout, (*OWN, *PAID, *BUILT)) == [*OWN, *PAID, *BUILT]
