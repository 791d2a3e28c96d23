"""`KeptServer`: a server that outlives the command that started it, and how other commands find it.

A command that asks one question leaves its server to the supervisor, which stops it when no request
has reached it for a while. Until then other commands of the user find it in the list of processes:
the supervisor has what there is to know among its arguments, and tells by its name whether the
server may be used. So nothing is written, and nothing can be stale. Only Linux has such a list.
"""

from __future__ import annotations

import hashlib
import json
import os
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

from atlaskit.models.errors import ServerError
from atlaskit.models.serving.process import served_models
from atlaskit.models.serving.progress import Progress
from atlaskit.models.serving.supervisor import KEPT, requests_of

IDLE_S = 600.0
"""Seconds without a request after which a kept server is stopped."""
POLL_S = 0.1
HANGS_S = 30.0
"""Seconds after which a kept server that lists no model counts as one that hangs."""
TOLD = 4
"""Which argument of a supervisor tells of its server: `python -I supervisor.py OWNER TOLD …`."""


class KeptServer(NamedTuple):
    """A server that is kept, or may be once it answers."""

    keeper: int
    """Process id of the supervisor."""
    model: str
    """The folder of the weights, or the name on the hub."""
    name: str
    """The name that it is served under, which has a hash of the weights and of vLLM's arguments."""
    url: str
    log: str
    idle_s: float
    """Seconds without a request after which it is stopped."""
    home: str
    """The folder of caches (XDG_CACHE_HOME) of who started it; one with another finds it not."""

    @property
    def is_alive(self) -> bool:
        """Whether its supervisor runs. Another process may have got its number since."""
        return _server_of(Path(f"/proc/{self.keeper}")) == self

    @property
    def is_listed(self) -> bool:
        """Whether others may use it: it answers, and does not stop just now."""
        with suppress(OSError):
            return Path(f"/proc/{self.keeper}/comm").read_text() == f"{KEPT}\n" and self.is_alive
        return False

    def stop(self) -> None:
        """Stop the server, and wait until it has stopped."""
        with suppress(ProcessLookupError):
            os.kill(self.keeper, signal.SIGTERM)
        while self.is_alive:
            time.sleep(POLL_S)


def told_of(model: str, name: str, url: str, log: Path) -> str:
    """Return what the supervisor of a server that will be kept has among its arguments."""
    return json.dumps({"model": model, "name": name, "url": url, "log": str(log), "idle_s": IDLE_S, "home": _home()})


@contextmanager
def starting(name: str, cancel: threading.Event | None) -> Iterator[None]:
    """Hold the start of a server against other commands; wait for theirs until `cancel` is set."""
    digest = hashlib.sha256(f"{os.getuid()} {_home()} {name}".encode()).hexdigest()
    waits: list[Progress] = []
    with socket.socket(socket.AF_UNIX) as lock:
        while cancel is None or not cancel.is_set():
            try:
                lock.bind(f"\0atlaskit {digest}")  # a name without a file, free when the socket is closed
                break
            except OSError:
                waits = waits or [Progress(f"waiting for another command that starts {name}")]
                time.sleep(POLL_S)
        yield


def keep(supervisor: subprocess.Popen[bytes]) -> KeptServer | None:
    """Let others find a server that answers, and its supervisor keep it; None if it has died."""
    supervisor.send_signal(signal.SIGUSR1)
    while supervisor.poll() is None:
        if (server := _server_of(Path(f"/proc/{supervisor.pid}"))) and server.is_listed:
            return server
        time.sleep(POLL_S)
    return None


def find(name: str) -> KeptServer | None:
    """Return the kept server of a model, or None.

    Raises:
        ServerError: It does not answer.
    """
    server = next((each for each in all_kept() if each.name == name), None)
    if server is None:
        return None
    until_s = time.monotonic() + HANGS_S
    while name not in served_models(server.url):
        if not server.is_listed:
            return None  # it stops just now
        if time.monotonic() > until_s:
            raise ServerError(f"The server of {name} at {server.url} hangs: {stop_command(server.model)} stops it.")
        time.sleep(POLL_S)
    return server


def all_kept() -> Iterator[KeptServer]:
    """Yield this user's kept servers on this host."""
    for process in Path("/proc").glob("[0-9]*"):
        if (server := _server_of(process)) and server.is_listed and server.home == _home():
            yield server


def free_gpu() -> None:
    """Stop the kept servers that have no open request: each has most of the GPU's memory."""
    for server in all_kept():
        if not requests_of(server.url)[0]:
            Progress(f"stopping the idle server of {server.name}, which has the GPU's memory")
            server.stop()


def stop_command(model: str) -> str:
    """Return the command that stops the kept server of a model, as this user can type it."""
    script, own = shutil.which("atlaskit"), Path(sys.executable).parent.resolve()
    is_own = script is not None and Path(script).resolve().parent == own
    return f"{'atlaskit' if is_own else f'{shlex.quote(sys.executable)} -m atlaskit'} serve {shlex.quote(model)} --stop"


def _home() -> str:
    return os.environ.get("XDG_CACHE_HOME", "")


def _server_of(process: Path) -> KeptServer | None:
    """Return the server that a process of this user was started to keep; None for any other."""
    with suppress(OSError, ValueError, IndexError, TypeError):
        if process.stat().st_uid == os.getuid():
            told = json.loads((process / "cmdline").read_bytes().split(b"\0")[TOLD])
            return KeptServer(int(process.name), **told)
    return None
