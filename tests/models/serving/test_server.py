"""Starting and stopping a server, with a stand-in for vLLM: what needs the real one is in test_server.py."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from support.loopback import loopback
from support.paths import SUPPORT, TESTS

from atlaskit.agents.search import ask
from atlaskit.benchmarks.atlasworld import World
from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError, Unrecorded
from atlaskit.models.errors import ModelError, ServerError
from atlaskit.models.presets import NANO, is_nano
from atlaskit.models.protocol import MOST_IMAGES, Message, Request
from atlaskit.models.serving import install, supervisor
from atlaskit.models.serving.log import reason_in, stage
from atlaskit.models.serving.server import SHIPPED, Server, ServerFlags, serve, served_name
from atlaskit.runs.events import Event

ROOM = sys.modules["atlaskit.models.serving.server"]  # the package's own `serve` is the function


@pytest.fixture(autouse=True)
def _no_pictures_are_left(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Images on their way to a server lie in a folder that goes with it, however it goes."""
    temporary = tmp_path_factory.mktemp("tmp")
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr("tempfile.tempdir", None)
    yield
    until_s = time.monotonic() + 30.0
    while left := list(temporary.glob("atlaskit-serve-*/media")):
        assert time.monotonic() < until_s, left
        time.sleep(0.05)


@pytest.fixture
def stub(tmp_path: Path) -> Path:
    """An interpreter that behaves as tests/support/stub_vllm.py."""
    path = tmp_path / "python"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{SUPPORT / "stub_vllm.py"}" "$@"\n')
    path.chmod(0o755)
    return path


class Bare(BaseModel):
    """The form of an answer of which nothing is asked."""


def folder(tmp_path: Path, name: str = "model") -> Path:
    path = tmp_path / name
    path.mkdir()
    (path / "config.json").write_text("{}")
    return path


def alive(pid: int) -> bool:
    """Whether a process runs: one that ended and is not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def pids(model: Path) -> list[int]:
    return [int(pid) for pid in (model / ".pids").read_text().split()]


def wait_until_there(model: Path, user: subprocess.Popen[str]) -> None:
    until_s = time.monotonic() + 60.0
    while not (model / ".pids").exists() or len((model / ".pids").read_text().split()) < 2:
        assert user.poll() is None and time.monotonic() < until_s
        time.sleep(0.05)


def wait_until_gone(model: Path, within_s: float = 30.0) -> None:
    until_s = time.monotonic() + within_s
    while any(map(alive, pids(model))):
        assert time.monotonic() < until_s, f"left behind: {pids(model)}"
        time.sleep(0.05)


def quiet(model: Path | str, stub: Path, **options: object) -> Server:
    return serve(model, python=stub, progress=False, **options)  # type: ignore[arg-type]


def test_a_block_starts_the_server_and_stops_all_of_it(tmp_path: Path, stub: Path) -> None:
    model = folder(tmp_path)
    server = quiet(model, stub)
    with server as vlm:
        assert vlm.name == served_name(str(model)) and vlm.base_url.startswith("http://127.0.0.1:")
        assert vlm.dialect.name == "vllm" and vlm.dialect.media and vlm.dialect.media.is_dir()
        assert all(map(alive, pids(model)))
        media = vlm.dialect.media
    assert not any(map(alive, pids(model)))
    assert not media.exists() and server.log is not None and not server.log.exists()


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_it_is_stopped_whatever_ends_the_block(tmp_path: Path, stub: Path, error: type[BaseException]) -> None:
    model = folder(tmp_path)
    with pytest.raises(error), quiet(model, stub):
        raise error
    assert not any(map(alive, pids(model)))


def test_one_that_does_not_listen_is_made_to_stop(tmp_path: Path, stub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = folder(tmp_path, "stubborn")
    source = Path(supervisor.__file__ or "").read_text()
    hasty = tmp_path / "keeper.py"
    hasty.write_text(source.replace("GRACE_S = 15.0", "GRACE_S = 0.5"))
    monkeypatch.setattr(supervisor, "__file__", str(hasty))
    with quiet(model, stub):
        pass
    assert not any(map(alive, pids(model)))


START = """
    import sys, time
    from atlaskit.models.serving.server import serve
    server = serve({model!r}, python={stub!r}, progress=False)
    server.start()
    print("ready", flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("when", ["serving", "starting"])
def test_no_orphans(tmp_path: Path, stub: Path, number: signal.Signals, when: str) -> None:
    """A kernel that is restarted, a terminal that is closed, a Ctrl-C: the server goes with its user."""
    model = folder(tmp_path, "model" if when == "serving" else "slow")
    code = textwrap.dedent(START.format(model=str(model), stub=str(stub)))
    user = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert user.stdout is not None
    if when == "serving":
        assert user.stdout.readline() == "ready\n"
    else:
        wait_until_there(model, user)
    assert all(map(alive, pids(model)))
    user.send_signal(number)
    user.wait(30)
    wait_until_gone(model)
    user.stdout.close()


def test_a_failure_is_told_in_its_own_words(tmp_path: Path, stub: Path) -> None:
    model = folder(tmp_path, "broken")
    server = quiet(model, stub)
    with pytest.raises(ServerError, match="did not start: The weights are of another shape") as caught:
        server.start()
    assert str(server.log) in str(caught.value) and "\n" not in str(caught.value)
    assert not any(map(alive, pids(model)))


def test_one_that_takes_too_long_is_given_up(tmp_path: Path, stub: Path) -> None:
    server = quiet(folder(tmp_path, "slow"), stub, start_s=2.0)
    with pytest.raises(ServerError, match=r"not ready within 2 s"):
        server.start()
    assert server.log is not None and server.log.exists() and not server.is_ours


def test_a_death_is_noticed_and_the_next_start_brings_another(tmp_path: Path, stub: Path) -> None:
    model = folder(tmp_path, "mortal")
    server = quiet(model, stub)
    first = server.start()
    with pytest.raises(ServerError, match="has died: it was killed"):
        server.wait()
    wait_until_gone(model)
    second = server.start()
    assert second is not first and second.name == first.name
    server.stop()
    wait_until_gone(model)


def test_a_line_that_is_run_twice_starts_one_server(tmp_path: Path, stub: Path) -> None:
    """As a cell of a notebook is; and it can still be stopped when the first result is gone."""
    model = folder(tmp_path)
    first = quiet(model, stub).start()
    begun = pids(model)
    assert quiet(model, stub).start() is first and pids(model) == begun
    with quiet(model, stub) as inside:
        assert inside is first
    assert all(map(alive, begun)), "a block does not end what it did not begin"
    quiet(model, stub).stop()
    assert not any(map(alive, begun))
    (model / "model.safetensors").write_bytes(b"trained")
    with quiet(model, stub) as trained:
        assert trained.name != first.name


def test_a_server_that_is_started_again_has_the_name_of_what_it_serves_then(tmp_path: Path, stub: Path) -> None:
    model = folder(tmp_path)
    server = quiet(model, stub)
    with server as first:
        pass
    (model / "model.safetensors").write_bytes(b"trained")
    with server as second:
        assert second.name == served_name(str(model)) != first.name


def test_an_inner_block_does_not_end_an_outer_ones_server(tmp_path: Path, stub: Path) -> None:
    model = folder(tmp_path)
    with quiet(model, stub) as outer:
        with quiet(model, stub) as inner:
            assert inner is outer
        assert all(map(alive, pids(model)))
    assert not any(map(alive, pids(model)))


def test_starts_from_several_threads_start_one(tmp_path: Path, stub: Path) -> None:
    model = folder(tmp_path)
    server = quiet(model, stub)
    with ThreadPoolExecutor(4) as pool:
        assert len({vlm.base_url for vlm in pool.map(lambda _: server.start(), range(4))}) == 1
    server.stop()
    wait_until_gone(model)


def test_a_stop_ends_a_start(tmp_path: Path, stub: Path) -> None:
    model = folder(tmp_path, "slow")
    server = quiet(model, stub)
    with ThreadPoolExecutor(1) as pool:
        starting = pool.submit(server.start)
        until_s = time.monotonic() + 30
        while not server.is_ours and time.monotonic() < until_s:
            time.sleep(0.05)
        server.stop()
        with pytest.raises(ServerError, match="was stopped"):
            starting.result(30)
    if (model / ".pids").exists():
        wait_until_gone(model)


def test_a_stop_during_the_installation_is_not_lost(
    tmp_path: Path, stub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, server = folder(tmp_path), None

    def installing(*_: object, **__: object) -> str:
        assert server is not None
        server.stop()
        return str(stub)

    monkeypatch.setattr("atlaskit.models.serving.install.interpreter", installing)
    server = serve(model, progress=False)
    with pytest.raises(ServerError, match="stopped before it was started"):
        server.start()
    assert not server.is_ours and not (model / ".pids").exists()


def test_two_models_at_once_are_told_apart(tmp_path: Path, stub: Path) -> None:
    models = [folder(tmp_path, name) for name in ("one", "other")]
    servers = [quiet(model, stub) for model in models]
    first, second = (server.start() for server in servers)
    assert quiet(models[0], stub).start() is first and quiet(models[1], stub).start() is second
    quiet(models[0], stub).stop()
    assert not any(map(alive, pids(models[0]))) and all(map(alive, pids(models[1])))
    servers[1].stop()


def test_a_start_that_failed_leaves_no_server_for_the_next_block_to_forget(tmp_path: Path, stub: Path) -> None:
    model = folder(tmp_path, "broken")
    server = quiet(model, stub)
    with pytest.raises(ServerError):
        server.start()
    server.model = str(folder(tmp_path))
    with server:
        pass
    assert not server.is_ours and not any(map(alive, pids(Path(server.model))))


def test_a_keeper_that_is_killed_leaves_nothing_either(tmp_path: Path, stub: Path) -> None:
    model = folder(tmp_path)
    server = quiet(model, stub)
    server.start()
    assert server._keeper is not None
    server._keeper.kill()
    until_s = time.monotonic() + 30
    while alive(pids(model)[0]):
        assert time.monotonic() < until_s
        time.sleep(0.05)
    os.kill(pids(model)[1], signal.SIGKILL)  # the stand-in's engine, which vLLM itself would have ended
    server.stop()


def test_what_lies_beside_a_notebook_is_not_taken_for_the_library(
    tmp_path: Path, stub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = folder(tmp_path)
    (tmp_path / "queue.py").write_text("raise RuntimeError('not the library')")
    (tmp_path / "vllm").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("VLLM_API_KEY", "locked")
    with quiet(model, stub):
        environment = Path(f"/proc/{pids(model)[0]}/environ").read_bytes().split(b"\0")
    assert b"PYTHONSAFEPATH=1" in environment and not [word for word in environment if word.startswith(b"VLLM_API_KEY")]
    assert not importable_vllm()


def importable_vllm() -> bool:
    found = importlib.util.find_spec("vllm")
    return found is not None and found.origin is not None


def test_an_endpoint_that_runs_is_used_as_it_is(tmp_path: Path, stub: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with loopback() as running:
        with serve(running.url) as vlm:
            assert (vlm.base_url, vlm.name) == (running.url, "loop")
        port = int(running.url.split(":")[2].split("/")[0])
        with serve("loop", port=port) as vlm:
            assert vlm.base_url == running.url
        assert "runs already" in capsys.readouterr().err
        with pytest.raises(InputError, match=rf"Port {port} serves loop"):
            quiet(folder(tmp_path), stub, port=port).start()


def test_nano_is_known_wherever_its_folder_lies_and_whatever_it_is_called(tmp_path: Path) -> None:
    """Asked like any other model, it says nothing that makes sense: its tokens go on where a form's words end."""
    mine = tmp_path / "mine"
    shutil.copytree(SHIPPED["nano"], mine)
    assert is_nano(served_name(str(mine))) and served_name(str(mine)) == served_name(str(SHIPPED["nano"]))
    (mine / "model-00001-of-00002.safetensors").write_bytes(b"trained on")
    assert is_nano(served_name(str(mine))) and served_name(str(mine)) != served_name(str(SHIPPED["nano"]))
    (mine / "chat_template.jinja").write_text("{{ messages }}")
    assert served_name(str(mine)).startswith("mine@"), "which is asked in other words"


def test_any_folder_has_its_name_where_the_shipped_weights_are_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SHIPPED, "nano", tmp_path / "gone")
    model = folder(tmp_path)
    assert served_name(str(model)).startswith("model@"), "neither has a template"
    (model / "chat_template.jinja").write_text("{{ messages }}")
    assert served_name(str(model)).startswith("model@")


def test_a_folder_that_was_trained_on_is_another_model(tmp_path: Path) -> None:
    model = folder(tmp_path)
    first = served_name(str(model))
    assert first.startswith("model@")
    (model / "model.safetensors").write_bytes(b"1")
    second = served_name(str(model))
    (tmp_path / "there").mkdir()
    moved = model.rename(tmp_path / "there" / "model")
    (moved / "README.md").write_text("A model card.")
    assert first != second == served_name(str(moved)), "what is written of it changes no reply"
    assert served_name("Qwen/Qwen3-VL-8B-Instruct") == "Qwen/Qwen3-VL-8B-Instruct"
    names = {served_name(str(moved), arguments) for arguments in ((), ("--dtype", "float16"), ("--dtype", "float32"))}
    assert len(names) == 3 and second in names
    assert served_name("a/model", ["--dtype", "float16"]).startswith("a/model@")


@pytest.mark.parametrize("model", ["/nowhere/at/all", "./nothing", " ", "~/no such model"])
def test_a_model_that_is_not_there_is_one_sentence(model: str) -> None:
    with pytest.raises(InputError, match="no model folder") as caught:
        serve(model)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "options", [{"tensor_parallel": 0}, {"data_parallel": -1}, {"port": 70000}, {"arguments": ["--api-key=x"]}]
)
def test_what_cannot_be_served(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        serve("some/model", **options)


def flags_of(command: list[str]) -> dict[str, str]:
    return {word: after for word, after in zip(command, [*command[1:], ""], strict=True) if word.startswith("--")}


def test_the_flags(tmp_path: Path) -> None:
    flags = ServerFlags(tensor_parallel=2, data_parallel=4, arguments=("--max-model-len", "32768"))
    gpu = flags.command("python", "a/model", "name", 8123, tmp_path, "serve-gpu")
    told = flags_of(gpu)
    assert gpu[:3] == ["python", "-m", "vllm.entrypoints.openai.api_server"]
    assert (told["--model"], told["--served-model-name"], told["--port"]) == ("a/model", "name", "8123")
    assert (told["--host"], told["--seed"]) == ("127.0.0.1", "0")
    assert (told["--tensor-parallel-size"], told["--data-parallel-size"]) == ("2", "4")
    assert json.loads(told["--limit-mm-per-prompt"]) == {"image": MOST_IMAGES}
    assert json.loads(told["--structured-outputs-config"])["disable_any_whitespace"] is True
    assert told["--allowed-local-media-path"] == str(tmp_path)
    assert {"--enable-prefix-caching", "--enable-prompt-tokens-details"} <= told.keys()
    # The user's word is the last.
    assert told["--max-model-len"] == "32768" and gpu[-2:] == [
        "--max-model-len",
        "32768",
    ]
    assert not {"--enforce-eager", "--dtype"} & told.keys()
    cpu = flags_of(ServerFlags().command("python", "a/model", "name", 8123, tmp_path, "serve-cpu"))
    assert cpu["--dtype"] == install.quick_dtype() and "--enforce-eager" in cpu


@pytest.mark.parametrize("has_compiler", [True, False])
def test_nano_is_compiled_where_there_is_a_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_compiler: bool
) -> None:
    monkeypatch.setattr(install, "compiles", lambda: has_compiler)
    told = [
        flags_of(ServerFlags().command("python", "a/model", name, 8123, tmp_path, "serve-cpu"))
        for name in ("nano@0123456789ab", "other@0123456789ab")
    ]
    assert ["--enforce-eager" in each for each in told] == [not has_compiler, True]


def test_a_compiler_is_one_that_compiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is tried: one that is not there, or that fails, is none."""
    install.compiles.cache_clear()
    try:
        for name, script in (("none", None), ("fails", "#!/bin/sh\nexit 1\n"), ("works", "#!/bin/sh\nexit 0\n")):
            if script is not None:
                (tmp_path / name).write_text(script)
                (tmp_path / name).chmod(0o755)
            monkeypatch.setenv("CXX", str(tmp_path / name))
            assert install.compiles() == (name == "works")
            install.compiles.cache_clear()
    finally:
        install.compiles.cache_clear()


@pytest.mark.parametrize(
    ("told", "dtype"),
    [
        ("flags\t\t: fpu sse2 avx2\n", "float32"),
        ("flags\t\t: fpu sse2 avx2 avx512f avx512bw\n", "bfloat16"),
        ("Features\t: fp asimd bf16\n", "bfloat16"),
        (None, "bfloat16"),
    ],
)
def test_a_processor_is_given_the_numbers_it_is_quick_with(tmp_path: Path, told: str | None, dtype: str) -> None:
    if told is not None:
        (tmp_path / "cpuinfo").write_text(told)
    assert install.quick_dtype(tmp_path / "cpuinfo") == dtype


LOGS = {
    "api_server.py: error: unrecognized arguments: --bogus-flag": "unrecognized arguments: --bogus-flag",
    "OSError: [Errno 98] Address already in use": "[Errno 98] Address already in use",
    "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n"
    "  Value error, max_model_len (99999999) is too large. [type=value_error, input_value=1]\n"
    "    For further information visit https://errors.pydantic.dev": "max_model_len (99999999) is too large",
    "(APIServer pid=1) ERROR 11-21 16:25:44 [registry.py:1120] ModuleNotFoundError: No module named 'torchvision'\n"
    "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n"
    "  Value error, Model architectures ['X'] failed to be inspected. Please check the logs. [type=value_error]\n"
    "": "No module named 'torchvision'",
    "(EngineCore pid=3) ERROR 11-21 16:28:02 [core.py:1510] ValueError: the cache is too small.\n"
    "RuntimeError: Engine core initialization failed. See root cause above.": "the cache is too small",
    "INFO: all is well": "",
}


@pytest.mark.parametrize("log", LOGS)
def test_the_reason_in_a_log(log: str) -> None:
    """Lines that vLLM 0.32 wrote here."""
    assert reason_in(log) == LOGS[log]


def test_how_far_it_has_come(tmp_path: Path) -> None:
    log = tmp_path / "log"
    told = []
    for line in ("", "INFO Resolved architecture: X\n", "Starting to load model\n", "Route: /health, Methods: GET\n"):
        with log.open("a") as file:
            file.write(line)
        told.append(stage(log))
    assert told == ["importing vLLM", "reading the model's configuration", "loading the weights", "opening the port"]


@pytest.fixture
def with_vllm(tmp_path: Path) -> dict[str, str]:
    """An environment in which this interpreter has a vLLM: the stand-in."""
    package = tmp_path / "packages" / "vllm" / "entrypoints" / "openai"
    package.mkdir(parents=True)
    for folder_above in (package, package.parent, package.parent.parent):
        (folder_above / "__init__.py").write_text("")
    (package / "api_server.py").write_text("import sys\nfrom support.stub_vllm import main\nmain(sys.argv[1:])\n")
    return {**os.environ, "PYTHONPATH": f"{tmp_path / 'packages'}{os.pathsep}{TESTS}"}


def test_the_command_line_serves_until_it_is_told_to_stop(tmp_path: Path, with_vllm: dict[str, str]) -> None:
    model = folder(tmp_path)
    command = [sys.executable, "-m", "atlaskit", "serve", str(model), "--port", str(ROOM._free_port())]
    user = subprocess.Popen(
        [*command, "--vllm=--max-num-seqs 8"], env=with_vllm, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert user.stdout is not None
    assert re.fullmatch(
        r"model@\w+ answers at http://127\S+/v1; Ctrl-C stops it. Its log is .*\n", user.stdout.readline()
    )
    assert b"--max-num-seqs\x008" in Path(f"/proc/{pids(model)[0]}/cmdline").read_bytes()
    user.send_signal(signal.SIGINT)
    said, told = user.communicate(timeout=60)
    assert user.returncode == 0 and said == "The server is stopped.\n"
    assert told.startswith("▸ starting vLLM with model@") and "✓ vLLM serves" in told and "Traceback" not in told
    assert not any(map(alive, pids(model)))


def test_a_mistake_on_the_command_line_is_one_sentence(tmp_path: Path, with_vllm: dict[str, str]) -> None:
    for model, sentence in {"./nothing": "no model folder", str(folder(tmp_path, "broken")): "did not start"}.items():
        done = subprocess.run(
            [sys.executable, "-m", "atlaskit", "serve", model, "--port", str(ROOM._free_port())],
            env=with_vllm,
            capture_output=True,
            text=True,
            cwd=tmp_path,
        )
        assert done.returncode == 2 and "Traceback" not in done.stderr
        assert done.stderr.splitlines()[-1].startswith("atlaskit: ") and sentence in done.stderr


@pytest.fixture(autouse=True)
def _nobody_on_the_usual_port(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """So that a server that someone runs while testing is not taken for one of ours."""
    monkeypatch.setattr(ROOM, "USUAL_PORT", 9)
    yield


def test_the_keeper_needs_only_python() -> None:
    source = Path(supervisor.__file__ or "").read_text()
    assert "atlaskit" not in source.partition('"""')[2].partition('"""')[2]


def test_a_server_is_a_model_and_starts_when_it_is_asked(
    tmp_path: Path, stub: Path, world: World, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(folder(tmp_path, "nano"), python=stub, progress=False)
    started: list[dict[str, Any]] = []

    def noted(event: Event) -> None:
        if event.kind == "start":
            started.append(event.data["settings"])

    with pytest.raises(Unrecorded):
        ask(world.drawn, world.questions[0], vlm=server, cache=cache, replay=True, on_event=noted)
    assert not server.is_ours, "a replay asks nothing"
    asked = {name: started[0][name] for name in ("k", "cell", "steps", "plateau", "model")}
    assert asked == {**asdict(NANO), "model": server.name}, "it goes by the name what suits a model"
    with pytest.raises(ModelError, match="127.0.0.1"):  # the stand-in has no model
        server.complete(Request("master", "task", (Message("user", ("Hello.",)),), Bare), max_attempts=1)
    assert server.is_ours
    assert server.vlm is not None and (server.vlm.name, server.vlm.parameters) == (server.name, server.parameters)
    server.stop()
