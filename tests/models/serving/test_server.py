"""Starting, stopping and keeping a server: a stand-in for vLLM; tests/server has real ones."""

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.asking import ask
from support.loopback import loopback
from support.parallel import wait_until
from support.servers import HELLO, is_alive, model_folder, pids, wait_until_gone, wait_until_started

from atlaskit.__main__ import main
from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError, Unrecorded
from atlaskit.models.names import served_name
from atlaskit.models.protocol import ModelError, ServerError
from atlaskit.models.serving import process, supervisor
from atlaskit.models.serving.process import free_port
from atlaskit.models.serving.server import Server, as_model, serve
from atlasworld import World


def test_a_with_block_starts_the_server_and_stops_all_its_processes(tmp_path: Path, stub: Path) -> None:
    model = model_folder(tmp_path)
    server = serve(model, python=stub)
    with server as vlm:
        assert vlm.name == served_name(str(model)) and vlm.base_url.startswith("http://127.0.0.1:")
        assert vlm.dialect.name == "vllm"
        assert all(map(is_alive, pids(model)))
    assert not any(map(is_alive, pids(model)))
    assert server.log is not None and not server.log.exists()
    with pytest.raises(KeyboardInterrupt), server:
        raise KeyboardInterrupt
    assert not any(map(is_alive, pids(model))) and server.log.exists()


def test_a_server_that_ignores_sigterm_is_killed(tmp_path: Path, stub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_folder(tmp_path, "stubborn")
    source = Path(supervisor.__file__ or "").read_text()
    assert "from atlaskit" not in source, "it runs alone, with the standard library"
    impatient = tmp_path / "supervisor.py"
    impatient.write_text(source.replace("GRACE_S = 15.0", "GRACE_S = 0.5"))
    monkeypatch.setattr(supervisor, "__file__", str(impatient))
    with serve(model, python=stub):
        pass
    assert not any(map(is_alive, pids(model)))


START = """
import sys, time
from atlaskit.models.serving.server import serve
server = serve(sys.argv[1], python=sys.argv[2])
server.start()
print("ready", flush=True)
time.sleep(600)
"""


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("when", ["serving", "starting"])
def test_the_server_ends_with_the_process_that_started_it(
    tmp_path: Path, stub: Path, number: signal.Signals, when: str
) -> None:
    """As when a kernel is restarted, a terminal is closed, or Ctrl-C is pressed."""
    model = model_folder(tmp_path, "model" if when == "serving" else "slow")
    command = [sys.executable, "-c", START, str(model), str(stub)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as user:
        assert user.stdout is not None
        if when == "serving":
            assert user.stdout.readline() == "ready\n"
        wait_until_started(model)
        user.send_signal(number)
    wait_until_gone(model)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("broken", "did not start: The weights are of another shape"), ("slow", "not ready within 1 s")],
)
def test_a_start_that_fails_is_one_sentence_and_leaves_only_its_log(
    tmp_path: Path, stub: Path, monkeypatch: pytest.MonkeyPatch, name: str, reason: str
) -> None:
    monkeypatch.setattr("atlaskit.models.serving.process.START_S", 1.0 if name == "slow" else 60.0)
    model = model_folder(tmp_path, name)
    server = serve(model, python=stub)
    with pytest.raises(ServerError, match=reason) as caught:
        server.start()
    assert str(server.log) in str(caught.value) and "\n" not in str(caught.value)
    assert server.log is not None and server.log.exists() and not server.is_ours
    wait_until_gone(model)


def test_running_a_line_twice_starts_one_server(tmp_path: Path, stub: Path) -> None:
    """As in a notebook cell. The server can be stopped although the first object is gone."""
    model = model_folder(tmp_path)
    first = serve(model, python=stub).start()
    first_pids = pids(model)
    assert serve(model, python=stub).start() is first and pids(model) == first_pids
    assert not as_model(str(model), keep=True).keeps, "what others use stays as it is"
    with serve(model, python=stub) as inside:
        assert inside is first
    assert all(map(is_alive, first_pids)), "a with block does not stop a server that start() started"
    serve(model, python=stub).stop()
    assert not any(map(is_alive, first_pids))
    (model / "model.safetensors").write_bytes(b"trained")
    with serve(model, python=stub) as trained:
        assert trained.name != first.name


def test_files_in_the_working_directory_do_not_hide_libraries(
    tmp_path: Path, stub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_folder(tmp_path)
    (tmp_path / "queue.py").write_text("raise RuntimeError('not the library')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("VLLM_API_KEY", "locked")
    with serve(model, python=stub):
        environment = Path(f"/proc/{pids(model)[0]}/environ").read_bytes().split(b"\0")
    assert b"PYTHONSAFEPATH=1" in environment and not [word for word in environment if word.startswith(b"VLLM_API_KEY")]


def test_a_running_endpoint_is_used(tmp_path: Path, stub: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with loopback() as running:
        running.models = [{"id": "some/loop", "owned_by": "vllm"}]
        with serve(running.url) as vlm:
            assert (vlm.base_url, vlm.name) == (running.url, "some/loop")
        port = int(running.url.split(":")[2].split("/")[0])
        with serve("some/loop", port=port) as vlm:
            assert vlm.base_url == running.url
        assert "runs already" in capsys.readouterr().err
        with pytest.raises(InputError, match=rf"Port {port} serves some/loop"):
            serve(model_folder(tmp_path), python=stub, port=port).start()


@pytest.mark.long
def test_the_command_line_serves_until_ctrl_c(tmp_path: Path, stub_environment: dict[str, str]) -> None:
    model = model_folder(tmp_path)
    command = [sys.executable, "-m", "atlaskit", "serve", str(model), "--port", str(free_port())]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    user = subprocess.Popen([*command, "--vllm=--max-num-seqs 8"], env=stub_environment, **pipes)
    assert user.stdout is not None
    assert re.fullmatch(
        r"model@\w+ is served at http://127\S+/v1; Ctrl-C stops it. Its log is .*\n", user.stdout.readline()
    )
    assert b"--max-num-seqs\x008" in Path(f"/proc/{pids(model)[0]}/cmdline").read_bytes()
    user.send_signal(signal.SIGINT)
    stdout, stderr = user.communicate(timeout=60)
    assert user.returncode == 0 and stdout == "The server has stopped.\n"
    assert stderr.startswith("▸ starting vLLM with model@") and "✓ vLLM serves" in stderr and "Traceback" not in stderr
    assert not any(map(is_alive, pids(model)))


def test_a_server_is_a_model_that_starts_at_its_first_call(
    tmp_path: Path, stub: Path, world: World, cache: Cache
) -> None:
    server = serve(model_folder(tmp_path, "nano"), python=stub)
    with pytest.raises(Unrecorded):
        ask(world.drawn, world.questions[0], vlm=server, cache=cache, replay=True)
    assert not server.is_ours, "a replay makes no call"
    with pytest.raises(ModelError, match="127.0.0.1"):  # the stand-in reads no grammar, as nano gets one
        server.complete(HELLO, max_attempts=1)
    assert server.is_ours
    assert server.vlm is not None and (server.vlm.name, server.vlm.parameters) == (server.name, server.parameters)
    server.stop()


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
    assert any(tmp_path.glob("**/server.log"))
    second = ask("What is blue?")
    assert pids(model) == before and all(map(is_alive, before))
    assert "starting vLLM" in first and f"using the server of {name} that was kept" in second
    stop = second.rpartition("this stops it: ")[2]
    assert f"The server of {name} at http://127.0.0.1:" in run(*shlex.split(stop)).stdout
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
