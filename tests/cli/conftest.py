"""A shell for the tests of commands: a temporary folder, and what a line prints there."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from atlaskit.__main__ import main

Shell = Callable[..., str]


@pytest.fixture
def shell(
    in_tmp: Path, short_pauses: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shell:
    """A function that runs a command line, followed by more words, and returns what it prints."""
    monkeypatch.setenv("ATLASKIT_CACHE", str(in_tmp / "cache"))

    def run(line: str, *more: object, status: int = 0) -> str:
        capsys.readouterr()
        try:
            code = main([*shlex.split(line), *map(str, more)])
        except SystemExit as left:  # of argparse
            code = int(left.code or 0)
        printed = capsys.readouterr()
        assert code == status, printed
        return printed.out + printed.err

    return run
