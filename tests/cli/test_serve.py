"""`atlaskit serve`: what it passes on, and the command for the paper's model."""

import io
import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Shell
from support.paths import ROOT

from atlaskit.cli import serve as command
from atlaskit.cli.model import agrees
from atlaskit.cli.serve import PAPER
from atlaskit.models.protocol import ServerError
from atlaskit.models.serving.plan import download_of
from atlaskit.models.serving.process import free_port
from atlaskit.models.serving.server import Server, serve


def test_the_papers_line_serves_its_model(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """As documented, shown by --help, and put together: vLLM's command for four GPUs."""
    servers: list[Server] = []

    def stop_here(*given: Any, **settings: Any) -> Server:
        servers.append(serve(*given, **settings))
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "serve", stop_here)
    assert PAPER in (ROOT / "docs" / "models.md").read_text()
    shell(PAPER.removeprefix("atlaskit "), status=130)
    (server,) = servers
    words = server.flags.command("python", server.model, server.name, 8000, "serve-gpu", preset=server.preset)
    flags = dict(zip(words, words[1:], strict=False))
    assert flags["--model"] == "Qwen/Qwen3.5-35B-A3B"
    assert int(flags["--tensor-parallel-size"]) * int(flags["--data-parallel-size"]) == 4
    assert flags["--reasoning-parser"] == "qwen3"
    assert json.loads(flags["--limit-mm-per-prompt"]) == {"image": 16, "video": 0}
    assert int(flags["--max-model-len"]) >= 16 * 6400 + 20_000, "16 sheets of square cells, and their text"


class Terminal(io.StringIO):
    """A terminal at which somebody answers."""

    def isatty(self) -> bool:
        """Return True: a terminal is one."""
        return True


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """A machine with a GPU and vLLM but without weights; a start ends where vLLM would run."""

    def go_on(build: str) -> str:
        raise ServerError("it went on")

    module = "atlaskit.models.serving.install"
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setattr("atlaskit.models.serving.server.fitting_build", lambda: "serve-gpu")
    monkeypatch.setattr("atlaskit.models.serving.server.free_gpu", lambda: None)
    monkeypatch.setattr(f"{module}.missing_in", lambda build: None)
    monkeypatch.setattr(f"{module}.interpreter", go_on)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    return module


@pytest.mark.parametrize(
    ("words", "answer", "told"),
    [
        ("", None, "Pass --yes to go on without a question"),
        ("", "n\n", "No server was started"),
        ("", "y\n", "it went on"),
        ("--yes", None, "it went on"),
    ],
)
def test_a_hub_model_without_a_gpu_is_told_and_asked(
    install: str, shell: Shell, monkeypatch: pytest.MonkeyPatch, words: str, answer: str | None, told: str
) -> None:
    monkeypatch.setattr("atlaskit.models.serving.server.fitting_build", lambda: "serve-cpu")
    monkeypatch.setattr(f"{install}.missing_in", lambda build: Path("venv"))
    monkeypatch.setattr("sys.stdin", io.StringIO() if answer is None else Terminal(answer))
    said = shell(f"serve Qwen/Qwen3-VL-2B-Instruct --port {free_port()} {words}", status=2)
    assert told in said
    if not words:
        assert "some gigabytes, will be installed into venv" in said
        assert "no NVIDIA GPU: Qwen/Qwen3-VL-2B-Instruct (4 GB of weights) will run on its processor" in said
    monkeypatch.setattr("sys.stdin", Terminal())
    assert not agrees(Namespace(yes=False)), "the end of the input is a no"


@pytest.mark.parametrize(
    ("name", "size"), [("Qwen/Qwen3-VL-2B-Instruct", "4 GB"), ("someone/model", "of a size that is not known here")]
)
@pytest.mark.usefixtures("install")
def test_no_download_begins_unasked_or_untold(
    name: str, size: str, shell: Shell, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    told = f"The weights of {name}, {size}, are not on this machine: they will be downloaded."
    said = shell(f"serve {name} --port {free_port()}", status=2)
    assert told in said and "Pass --yes" in said and "it went on" not in said
    with pytest.raises(ServerError, match="it went on"):
        serve(name).start()
    assert capsys.readouterr().err == f"atlaskit: {told}\n", "in Python"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HOME", "~nobody-here")
        assert download_of(name) == told, "a home folder that does not exist"
    weights = tmp_path / "hub" / f"models--{name.replace('/', '--')}" / "snapshots" / "x"
    weights.mkdir(parents=True)
    (weights / "model.safetensors").touch()
    assert "downloaded" not in shell(f"serve {name} --port {free_port()}", status=2)
