"""Fixtures of the server tests, which run a stand-in for vLLM."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.paths import SUPPORT

from atlaskit.models.serving import process


@pytest.fixture(autouse=True)
def _servers_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep what servers leave in a folder of the test, and stop those that are left after it."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("TMPDIR", str(home))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    monkeypatch.setattr("atlaskit.models.serving.server.USUAL_PORT", 9)  # a server may run on 8000
    yield
    for server in process.all_kept():
        server.stop()


@pytest.fixture
def stub(tmp_path: Path) -> Path:
    """An interpreter that behaves as tests/support/stub_vllm.py."""
    path = tmp_path / "python"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{SUPPORT / "stub_vllm.py"}" "$@"\n')
    path.chmod(0o755)
    return path


@pytest.fixture
def stub_environment(tmp_path: Path) -> dict[str, str]:
    """Environment variables with which this interpreter has a vLLM: the stand-in."""
    package = tmp_path / "packages" / "vllm" / "entrypoints" / "openai"
    package.mkdir(parents=True)
    for parent in (package, package.parent, package.parent.parent):
        (parent / "__init__.py").write_text("")
    (package / "api_server.py").write_text("import sys\nfrom support.stub_vllm import main\nmain(sys.argv[1:])\n")
    return {**os.environ, "PYTHONPATH": f"{tmp_path / 'packages'}{os.pathsep}{os.environ['PYTHONPATH']}"}
