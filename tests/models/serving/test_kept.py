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
from pathlib import Path

import pytest
from support.parallel import wait_until
from support.servers import HELLO, is_alive, model_folder, pids, wait_until_gone

from atlaskit.__main__ import main
from atlaskit.models.names import served_name
from atlaskit.models.serving import process
from atlaskit.models.serving.server import Server, serve


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


def test_the_next_question_is_answered_by_the_server_of_the_last_one(
    tmp_path: Path, film_file: Path, stub_environment: dict[str, str]
) -> None:
    model = model_folder(tmp_path)
    name = served_name(str(model))

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, env=stub_environment, capture_output=True, text=True)

    def ask(question: str) -> str:
        asked = [str(film_file), question, "--model", str(model), "--cache", str(tmp_path / "cache")]
        done = run(sys.executable, "-m", "atlaskit", "ask", *asked, "--calls", "4", "--cell", "32", "--k", "4")
        assert done.returncode == 0, done.stderr
        return done.stderr

    first = ask("What is red?")
    before = pids(model)
    second = ask("What is blue?")
    assert pids(model) == before and all(map(is_alive, before))
    assert "starting vLLM" in first and f"using the server of {name} that was kept" in second
    (stop,) = re.findall(
        rf"\natlaskit: the server of {name} stays for the next question, until 10 minutes after the last one; "
        rf"this stops it: (.* serve {re.escape(str(model))} --stop)\n$",
        second,
    )
    stopped = run(*shlex.split(stop)).stdout
    assert re.fullmatch(rf"The server of {name} at http://127\.0\.0\.1:\d+/v1 has stopped\.\n", stopped)
    wait_until_gone(model)
    assert not any(process.all_kept()) and not any(tmp_path.glob("**/server.log"))


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
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [process.communicate(timeout=60) for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    assert len({stdout for stdout, _ in outputs}) == 1
    assert sorted("starting vLLM" in stderr for _, stderr in outputs) == [False, True]


def test_a_kept_server_is_for_those_who_share_it_and_is_stopped_by_its_name(
    tmp_path: Path, stub: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only `ask` and the server of assistants share one, and only of the same weights."""
    one = model_folder(tmp_path, "one")
    other = model_folder(tmp_path, "other")
    first, second = (keeper(model, stub).start() for model in (one, other))
    with serve(one, python=stub) as plain:
        assert plain.base_url != first.base_url
        assert keeper(one, stub)._find() is not None
    (other / "model.safetensors").write_bytes(b"trained")
    assert keeper(other, stub)._find() is None
    capsys.readouterr()
    for words in ([str(one), "--stop"], [str(one), "--stop"], ["--stop"], ["--stop"]):
        assert main(["serve", *words]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"The server of {first.name} at {first.base_url} has stopped.",
        f"No server of {one} was left running.",
        f"The server of {second.name} at {second.base_url} has stopped.",
        "No server was left running.",
    ]
    assert not any(map(is_alive, [*pids(one), *pids(other)]))
    assert main(["serve"]) == 2
    assert "needs a model" in capsys.readouterr().err


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


def test_a_long_run_gets_a_new_server_if_its_own_is_gone(tmp_path: Path, stub: Path) -> None:
    """As an assistant's, which may ask again after hours."""
    model = model_folder(tmp_path)
    server = keeper(model, stub)
    server.complete(HELLO)
    before = pids(model)
    first = server.lasting
    assert first is not None
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
