"""`atlaskit serve`: what it passes on, and the command for the paper's model."""

import json
import shlex
from pathlib import Path

import pytest
from support.paths import ROOT

from atlaskit.__main__ import main
from atlaskit.cli import serve as command
from atlaskit.cli.serve import PAPER
from atlaskit.models.serving.server import Server, serve


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Server]:
    """The servers that the command would start."""
    servers: list[Server] = []

    def stop_here(*given: object, **settings: object) -> Server:
        servers.append(serve(*given, **settings))  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "serve", stop_here)
    return servers


def test_the_papers_line_serves_its_model(started: list[Server], tmp_path: Path) -> None:
    """As documented, shown by --help, and put together: vLLM's command for four GPUs."""
    assert PAPER in (ROOT / "docs" / "models.md").read_text()
    program, *arguments = shlex.split(PAPER)
    assert program == "atlaskit"
    assert main(arguments) == 130
    (server,) = started
    words = server.flags.command("python", server.model, server.name, 8000, "serve-gpu", preset=server.preset)
    flags = dict(zip(words, words[1:], strict=False))
    assert flags["--model"] == "Qwen/Qwen3.5-35B-A3B"
    assert int(flags["--tensor-parallel-size"]) * int(flags["--data-parallel-size"]) == 4
    assert flags["--reasoning-parser"] == "qwen3"
    assert json.loads(flags["--limit-mm-per-prompt"]) == {"image": 16, "video": 0}
    of_length = [after for word, after in zip(words, words[1:], strict=False) if word == "--max-model-len"]
    assert int(of_length[-1]) >= 16 * 6400 + 20_000, "16 sheets of square cells, and their text"
