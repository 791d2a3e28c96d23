"""`KeptServer`: a server that outlives the command that started it, and how other commands find it.

A command that asks one question leaves its server to the supervisor, which stops it when no request
has reached it for a while. Until then a file in a folder of this user and host names the server.
Files are believed only in a folder that nobody else can enter, and only while the process that they
name lives.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import signal
import stat
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt

from atlaskit.caching.files import check_writable, write_whole
from atlaskit.caching.locks import locks_in
from atlaskit.models.errors import ServerError
from atlaskit.models.serving.process import served_models
from atlaskit.models.serving.progress import Progress
from atlaskit.models.serving.supervisor import requests_of

IDLE_S = 600.0
"""Seconds without a request after which a kept server is stopped."""
POLL_S = 0.1
HANGS_S = 30.0
"""Seconds after which a kept server that lists no model counts as one that hangs."""


class KeptServer(BaseModel):
    """A server that is kept, as its entry tells."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)

    model: str
    """The folder of the weights, or the name on the hub."""
    name: str
    """The name that it is served under, which has a hash of the weights and of vLLM's arguments."""
    url: str = Field(pattern=r"^http://127\.0\.0\.1:\d{1,5}/v1$")
    log: str
    keeper: PositiveInt
    """Process id of the supervisor."""
    idle_s: PositiveFloat
    """Seconds without a request after which it is stopped."""

    @property
    def entry(self) -> Path:
        """The file that names it."""
        return entry_of(self.name)

    @property
    def is_alive(self) -> bool:
        """Whether its supervisor runs. Another process may have got its number since."""
        try:
            words = Path(f"/proc/{self.keeper}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return False
        return os.fsencode(self.entry) in words

    @property
    def is_listed(self) -> bool:
        """Whether others may still find it: it is withdrawn before it stops."""
        return _read(self.entry) == self

    def stop(self) -> None:
        """Stop the server, and wait until it has stopped."""
        with suppress(ProcessLookupError):
            os.kill(self.keeper, signal.SIGTERM)
        while self.is_alive:
            time.sleep(POLL_S)


def folder() -> Path:
    """Return the folder of the entries. Hosts that share a home have one each."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    with suppress(RuntimeError):  # a user without a home
        cache = cache.expanduser()
    return cache.absolute() / "atlaskit" / "servers" / (platform.node() or "unnamed")


def entry_of(name: str) -> Path:
    """Return the file that names the server of a model."""
    return folder() / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.json"


@contextmanager
def starting(name: str, cancel: threading.Event | None) -> Iterator[None]:
    """Hold the start of a server against other commands; wait for theirs until `cancel` is set.

    Raises:
        OSError: The folder of the entries cannot be made, or others can enter it.
        CacheError: Files cannot be locked there.
    """
    if sys.platform != "linux":
        raise OSError("only Linux tells which processes run")
    folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _is_own(folder()):
        raise PermissionError("others can enter it")
    check_writable(folder() / "x")
    waits: list[Progress] = []

    def is_given_up() -> bool:
        if not waits:
            waits.append(Progress(f"waiting for another command that starts {name}"))
        return cancel is not None and cancel.is_set()

    with locks_in(folder()).hold([entry_of(name).name], is_given_up):
        yield


def register(server: KeptServer) -> None:
    """Let others find a server, and its supervisor keep it.

    Raises:
        OSError: The entry cannot be written.
    """
    write_whole(server.entry, server.model_dump_json())


def find(name: str) -> KeptServer | None:
    """Return the kept server of a model, or None; a stale entry is deleted.

    Raises:
        ServerError: It does not answer.
    """
    server = _alive(entry_of(name))
    if server is None:
        return None
    until_s = time.monotonic() + HANGS_S
    while name not in served_models(server.url):
        if not (server.is_listed and server.is_alive):
            return None  # it stops just now
        if time.monotonic() > until_s:
            raise ServerError(f"The server of {name} at {server.url} hangs: {stop_command(server.model)} stops it.")
        time.sleep(POLL_S)
    return server


def all_kept() -> Iterator[KeptServer]:
    """Yield this user's kept servers on this host."""
    for path in sorted(folder().glob("*.json")):
        if server := _alive(path):
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


def _alive(path: Path) -> KeptServer | None:
    server = _read(path)
    if server is None or server.is_alive:
        return server
    path.unlink(missing_ok=True)
    return None


def _read(path: Path) -> KeptServer | None:
    """Return the server that a file names, None if there is none or it is not to be believed."""
    try:
        server = KeptServer.model_validate_json(path.read_bytes()) if _is_own(path.parent) else None
    except (OSError, ValueError):
        return None
    return server if server and server.entry == path else None


def _is_own(folder: Path) -> bool:
    """Return whether a folder is this user's, and nobody else can enter it."""
    status = folder.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077
