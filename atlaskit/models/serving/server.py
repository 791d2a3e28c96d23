"""A model that vLLM serves on this machine, or that a user names: `ak.serve` and `as_model`.

Contents:
    `Server`, `serve`: a local vLLM server that is started, waited for and stopped. The module
        `process` runs it, `flags` makes its command line, and `install` finds its interpreter.
    `as_model`: the model that a user names by an address, or by a name that vLLM serves here.

This module knows nothing of prompts.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Unpack
from urllib.parse import urlsplit

from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import Kind
from atlaskit.errors import InputError, reason
from atlaskit.models import protocol
from atlaskit.models.attempts import DEFAULT_LIMIT
from atlaskit.models.client import VLM
from atlaskit.models.dialect import VLLM
from atlaskit.models.names import Preset, preset_named, resolve_model, served_name
from atlaskit.models.protocol import CallControl, Model, Reply, Request, ServerError, Unreachable
from atlaskit.models.serving import install
from atlaskit.models.serving.flags import Copies, ServerFlags, environment
from atlaskit.models.serving.lock import Progress
from atlaskit.models.serving.plan import concerns, download_of, fitting_build
from atlaskit.models.serving.process import (
    POLL_S,
    KeptServer,
    ServerProcess,
    find_kept,
    free_gpu,
    free_port,
    is_free,
    keep,
    notice_of,
    served_models,
    starting,
)
from atlaskit.models.spec import EXAMPLE, ModelSpec, as_spec

USUAL_PORT = 8000
"""Port of `make serve`. A server that already runs there is used."""


class Server:
    """A vLLM server of one model.

    A `with` block starts the server, returns its client, a `VLM`, and stops the server at its end.
    After `start()` the server runs until `stop()`, even if a `with` block uses it in between. It
    also stops when this process ends, however it ends, unless it `keeps` running for others.

    A server is a `Model` too. It starts at its first call, so never if all replies are cached.

    Attributes:
        spec: The model as it was named, with the options of its client.
        model: The folder, the name on the hub, or the address.
        flags: The options that the server is started with.
        port: The requested port, or None.
        vlm: The client of the running server, or None.
        log: The server's log file if it was started here, or None. An orderly stop deletes it.
        keeps: Whether a server that is started here outlives this process, for later commands.
        agree: Called with sentences for the user before a start that takes long or downloads much;
            it may raise an error to prevent the start. None: the user is not asked.
        lasting: The server in use, if it outlives the process that started it; or None.
    """

    def __init__(
        self,
        model: str | Path | ModelSpec,
        flags: ServerFlags,
        *,
        port: int | None = None,
        python: str | Path | None = None,
        in_flight: int | None = None,
        keeps: bool = False,
    ) -> None:
        """Describe a server; `serve` explains the arguments. Nothing is started yet."""
        if port is not None and not 0 < port < 2**16:
            raise InputError(f"port must be an integer from 1 to 65535; got {port}.")
        self.spec = as_spec(model)
        self.model = self.spec.model if self.spec.is_address else resolve_model(self.spec.model)
        self.flags = flags
        self.port = port
        self.vlm: VLM | None = None
        self.log: Path | None = None
        self.keeps = keeps
        self.agree: Callable[[Sequence[str]], None] | None = None
        self.lasting: KeptServer | None = None
        self._python = python
        self._in_flight = in_flight
        self._name = ""
        self._process: ServerProcess | None = None
        self._starting = threading.Lock()
        self._blocks = 0  # `with` blocks that use the server now
        self._outlives_blocks = False  # whether it was started by `start()`

    @property
    def name(self) -> str:
        """The name under which the model is served (`served_name`).

        If only the address of an endpoint was given, the endpoint is asked for the name.
        """
        if self.spec.is_address:
            return self.spec.name or self._client().name
        if not self._name:
            self._name = served_name(self.model, self.flags.arguments)
        return self._name

    @cached_property
    def preset(self) -> Preset:
        """The defaults that suit the model."""
        return preset_named(self.name)

    @cached_property
    def parameters(self) -> Mapping[str, Any]:
        """What else the replies depend on, see `Model.parameters`."""
        address = LOCAL_SERVER
        if self.spec.is_address:
            address = self.model
        return VLM(address, self.name, **self.spec.settings).parameters  # makes no request

    @property
    def is_ours(self) -> bool:
        """Whether the server was started here and is alive."""
        return self._process is not None and self._process.is_alive

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Make one call, and start the server first if it does not run. See `Model.complete`.

        Raises:
            ModelError: As `VLM.complete`.
            ServerError: As `start`.
        """
        return self._client(control.get("cancel")).complete(request, **control)

    def start(self, cancel: threading.Event | None = None) -> VLM:
        """Start the server and wait until it answers.

        A server of the model that runs already is used; one that has died is restarted.

        Args:
            cancel: Set by a caller that no longer needs the server; the start then ends soon.

        Raises:
            ServerError: If the server does not start; the message has vLLM's reason.
            InputError: If the port is taken by something else.
        """
        vlm = self._ensure_running(cancel)
        self._outlives_blocks = True
        return vlm

    def stop(self) -> None:
        """Stop the server and all its processes, if it was started here."""
        self._outlives_blocks = False
        self._end(keep_log=False)

    def wait(self) -> None:
        """Wait until the server is stopped.

        Raises:
            ServerError: If it dies instead.
        """
        while True:
            process = self._process
            if process is None:
                return
            if not process.is_alive:
                raise process.failure("has died")
            time.sleep(POLL_S)

    def _client(self, cancel: threading.Event | None = None) -> VLM:
        """Return the client of the server, which is started if it does not run."""
        if self.lasting is not None and not self.lasting.is_listed:
            self.vlm = None  # the server was idle for too long, or someone has stopped it
        return self.vlm or self.start(cancel)

    def _ensure_running(self, cancel: threading.Event | None = None, *, new_blocks: int = 0) -> VLM:
        """Find or start the server, unless the one that was started here still runs.

        Args:
            cancel: See `start`.
            new_blocks: How many `with` blocks begin to use the server.
        """
        with protocol.stopped(), self._starting:  # the clock of budgets and deadlines is stopped
            if self._process is not None and (not self.is_ours or self._has_closed_port()):
                self._end(keep_log=True)
            if self._process is None:  # also if a server was found before: it may have ended since
                self._open(cancel)
            vlm = self.vlm
            if vlm is None:
                raise ServerError(f"The server of {self.model} was stopped.")
            self._blocks += new_blocks
            return vlm

    def _open(self, cancel: threading.Event | None) -> None:
        """Find a running server of the model, or start one."""
        self._name = ""  # computed again, since the weights may have been trained further
        self.lasting = None
        with starting(self.name, cancel) if self.keeps else nullcontext():
            self.vlm = self._find() or self._launch(cancel)
            if self.keeps and self._process:
                self.lasting = keep(self._process.supervisor)
            if self.lasting:
                self._process = None

    def _has_closed_port(self) -> bool:
        """Return whether nothing listens on the port, which may show before the process ends."""
        if self.vlm is None:
            return False
        port = urlsplit(self.vlm.base_url).port
        return port is not None and is_free(port)

    def _find(self) -> VLM | None:
        """Return the client of a server of this model that runs already, or None."""
        if self.spec.is_address:
            return self._new_client(self.model, self.spec.name, **self.spec.access())
        for twin in _twins(self):
            if twin.vlm:
                shared = twin.vlm
                return self._new_client(shared.base_url, shared.name, dialect=shared.dialect)
        server = find_kept(self.name) if self.keeps else None
        if server:
            self.lasting = server
            Progress(f"using the server of {self.name} that was kept at {server.url}")
            return self._new_client(server.url, server.name, dialect=VLLM)
        url = f"http://127.0.0.1:{self.port or USUAL_PORT}/v1"
        names = served_models(url)
        if self.name in names:
            Progress(f"using the server of {self.name} that runs already at {url}")
            return self._new_client(url, self.name)
        if self.port is not None and not is_free(self.port):
            problem = f"serves {', '.join(names)}" if names else "is taken"
            raise InputError(
                f"Port {self.port} {problem}: pass another port, or none to use a free one."
            )
        return None

    def is_like(self, other: Server) -> bool:
        """Return whether one process may serve both. The number of copies changes no reply."""
        mine = replace(self.flags, data_parallel=1)
        others = replace(other.flags, data_parallel=1)
        return (self.model, mine, self.port) == (other.model, others, other.port)

    def _launch(self, cancel: threading.Event | None) -> VLM:
        """Start a server and return its client.

        Raises:
            ServerError: If the server does not start, or the start is cancelled.
        """
        if cancel is not None and cancel.is_set():
            raise ServerError(f"The start of {self.model} was cancelled.")
        build = fitting_build()
        missing = None if self._python else install.missing_in(build)
        if self.agree is not None:
            sentences = concerns(self.model, build, missing)
            if sentences:
                self.agree(sentences)
        else:
            download = download_of(self.model)
            if download:  # the user of the Python interface is informed, not asked
                print(f"atlaskit: {download}", file=sys.stderr, flush=True)
        if build == "serve-gpu":
            free_gpu()
        python = str(self._python or install.interpreter(build))
        port = self.port or free_port()
        url = f"http://127.0.0.1:{port}"
        flags = self.flags.resolved(self.preset, build)
        try:
            log = Path(tempfile.mkdtemp(prefix="atlaskit-serve-"), "server.log")
            self.log = log
            command = flags.command(
                python,
                self.model,
                self.name,
                port,
                build,
                preset=self.preset,
                in_flight=self._in_flight or DEFAULT_LIMIT,
            )
            variables = environment(build, python, self.preset, flags)
            notice = ""
            if self.keeps:
                notice = notice_of(self.model, self.name, f"{url}/v1", log)
            process = ServerProcess(self.model, command, log, variables, notice)
        except OSError as error:
            raise ServerError(
                f"The server of {self.model} cannot be started: {reason(error)}."
            ) from error
        self._process = process
        others = [other for other in _servers if other.is_ours and other is not self]
        _servers[:] = [*others, self]
        try:
            progress = Progress(f"starting vLLM with {self.name}")
            process.wait_until_ready(url, self.name, progress, cancel)
        except BaseException:
            self._end(keep_log=True)
            raise
        dialect = replace(VLLM, ranks=int(flags.data_parallel))
        return self._new_client(f"{url}/v1", self.name, dialect=dialect)

    def _new_client(self, url: str, name: str | None, **own: Any) -> VLM:
        """Return a client with the user's settings and some of its own."""
        settings = {**self.spec.settings, **self.spec.limits, **own}
        return VLM(url, name, in_flight=self._in_flight, **settings)

    def _end(self, *, keep_log: bool) -> None:
        """Forget the server, and stop it if it was started here."""
        process = self._process
        self._process = None
        self.vlm = None
        if process is not None:
            process.stop(keep_log=keep_log)

    def __enter__(self) -> VLM:
        return self._ensure_running(new_blocks=1)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._starting:
            self._blocks -= 1
            if not self._blocks and not self._outlives_blocks:
                self._end(keep_log=error is not None)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the client. The server is started if needed, and stays a part of this process."""
        return self._client().__reduce__()

    def __repr__(self) -> str:
        return f"Server({self.model!r}, {'stopped' if self.vlm is None else self.vlm.base_url})"


_servers: list[Server] = []
"""The servers that this process started. A notebook cell that is run twice gets the same one."""


def _twins(server: Server) -> Iterator[Server]:
    """Yield the running servers of this process whose replies would equal those of a server.

    The names are compared too: the weights in a folder may have changed since a server started.
    """
    return (
        other
        for other in _servers
        if other.is_ours and other.is_like(server) and other.name == server.name
    )


def serve(
    model: str | Path | ModelSpec,
    *,
    port: int | None = None,
    tensor_parallel: int = 1,
    data_parallel: Copies = 1,
    arguments: Sequence[str] = (),
    python: str | Path | None = None,
    in_flight: int | None = None,
) -> Server:
    """Return a local vLLM server: `with ak.serve("Qwen/Qwen3-VL-8B-Instruct") as vlm: …`.

    vLLM is installed if it is missing: its build for GPUs if there is an NVIDIA GPU, else the one
    for CPUs. Where a `with` block is too short, call `start()` and `stop()` of the result. Calling
    `serve` again with the same arguments returns the same server while it runs.

    Args:
        model: A name on the Hugging Face hub, the name of a model that a package brings, or a
            folder. An endpoint's address and the name of one of its models may be given instead;
            then nothing is started. Options may follow, as on the command line:
            "Qwen/Qwen3.5-4B --no-thinking", "https://…/v1 NAME --key-env MY_KEY".
        port: Port on 127.0.0.1. If a server of the same model runs there (or on 8000, if None),
            it is used. None: a free port for a new server.
        tensor_parallel: GPUs that share one copy of the model.
        data_parallel: Copies of the model, each in an engine of its own, behind one address.
            "auto": as many as suit many questions at once. A server that already runs is used with
            as many copies as it has.
        arguments: More arguments of vLLM.
        python: An interpreter that has vLLM. None: one that atlaskit installs, see
            `install.interpreter`.
        in_flight: Most requests in flight at once, see `ak.VLM`.

    Raises:
        InputError: If the model does not exist, or a setting is invalid. A server that does not
            start raises `ServerError` later, when it is started.

    Examples:
        >>> vlm = ak.serve("Qwen/Qwen3-VL-8B-Instruct")  # starts at its first call, or by `with`
        >>> vlm.name
        'Qwen/Qwen3-VL-8B-Instruct'
    """
    spec = as_spec(model)
    flags = ServerFlags(tensor_parallel, data_parallel, tuple(arguments))
    return _running_or(Server(spec, flags, port=port, python=python, in_flight=in_flight))


def _running_or(new: Server) -> Server:
    """Return the running server of this process with the same settings; else the new one."""
    return next((twin for twin in _twins(new) if twin.spec.settings == new.spec.settings), new)


LOCAL_SERVER = f"http://127.0.0.1:{USUAL_PORT}/v1"
"""The default address of `atlaskit serve`."""
SERVED = Kind("served", 1)
"""A cache entry: the name of the model that an address last served."""


def copies_for(in_flight: int) -> Copies:
    """Return how many copies of a model to serve for a number of questions at the same time."""
    return "auto" if in_flight > 1 else 1


def as_model(
    model: Model | ModelSpec | str,
    cache: Cache | None = None,
    *,
    is_replay: bool = False,
    data_parallel: Copies = 1,
    keep: bool = False,
) -> Model:
    """Return the model that a caller gave or named.

    Args:
        model: A model, or the words of a `ModelSpec`: the address of a server, whose first model
            that chats is taken; an address and a name; or a model for vLLM on this machine (a hub
            id or a folder). Options may follow.
        cache: Remembers which model a server served last, for when the server cannot be reached.
        is_replay: Whether no call will be made. Then no key is needed, and a server is not asked
            for its model if `cache` knows it.
        data_parallel: Copies of a model that is served on this machine, see `serve`.
        keep: Whether a server that is started for the model outlives this process, for later
            commands. A server that this process runs already stays as it is.

    Returns:
        The model. One on this machine is a `Server`, which starts at its first call; a server of
        the same model that already runs is used.

    Raises:
        InputError: `model` is none of these, or the environment variable of the key is missing.
        Unreachable: No server answers at the address, and `cache` does not know what it served.
    """
    if not isinstance(model, str | ModelSpec):
        if isinstance(model, type) or not hasattr(model, "complete"):
            raise InputError(
                "vlm must be a model, such as ak.VLM(URL), an address, or a name such as "
                f"{EXAMPLE!r}; got {model!r:.80}."
            )
        return model
    spec = as_spec(model)
    if not spec.is_address:
        keeps = keep and sys.platform == "linux"  # /proc lists the servers that were kept
        flags = ServerFlags(data_parallel=data_parallel)
        return _running_or(Server(spec, flags, keeps=keeps))
    address = spec.model
    settings = {**spec.settings, **spec.limits}
    if not is_replay:
        settings |= spec.access()
    if spec.name is not None:
        return VLM(address, spec.name, **settings)
    entry = SERVED.key(address=address)
    known_name = cache.get_json(entry) if cache is not None else None
    if not isinstance(known_name, str) or not known_name:
        known_name = None
    try:
        vlm = VLM(address, known_name if is_replay else None, **settings)
    except Unreachable:
        if known_name is None:
            raise
        return VLM(address, known_name, **settings)
    if cache is not None and vlm.name != known_name:
        cache.put_json(entry, vlm.name)
    return vlm
