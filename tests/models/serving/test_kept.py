"""Servers that outlive the command that started them, with a stand-in for vLLM.

tests/server/test_kept.py keeps a real one.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.parallel import wait_until
from support.servers import HELLO, is_alive, model_folder, pids, wait_until_gone

from atlaskit.__main__ import main
from atlaskit.models.names import served_name
from atlaskit.models.serving import process
from atlaskit.models.serving.server import Server, serve
from atlasworld import World


def keeper(model: Path, stub: Path, **options: object) -> Server:
    """Return a server that will be left to its supervisor."""
    server = serve(model, python=stub, **options)
    server.keeps = True
    return server


def wait_for_readings(model: Path, count: int) -> None:
    """Wait until the counters have been read so many times more, which is done every 0.2 s."""
    readings = model / ".readings"
    readings.touch()
    wanted = len(readings.read_text()) + count
    wait_until(lambda: len(readings.read_text()) >= wanted)


@pytest.fixture
def asking(tmp_path: Path, film: World, stub_environment: dict[str, str]) -> Callable[..., list[str]]:
    """Return the command that asks a question about a film."""

    def command(model: Path, question: str) -> list[str]:
        video = str(film.video.path)  # type: ignore[attr-defined]
        words = ["ask", video, question, "--model", str(model), "--cache", str(tmp_path / "cache")]
        return [sys.executable, "-m", "atlaskit", *words, "--calls", "4", "--cell", "32", "--k", "4"]

    return command


def test_the_next_question_is_answered_by_the_server_of_the_last_one(
    tmp_path: Path, asking: Callable[..., list[str]], stub_environment: dict[str, str]
) -> None:
    model, given = model_folder(tmp_path), {"env": stub_environment, "capture_output": True, "text": True}
    name = served_name(str(model))
    first = subprocess.run(asking(model, "What is red?"), **given)  # type: ignore[call-overload]
    assert first.returncode == 0, first.stderr
    before = pids(model)
    second = subprocess.run(asking(model, "What is blue?"), **given)  # type: ignore[call-overload]
    assert second.returncode == 0 and pids(model) == before and all(map(is_alive, before))
    assert "starting vLLM" in first.stderr and f"using the server of {name} that was kept" in second.stderr
    for done in (first, second):
        *_, last = done.stderr.splitlines()
        said = re.fullmatch(
            rf"atlaskit: the server of {name} stays for the next question, until 10 minutes after the last one; "
            r"this stops it: (.*)",
            last,
        )
        assert said is not None and said[1].endswith(f"atlaskit serve {model} --stop")
    stop = subprocess.run(shlex.split(said[1]), **given)  # type: ignore[call-overload]
    assert stop.stdout == f"The server of {name} at {url_of(second.stderr)} has stopped.\n"
    wait_until_gone(model)
    assert not any(process.all_kept()) and not any(tmp_path.glob("**/server.log"))
    cached = subprocess.run(asking(model, "What is red?"), **given)  # type: ignore[call-overload]
    assert cached.returncode == 0 and "paid now  0 calls" in cached.stdout
    assert "stays" not in cached.stderr and pids(model) == before, "what is cached starts nothing"


def url_of(printed: str) -> str:
    found = re.search(r"http://127\.0\.0\.1:\d+/v1", printed)
    assert found is not None
    return found[0]


@pytest.mark.parametrize("by", ["open request", "requests"])
def test_a_server_that_is_used_stays_and_an_idle_one_leaves_nothing(
    tmp_path: Path, stub: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    """By whatever client, since the server itself counts. A question may take hours."""
    monkeypatch.setattr(process, "IDLE_S", 0.5)
    model = model_folder(tmp_path)
    (model / ".open").touch()
    server = keeper(model, stub)
    vlm = server.start()
    assert not server.is_ours
    if by == "requests":
        vlm.complete(HELLO)
        (model / ".open").unlink()
    for _ in range(6):
        wait_for_readings(model, 2)
        assert any(process.all_kept()) and all(map(is_alive, pids(model)))
        if by == "requests":
            vlm.complete(HELLO)
    (model / ".open").unlink(missing_ok=True)
    wait_until_gone(model)
    assert process.find_kept(vlm.name) is None
    wait_until(lambda: not any(tmp_path.glob("**/server.log")))


START = """
import sys
from atlaskit.models.serving.server import serve
server = serve(sys.argv[1], python=sys.argv[2])
server.keeps = True
print(server.start().base_url)
"""


@pytest.mark.long
def test_two_commands_at_a_time_start_one_server(tmp_path: Path, stub: Path) -> None:
    model = model_folder(tmp_path)
    command = [sys.executable, "-c", START, str(model), str(stub)]
    both = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=60) for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    assert len({stdout for stdout, _ in outputs}) == 1
    assert sorted("starting vLLM" in stderr for _, stderr in outputs) == [False, True]
    assert process.find_kept(served_name(str(model))) is not None
    assert main(["serve", "--stop"]) == 0
    wait_until_gone(model)


def test_another_command_gets_a_server_of_its_own(tmp_path: Path, stub: Path) -> None:
    """Only `ask` and the server of assistants share one, and only of the same weights."""
    model = model_folder(tmp_path)
    first = keeper(model, stub).start()
    kept_pids = pids(model)
    with serve(model, python=stub) as plain:
        assert plain.base_url != first.base_url
    assert all(map(is_alive, kept_pids)), "a with block does not stop what it has not started"
    (model / "model.safetensors").write_bytes(b"trained")
    assert keeper(model, stub)._find() is None
    assert main(["serve", str(model), "--stop"]) == 0
    assert not any(map(is_alive, kept_pids))


def test_another_process_that_looks_so_is_no_server(
    tmp_path: Path, stub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of another user or kind; or one that may not be used yet, or no more."""
    server = keeper(model_folder(tmp_path), stub)
    name = server.start().name
    found = server.lasting
    assert found is not None and process.find_kept(name) == found
    notice = process.notice_of("m", "m", "http://127.0.0.1:9/v1", Path("log"))
    for words in ("7", "[]", "{", notice.replace("idle_s", "idle"), notice):
        command = [sys.executable, "-I", "-c", "input()", words]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as bystander:
            assert list(process.all_kept()) == [found], words
            bystander.communicate(b"\n")
    with monkeypatch.context() as patch:
        patch.setattr(os, "getuid", lambda: 12345)
        assert process.find_kept(name) is None
    found.stop()
    assert process.find_kept(name) is None and not found.is_alive


@pytest.mark.parametrize("how", ["stopped", "died"])
def test_a_long_run_gets_a_new_server_if_its_own_is_gone(tmp_path: Path, stub: Path, how: str) -> None:
    """As an assistant's, which may ask again after hours."""
    model = model_folder(tmp_path)
    server = keeper(model, stub)
    server.complete(HELLO)
    before, first = pids(model), server.lasting
    assert first is not None
    if how == "stopped":
        first.stop()
    else:
        os.kill(before[0], signal.SIGKILL)
        wait_until(lambda: not first.is_listed)
    server.complete(HELLO)
    assert pids(model) != before and server.lasting != first and all(map(is_alive, pids(model)))


@pytest.mark.long
def test_an_idle_server_makes_room_on_a_gpu(tmp_path: Path, stub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each server takes most of a GPU's memory, so the next one could not start."""
    idle, busy, third = (model_folder(tmp_path, name) for name in ("idle", "busy", "third"))
    (busy / ".open").touch()
    for model in (idle, busy):
        keeper(model, stub).start()
    monkeypatch.setattr("atlaskit.models.serving.server.fitting_build", lambda: "serve-gpu")
    with serve(third, python=stub):
        assert not any(map(is_alive, pids(idle))) and all(map(is_alive, pids(busy)))
    (busy / ".open").unlink()


def test_what_is_to_be_stopped_is_named(tmp_path: Path, stub: Path, capsys: pytest.CaptureFixture[str]) -> None:
    models = [model_folder(tmp_path, name) for name in ("one", "other")]
    names = [keeper(model, stub).start().name for model in models]
    assert main(["serve", str(models[0]), "--stop"]) == 0
    assert not any(map(is_alive, pids(models[0]))) and all(map(is_alive, pids(models[1])))
    assert main(["serve", str(models[0]), "--stop"]) == 0
    assert main(["serve", "--stop"]) == 0
    assert not any(map(is_alive, pids(models[1])))
    assert main(["serve", "--stop"]) == 0
    stopped, none_of_it, other, none = capsys.readouterr().out.splitlines()
    assert stopped.startswith(f"The server of {names[0]} at http") and other.startswith(f"The server of {names[1]} at")
    assert none_of_it == f"No server of {models[0]} was left running." and none == "No server was left running."
    assert main(["serve"]) == 2
    assert "needs a model" in capsys.readouterr().err
