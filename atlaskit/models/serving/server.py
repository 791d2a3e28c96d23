"""A local vLLM server in one line: start it, wait until it answers, stop it and all of its processes.

Knows vLLM's flags and the words of its failures; what is asked of the model is others' business.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Unpack
from urllib.parse import urlsplit

from atlaskit.errors import InputError, printable, reason
from atlaskit.models.client import USUAL, VLM
from atlaskit.models.dialect import VLLM
from atlaskit.models.errors import ServerError
from atlaskit.models.http import Endpoint, HttpFailure, parsed
from atlaskit.models.presets import is_nano
from atlaskit.models.protocol import MOST_IMAGES, CallControl, Reply, Request
from atlaskit.models.serving import install
from atlaskit.models.serving import supervisor as keeper_room
from atlaskit.models.serving.log import reason_in, stage
from atlaskit.models.serving.progress import Progress

USUAL_PORT = 8000
"""Where `make serve` puts a server, and where one is looked for that runs already."""
LOOK_S = 0.25
PROSE = {".md", ".csv"}
"""Of files beside a model's weights that tell of it: replies do not depend on them."""
SHIPPED = {"nano": Path(__file__).parents[2] / "nano" / "weights"}
"""Models that come with the kit, by name, and where their weights lie."""
TEMPLATE = "chat_template.jinja"
SETTLED = frozenset({"--model", "--served-model-name", "--host", "--port", "--api-key", "--allowed-local-media-path"})


@dataclass(frozen=True)
class ServerFlags:
    """What a server is started with, beside its model and its place."""

    tensor_parallel: int = 1
    data_parallel: int = 1
    arguments: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("tensor_parallel", "data_parallel"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is at least 1, got {getattr(self, name)}.")
        for argument in self.arguments:
            if argument.partition("=")[0] in SETTLED:
                raise InputError(f"{argument} is settled by the kit, which could not reach the server otherwise.")

    def command(self, python: str, model: str, name: str, port: int, media: Path, build: install.Build) -> list[str]:
        """Return the command that starts the server. Arguments of the user come last, and so win."""
        flags: dict[str, object] = {
            "model": model,
            "served-model-name": name,
            "host": "127.0.0.1",
            "port": port,
            "seed": 0,
            # As long as the memory allows: by default vLLM refuses to start where a model's whole context does not fit.
            "max-model-len": "auto",
            "limit-mm-per-prompt": json.dumps({"image": MOST_IMAGES}),
            "allowed-local-media-path": media,
            # A weak model under a JSON grammar could emit blanks for ever.
            "structured-outputs-config": json.dumps({"backend": "guidance", "disable_any_whitespace": True}),
            "tensor-parallel-size": self.tensor_parallel,
            "data-parallel-size": self.data_parallel,
            "uvicorn-log-level": "warning",
        }
        if build == "serve-cpu":
            flags["dtype"] = install.quick_dtype()
        switches = ["--enable-prefix-caching", "--enable-prompt-tokens-details"]
        # To compile takes half a minute for nano, once, and saves a quarter of each call; a large model would take long
        # to compile, and little of its calls is what that saves.
        if build == "serve-cpu" and not (is_nano(name) and install.compiles()):
            switches.append("--enforce-eager")
        # `vllm serve` of the CPU wheel dies looking up its own version; the module works in both builds.
        start = [python, "-m", "vllm.entrypoints.openai.api_server"]
        return [
            *start,
            *(word for name, value in flags.items() for word in (f"--{name}", str(value))),
            *switches,
            *self.arguments,
        ]


class Server:
    """A vLLM server of one model. A `with` block starts it, gives the `VLM` that leads to it, and stops it.

    One that was started by `start()` runs until `stop()`, also where a block uses it meanwhile. It is a model itself,
    which starts when it is first asked: where all replies are kept already, it never does.
    """

    def __init__(
        self,
        model: str | Path,
        flags: ServerFlags,
        *,
        port: int | None = None,
        python: str | Path | None = None,
        start_s: float = 3600.0,
        in_flight: int | None = None,
        is_quiet: bool = False,
    ) -> None:
        if port is not None and not 0 < port < 2**16:
            raise InputError(f"A port is a number from 1 to 65535, got {port}.")
        self.model, self.flags, self.port = _resolved(str(model)), flags, port
        self.vlm: VLM | None = None
        """The way to the server, while it runs."""
        self.log: Path | None = None
        """What the server says, if it was started here. It goes with a server that is stopped in good order."""
        self._python, self._start_s, self._in_flight, self._is_quiet = python, start_s, in_flight, is_quiet
        self._name = ""
        self._keeper: subprocess.Popen[bytes] | None = None
        self._is_up = False
        self._starting, self._state = threading.Lock(), threading.Lock()
        self._blocks = self._stops = 0
        self._stays = False

    @property
    def name(self) -> str:
        """The name that it serves its model under, as its folder is now; an endpoint is asked for it."""
        if _is_address(self.model):
            return self._way().name
        if not self._name:
            self._name = served_name(self.model, self.flags.arguments)
        return self._name

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What its replies depend on beside the model."""
        return self._way().parameters if _is_address(self.model) else USUAL

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Answer a request; start first, where it does not run yet. Raises as `start` and `VLM.complete` do."""
        return self._way().complete(request, **control)

    def _way(self) -> VLM:
        return self.vlm or self.start()

    @property
    def is_ours(self) -> bool:
        """Whether it was started here and lives, so that it can be stopped here."""
        return self._keeper is not None and self._keeper.poll() is None

    def start(self) -> VLM:
        """Start the server and wait until it answers, or find it running already; start it anew where it has died.

        Raises ServerError, with the server's own reason, where it does not come up.
        """
        vlm = self._up()
        self._stays = True
        return vlm

    def _up(self) -> VLM:
        with self._starting:
            if self._keeper is not None and (not self.is_ours or self._is_gone()):
                self._end(keep_log=True)
            if self._keeper is None:  # one that was found may be gone by now
                stops, self._name = self._stops, ""  # the folder may have been trained on since
                found = self._found() or self._started(stops)
                with self._state:
                    self.vlm = found
                    if self._stops == stops:
                        return found
                self._end(keep_log=False)
            elif (running := self.vlm) is not None:
                return running
            raise ServerError(f"The server of {self.model} was stopped.")

    def _is_gone(self) -> bool:
        """Whether nobody listens any more where the server was: its keeper may not have noticed yet."""
        port = None if self.vlm is None else urlsplit(self.vlm.base_url).port
        return port is not None and _is_free(port)

    def stop(self) -> None:
        """Stop the server and all its processes, if it was started here."""
        with self._state:
            self._stays, self._stops = False, self._stops + 1
        self._end(keep_log=False)

    def _end(self, *, keep_log: bool) -> None:
        with self._state:
            keeper, self._keeper, self.vlm = self._keeper, None, None
            was_well, self._is_up = self._is_up and keeper is not None and keeper.poll() is None, False
        if keeper is None:
            return
        keeper.terminate()
        keeper.wait()
        if self.log is not None:
            done_with = self.log.parent if was_well and not keep_log else self.log.parent / "media"
            shutil.rmtree(done_with, ignore_errors=True)

    def wait(self) -> None:
        """Wait until the server, started here, is stopped; raise ServerError when it dies."""
        while (keeper := self._keeper) is not None:
            if keeper.poll() is not None:
                raise self._failure("has died", keeper)
            time.sleep(LOOK_S)

    def _found(self) -> VLM | None:
        """Return the way to a server of this model that runs already."""
        if _is_address(self.model):
            return VLM(self.model, in_flight=self._in_flight)
        port = self.port or USUAL_PORT
        url = f"http://127.0.0.1:{port}/v1"
        served = _served(url)
        if self.name in served:
            Progress(f"taking the server of {self.name} that runs already at {url}", self._is_quiet)
            return VLM(url, self.name, in_flight=self._in_flight)
        if self.port is not None and not _is_free(self.port):
            there = f"serves {', '.join(served)}" if served else "is taken"
            raise InputError(f"Port {self.port} {there}: name another, or none for one that is free.")
        return None

    def _started(self, stops: int) -> VLM:
        build = install.fitting_build()
        python = str(self._python or install.interpreter(build, is_quiet=self._is_quiet))
        port = self.port or _free_port()
        try:
            folder = Path(tempfile.mkdtemp(prefix="atlaskit-serve-"))
            self.log, media = folder / "server.log", folder / "media"
            media.mkdir()
            command = self.flags.command(python, self.model, self.name, port, media, build)
            kept = [sys.executable, "-I", keeper_room.__file__, str(os.getpid()), str(media), *command]
            with self.log.open("wb") as log, self._state:
                if self._stops != stops:
                    shutil.rmtree(folder, ignore_errors=True)
                    raise ServerError(f"The server of {self.model} was stopped before it was started.")
                # In a session of its own: a Ctrl-C is meant for us, and the server is then stopped in good order.
                keeper = self._keeper = subprocess.Popen(
                    kept,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=_environment(build),
                    start_new_session=True,
                )
        except OSError as error:
            raise ServerError(f"The server of {self.model} cannot be started: {reason(error)}.") from error
        _ours[:] = [server for server in _ours if server.is_ours and server is not self] + [self]
        try:
            self._wait_for_health(f"http://127.0.0.1:{port}", keeper)
        except BaseException:
            self._end(keep_log=True)
            raise
        dialect = replace(VLLM, media=media, ranks=self.flags.data_parallel)
        return VLM(f"http://127.0.0.1:{port}/v1", self.name, in_flight=self._in_flight, dialect=dialect)

    def _wait_for_health(self, url: str, keeper: subprocess.Popen[bytes]) -> None:
        endpoint, until_s = Endpoint(url), time.monotonic() + self._start_s
        progress = Progress(f"starting vLLM with {self.name}", self._is_quiet)
        while True:
            if keeper.poll() is not None:
                raise self._failure("was stopped" if self._keeper is None else "did not start", keeper)
            if time.monotonic() > until_s:
                raise self._failure(f"was not ready within {self._start_s:g} s", keeper)
            assert self.log is not None
            progress.at(stage(self.log))
            try:
                endpoint.get("health", timeout_s=5)
            except HttpFailure:
                time.sleep(LOOK_S)
                continue
            served = _served(f"{url}/v1")
            if not served:
                time.sleep(LOOK_S)
                continue
            if self.name not in served:
                raise ServerError(f"Another server has come to {url} meanwhile (of {', '.join(served)}): start again.")
            self._is_up = True
            progress.done(f"vLLM serves {self.name} at {url}/v1")
            return

    def _failure(self, what: str, keeper: subprocess.Popen[bytes]) -> ServerError:
        assert self.log is not None
        why, status = reason_in(self.log.read_text(errors="replace")), keeper.poll()
        if not why:
            was_killed = status == 128 + signal.SIGKILL
            why = "it was killed, most likely for want of memory" if was_killed else f"it ended with status {status}"
            why = "it gives no reason" if status is None else why
        return ServerError(f"The server of {self.model} {what}: {printable(why)}. Its log is {self.log}.")

    def __enter__(self) -> VLM:
        with self._state:
            self._blocks += 1
        try:
            return self._up()
        except BaseException:
            with self._state:
                self._blocks -= 1
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._state:
            self._blocks -= 1
            is_last = not self._blocks and not self._stays
        if is_last:
            self._end(keep_log=error is not None)

    def __reduce__(self) -> tuple[Any, ...]:
        """Send the way to it in its place: it starts, where it does not run yet, and stays here."""
        return self._way().__reduce__()

    def __repr__(self) -> str:
        return f"Server({self.model!r}, {'stopped' if self.vlm is None else self.vlm.base_url})"


_ours: list[Server] = []
"""Those that this process started, so that a notebook's cell that is run twice does not start a second one."""


def serve(
    model: str | Path,
    *,
    port: int | None = None,
    tensor_parallel: int = 1,
    data_parallel: int = 1,
    arguments: Sequence[str] = (),
    python: str | Path | None = None,
    start_s: float = 3600.0,
    in_flight: int | None = None,
    progress: bool = True,
) -> Server:
    """Return a local vLLM server of a model: `with ak.serve("Qwen/Qwen3-VL-8B-Instruct") as vlm: …`.

    `model` is a name on the Hugging Face hub, "nano" (which comes with the kit), a folder, or the address of an
    endpoint, which is then used as it is; so is a server of the same model that runs already at `port` (at 8000 if none
    is given). Otherwise vLLM is installed where it is not yet (its build for GPUs where there is an NVIDIA GPU, the one
    for CPUs elsewhere), and started on `port` or a free one of 127.0.0.1. `tensor_parallel` GPUs hold one copy of the
    model, and there are `data_parallel` copies; `arguments` are passed on to vLLM; `python` is an interpreter that has
    vLLM, if it should not be the kit's own. Where a `with` block is too short a life, call `start()` and `stop()`: the
    same line again gives the same server, which also ends with the process that started it, however that ends. Raises
    InputError for what cannot be served, and ServerError, with vLLM's own reason, where it does not come up in
    `start_s` seconds.
    """
    flags = ServerFlags(tensor_parallel, data_parallel, tuple(arguments))
    asked = Server(model, flags, port=port, python=python, start_s=start_s, in_flight=in_flight, is_quiet=not progress)
    for server in _ours:
        same = (server.model, server.flags, server.port) == (asked.model, flags, port)
        # The folder may have been trained on since.
        if same and server.is_ours and server.name == served_name(asked.model, flags.arguments):
            return server
    return asked


def served_name(model: str, arguments: Sequence[str] = ()) -> str:
    """Return the name a model is served under: since replies are kept by it, it holds a hash of what else they depend
    on, which is a folder's content, and the arguments that vLLM is given.

    A folder that is trained on is another model each time, and one that is copied, moved or described stays the same.
    """
    folder, whole = Path(model), hashlib.sha256(json.dumps(list(arguments)).encode())
    if folder.is_dir():
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder)
            is_hidden = any(part.startswith(".") for part in name.parts)
            if path.is_file() and not is_hidden and path.suffix not in PROSE:
                with path.open("rb") as file:
                    whole.update(f"{name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    elif not arguments:
        return model
    return f"{_called(folder) if folder.is_dir() else model}@{whole.hexdigest()[:12]}"


def _called(folder: Path) -> str:
    """Return what a folder of weights is called: as the shipped model whose chat template it has, wherever it lies,
    since by that name it is known how to ask it; or else by its own name."""
    spoken = _template(folder)
    return next((name for name, place in SHIPPED.items() if spoken and _template(place) == spoken), folder.name)


def _template(folder: Path) -> bytes:
    """Return a folder's chat template; nothing where it has none."""
    path = folder / TEMPLATE
    return path.read_bytes() if path.is_file() else b""


def _resolved(model: str) -> str:
    """Return a model's folder in full, and any other name as it is."""
    path = Path(model).expanduser()
    if path.is_dir():
        return str(path.resolve())
    if model in SHIPPED:
        if not (SHIPPED[model] / "config.json").is_file():
            raise InputError(f"The weights of {model} are not in {SHIPPED[model]}: make them by `make {model}`.")
        return str(SHIPPED[model])
    if not model.strip() or path.is_absolute() or model.startswith("."):
        raise InputError(f"There is no model folder {model!r}: name a folder, a model on the hub, or an address.")
    return model


def _is_address(model: str) -> bool:
    return model.startswith(("http://", "https://"))


def _served(url: str) -> list[str]:
    """Return the names of the models that are served at an address; none where nobody answers."""
    try:
        return [str(model["id"]) for model in parsed(Endpoint(url).get("models", timeout_s=2))["data"]]
    except (HttpFailure, KeyError, TypeError):
        return []


def _is_free(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) != 0


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _environment(build: install.Build) -> dict[str, str]:
    """Return the environment that vLLM runs in."""
    # It is alone on the loopback address: a key for it would only lock us out.
    environment = {name: value for name, value in os.environ.items() if name != "VLLM_API_KEY"}
    environment["VLLM_NO_USAGE_STATS"] = "1"
    environment["PYTHONSAFEPATH"] = "1"  # a queue.py beside the notebook is not the library's
    if build == "serve-cpu":
        environment.setdefault("VLLM_CPU_KVCACHE_SPACE", str(_cache_gib()))
    return environment


def _cache_gib() -> int:
    """Return the GiB for the key-value cache of a CPU server: a sixth of the memory, four at most."""
    return max(1, min(4, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**30 // 6))
