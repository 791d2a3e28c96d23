"""Processes of servers: those that this process started, and those that outlive their command.

Contents:
    `ServerProcess`: starts vLLM under a supervisor (`supervisor`), with a log, and stops it. The
        supervisor also stops it when this process dies, unless the server is kept for others.
    `KeptServer`, `keep`, `find_kept`: A command that asks one question leaves its server to the
        supervisor, which stops it when no request has reached it for a while. Until then other
        commands of the user find it in the list of processes: one argument of the supervisor
        describes the server, and the name of the supervisor's process says whether the server may
        be used. So no file is written that could become stale. Only Linux has such a list.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from atlaskit.errors import printable
from atlaskit.models.http import Endpoint, HttpFailure, parsed
from atlaskit.models.names import entries
from atlaskit.models.protocol import ServerError
from atlaskit.models.serving import supervisor
from atlaskit.models.serving.lock import Progress, last_line
from atlaskit.models.serving.supervisor import KEPT, requests_of

POLL_S = 0.1
START_S = 3600.0
"""Most seconds that a start may take: a large model is downloaded first."""
GENERIC = (
    "Engine core initialization failed",
    "failed to be inspected",
    "Error raised in subprocess",
    "non-zero exit",
    "EngineCore encountered an issue",
    "please check the stack trace",
)
"""Phrases of errors that only repeat that an earlier error occurred."""
PREFIX = re.compile(r"\A(\(.*?pid=\d+\) )?((ERROR|CRITICAL) [\d-]+ [\d:]+ \[.*?\] ?)?")
"""What vLLM writes before a line: the process, the level, the time."""
FAULT = re.compile(
    r"\A(?:(?:[\w.]+\.)?(?P<type>\w+(?:Error|Exception)): (?P<raised>.+)"
    r"|\S+: error: (?P<refused>.+))"
)
"""The last line of a Python traceback, or an error of argparse."""
NOTICE = 4
"""Index of the notice in a supervisor's command: `python -I supervisor.py OWNER NOTICE …`."""
IDLE_S = 600.0
"""Seconds without a request after which a kept server is stopped."""
HANGS_S = 30.0
"""Seconds after which a kept server that lists no model counts as one that hangs."""


class ServerProcess:
    """A running server that this process started.

    Attributes:
        supervisor: The supervisor's process. It lives as long as the server.
    """

    def __init__(
        self,
        model: str,
        command: list[str],
        log: Path,
        environment: dict[str, str],
        notice: str = "",
    ) -> None:
        """Start the server. It may take minutes until it answers: see `wait_until_ready`.

        Args:
            model: The model, for messages.
            command: The command that starts vLLM.
            log: The file that its output goes to, in a folder of its own.
            environment: Environment variables of the server.
            notice: Describes the server to other processes once it is kept, see `notice_of`.

        Raises:
            OSError: If the process cannot be started.
        """
        self._model = model
        self._log = log
        self._is_ready = False
        self._is_stopped = False
        script = [sys.executable, "-I", supervisor.__file__, str(os.getpid()), notice]
        with log.open("wb") as output:
            # In a session of its own: Ctrl-C reaches only this process, which stops the server.
            self.supervisor = subprocess.Popen(
                [*script, *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment,
                cwd=log.parent if notice else None,  # a kept server must not use the user's folder
                start_new_session=True,
            )

    @property
    def is_alive(self) -> bool:
        """Whether the server has neither ended nor been stopped."""
        return self.supervisor.poll() is None

    def wait_until_ready(
        self, url: str, name: str, progress: Progress, cancel: threading.Event | None = None
    ) -> None:
        """Wait until the server lists its model.

        Args:
            url: Address of the server, without /v1.
            name: The name the model is served under.
            progress: Where the stages of the start are shown.
            cancel: Set by a caller that no longer needs the server.

        Raises:
            ServerError: If the server ends, is stopped or cancelled, or takes too long before it
                is ready, or if another server answers in its place.
        """
        deadline_s = time.monotonic() + START_S
        while True:
            if not self.is_alive:
                raise self.failure("was stopped" if self._is_stopped else "did not start")
            if cancel is not None and cancel.is_set():
                raise ServerError(f"The start of {self._model} was cancelled.")
            if time.monotonic() > deadline_s:
                raise self.failure(f"was not ready within {START_S:g} s")
            stage = last_line(self._log).rpartition("] ")[2]  # without the time and the module
            progress.update("starting", stage)
            names = served_models(f"{url}/v1")
            if names:
                break
            time.sleep(POLL_S)
        if name not in names:
            raise ServerError(
                f"Another server (of {', '.join(names)}) has taken {url}: start again."
            )
        self._is_ready = True
        progress.done(f"vLLM serves {name} at {url}/v1")

    def stop(self, *, keep_log: bool) -> None:
        """Stop all processes of the server and wait until they have ended.

        Args:
            keep_log: Whether to keep the log of a server that worked. The log of one that was never
                ready, or has died, is always kept.
        """
        was_healthy = self._is_ready and self.is_alive
        self._is_stopped = True
        self.supervisor.terminate()
        self.supervisor.wait()
        if was_healthy and not keep_log:
            shutil.rmtree(self._log.parent, ignore_errors=True)

    def failure(self, event: str) -> ServerError:
        """Return an error with an event ("did not start") and its reason from the server's log."""
        text = ""
        if self._log.is_file():  # someone may have cleaned /tmp
            text = self._log.read_text(errors="replace")
        why = failure_reason(text)
        status = self.supervisor.poll()
        if not why and status is None:
            why = "its log gives no reason"
        elif not why and status == 128 + signal.SIGKILL:
            why = "it was killed, most likely for lack of memory"
        elif not why:
            why = f"it ended with status {status}"
        return ServerError(
            f"The server of {self._model} {event}: {printable(why)}. Its log is {self._log}."
        )


def failure_reason(log: str) -> str:
    """Return why a server did not start, by the text of its log; "" if the log does not say."""
    lines = [PREFIX.sub("", line) for line in log.splitlines()]
    reasons = list[str]()
    for number, line in enumerate(lines):
        match = FAULT.match(line)
        if not match:
            continue
        message = match["refused"] or match["raised"]
        if match["type"] == "ValidationError":  # pydantic's: the reason is in the lines that follow
            rest = "\n".join(lines[number + 1 : number + 12])
            rest = rest.partition("For further information")[0]
            message = rest.partition("[type=")[0].replace("Value error, ", "")
        reasons.append(" ".join(message.split())[:400].rstrip(". "))
    specific = [each for each in reasons if each and not any(part in each for part in GENERIC)]
    return (specific or reasons or [""])[-1]


def served_models(url: str) -> list[str]:
    """Return the names of the models that an endpoint lists; [] if it does not answer."""
    try:
        listing = parsed(Endpoint(url).exchange("models", timeout_s=2)[0])
    except HttpFailure:
        return []
    return [name for name, _ in entries(listing)]


def notice_of(model: str, name: str, url: str, log: Path) -> str:
    """Return the notice of a server that will be kept: an argument of its supervisor, as JSON."""
    notice = {"model": model, "name": name, "url": url, "log": str(log)}
    return json.dumps({**notice, "idle_s": IDLE_S, "home": _home()})


def is_free(port: int) -> bool:
    """Return whether nothing listens on a port of 127.0.0.1."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def free_port() -> int:
    """Return a port of 127.0.0.1 that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class KeptServer(NamedTuple):
    """A server that is kept, or may be once it answers."""

    keeper: int
    """Process id of the supervisor."""
    model: str
    """The folder of the weights, or the name on the hub."""
    name: str
    """The name that it is served under: see `names.served_name`."""
    url: str
    log: str
    idle_s: float
    """Seconds without a request after which it is stopped."""
    home: str
    """XDG_CACHE_HOME of the command that started it; a command with another one cannot find it."""

    @property
    def is_alive(self) -> bool:
        """Whether its supervisor runs, and its process id has not passed to another process."""
        return _server_of(Path(f"/proc/{self.keeper}")) == self

    @property
    def is_listed(self) -> bool:
        """Whether others may use it: it has answered once, and is not being stopped."""
        with suppress(OSError):
            return Path(f"/proc/{self.keeper}/comm").read_text() == f"{KEPT}\n" and self.is_alive
        return False

    def stop(self) -> None:
        """Stop the server, and wait until it has stopped."""
        with suppress(ProcessLookupError):
            os.kill(self.keeper, signal.SIGTERM)
        while self.is_alive:
            time.sleep(POLL_S)


@contextmanager
def starting(name: str, cancel: threading.Event | None) -> Iterator[None]:
    """Let no other command start the same server within this block; wait for one that does.

    Once `cancel` is set, the wait ends, and the block runs without the lock.
    """
    digest = hashlib.sha256(f"{os.getuid()} {_home()} {name}".encode()).hexdigest()
    address = f"\0atlaskit {digest}"  # without a file, and free when the socket is closed
    is_announced = False
    with socket.socket(socket.AF_UNIX) as lock:
        while cancel is None or not cancel.is_set():
            try:
                lock.bind(address)
                break
            except OSError:
                if not is_announced:
                    Progress(f"waiting for another command that starts {name}")  # prints it
                is_announced = True
                time.sleep(POLL_S)
        yield


def keep(supervisor: subprocess.Popen[bytes]) -> KeptServer | None:
    """Hand a started server over to its supervisor, so that other commands can find it.

    Returns:
        The server, or None if it has died.
    """
    supervisor.send_signal(signal.SIGUSR1)
    while supervisor.poll() is None:
        server = _server_of(Path(f"/proc/{supervisor.pid}"))
        if server and server.is_listed:
            return server
        time.sleep(POLL_S)
    return None


def find_kept(name: str) -> KeptServer | None:
    """Return the kept server of a model, or None.

    Raises:
        ServerError: The server is listed, but does not answer.
    """
    server = next((each for each in all_kept() if each.name == name), None)
    if server is None:
        return None
    until_s = time.monotonic() + HANGS_S
    while name not in served_models(server.url):
        if not server.is_listed:
            return None  # it is being stopped
        if time.monotonic() > until_s:
            raise ServerError(
                f"The server of {name} at {server.url} hangs: {stop_command(server.model)} stops "
                "it."
            )
        time.sleep(POLL_S)
    return server


def all_kept() -> Iterator[KeptServer]:
    """Yield this user's kept servers on this host."""
    for process in Path("/proc").glob("[0-9]*"):
        server = _server_of(process)
        if server and server.is_listed and server.home == _home():
            yield server


def free_gpu() -> None:
    """Stop the kept servers without an open request, since each takes most of the GPU's memory."""
    for server in all_kept():
        if not requests_of(server.url)[0]:
            task = f"stopping the idle server of {server.name}, which has the GPU's memory"
            Progress(task)  # prints it
            server.stop()


def stop_command(model: str) -> str:
    """Return the command that stops the kept server of a model, as this user can type it."""
    script = shutil.which("atlaskit")
    own = Path(sys.executable).parent.resolve()
    program = f"{shlex.quote(sys.executable)} -m atlaskit"
    if script is not None and Path(script).resolve().parent == own:
        program = "atlaskit"
    return f"{program} serve {shlex.quote(model)} --stop"


def _home() -> str:
    return os.environ.get("XDG_CACHE_HOME", "")


def _server_of(process: Path) -> KeptServer | None:
    """Return the server that a process of this user was started to keep; None for any other."""
    with suppress(OSError, ValueError, IndexError, TypeError):
        if process.stat().st_uid == os.getuid():
            arguments = (process / "cmdline").read_bytes().split(b"\0")
            return KeptServer(int(process.name), **json.loads(arguments[NOTICE]))
    return None
