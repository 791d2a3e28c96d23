"""The supervisor process: runs a server's command, and stops it when nobody needs it.

    python -I supervisor.py OWNER_PID NOTICE COMMAND…

The command runs in a process group of its own. The whole group is stopped when the command ends,
when this process receives SIGTERM, SIGINT or SIGHUP, or when the owner, this process's parent, has
ended for whatever reason: an exit, a crash, a killed kernel.

After SIGUSR1 the owner may end: the server is then kept for other processes, which find it by this
process's name and by NOTICE, the JSON of `process.notice_of`. It is stopped when no request has
reached it for a while. NOTICE is "" for a command that is never kept.

This file is run as a script on its own, so it imports only the standard library.
"""

from __future__ import annotations

import ctypes
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

POLL_S = 0.2
PR_SET_PDEATHSIG = 1
"""prctl's option for the signal that a process gets when its parent ends."""
PR_SET_NAME = 15
"""prctl's option for the name of a process."""
KEPT = "atlaskit-kept"
"""Name of this process while others may use its server."""
ENDING = "atlaskit-ending"
"""Name of this process while it stops its server."""
GRACE_S = 15.0
"""Seconds the command has to stop after SIGTERM, before SIGKILL."""
READ_S = 5.0
"""Most seconds to read a server's counters."""
LAST_CALL_S = 1.0
"""Seconds for a request of a process that found a kept server just before it was withdrawn."""
COUNTER = re.compile(
    rb"^vllm:(num_requests_running|num_requests_waiting|request_success_total)\{.*\} (\S+)$",
    re.MULTILINE,
)


class Flag:
    """A flag that the handler of a signal sets.

    Unlike a `threading.Event`, it takes no lock. A handler interrupts the main thread, and would
    wait for ever for a lock that the main thread has.
    """

    is_set = False

    def set(self, *signal_and_frame: object) -> None:
        """Set the flag. The arguments are those of a signal handler."""
        self.is_set = True

    def wait(self, seconds: float) -> bool:
        """Return whether the flag is set, after a pause if it is not set yet."""
        if not self.is_set:
            time.sleep(seconds)
        return self.is_set


class Watched:
    """A kept server, which is watched for requests. While it lives, this process is named `KEPT`.

    Attributes:
        url: Address of the server.
        log: Its log file.
        idle_s: Seconds without a request after which it is idle.
    """

    def __init__(self, notice: dict[str, object]) -> None:
        self.url = str(notice["url"])
        self.log = Path(str(notice["log"]))
        self.idle_s = float(str(notice["idle_s"]))
        self._finished = -1.0
        self._active_s = time.monotonic()
        self._read_s = 0.0
        _control(PR_SET_NAME, KEPT.encode())

    def is_idle(self) -> bool:
        """Return whether no request has reached the server for `idle_s`.

        A server that does not answer for that long hangs, and counts as idle.
        """
        now_s = time.monotonic()
        if now_s - self._read_s > self.idle_s / 100:  # often enough, at little cost
            self._read_s = now_s
            open_requests, finished = requests_of(self.url)
            has_answered = finished >= 0
            if open_requests > 0 or (has_answered and finished != self._finished):
                self._active_s = time.monotonic()
                self._finished = finished
        return now_s - self._active_s > self.idle_s

    def withdraw(self, stop: Flag) -> None:
        """Show other processes that the server may no longer be used, and let open requests end."""
        _control(PR_SET_NAME, ENDING.encode())
        stop.wait(LAST_CALL_S)
        while not stop.is_set and requests_of(self.url)[0] > 0:
            stop.wait(POLL_S)

    def remove_log(self) -> None:
        """Delete the log, and its folder if it is empty then."""
        with suppress(OSError):
            self.log.unlink()
            self.log.parent.rmdir()


def requests_of(url: str) -> tuple[float, float]:
    """Return how many requests of a vLLM server are open and finished; (0, −1) without an answer.

    Args:
        url: The server's address on this machine. No proxy is used.
    """
    host = urlsplit(url)
    open_requests = 0.0
    finished = 0.0
    connection = http.client.HTTPConnection(host.hostname or "", host.port, timeout=READ_S)
    try:
        connection.request("GET", "/metrics")
        for name, value in COUNTER.findall(connection.getresponse().read()):
            if name.startswith(b"num"):
                open_requests += float(value)
            else:
                finished += float(value)
    except (OSError, ValueError, http.client.HTTPException):
        return 0.0, -1.0
    finally:
        connection.close()
    return open_requests, finished


def supervise(owner: int, notice: str, command: list[str]) -> int:
    """Run a command until it ends or must stop, then clean up.

    Args:
        owner: Process id of the owner, which is this process's parent.
        notice: The JSON that describes the server to other processes; "" if it is never kept.
        command: The program and its arguments.

    Returns:
        The command's exit status; negative for the signal that killed it.
    """
    stop = Flag()
    keep = Flag()
    server: Watched | None = None
    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(name, stop.set)
    signal.signal(signal.SIGUSR1, keep.set)
    child = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=_die_with_me
    )
    try:
        while child.poll() is None and not stop.wait(POLL_S):
            # Before the flag is read, since an owner sends its signal before it ends.
            is_orphan = os.getppid() != owner
            if server is None and keep.is_set:
                server = Watched(json.loads(notice))
            if server is None and is_orphan:
                break
            if server is not None and server.is_idle():
                break
    finally:
        has_died = child.poll() is not None
        if server is not None:
            server.withdraw(stop)
        _stop(child)
        if server is not None and not has_died:
            server.remove_log()
    return child.returncode


def _die_with_me() -> None:
    """Have the kernel stop the command if this process is killed. Runs in the command's process."""
    _control(PR_SET_PDEATHSIG, signal.SIGTERM)


def _control(option: int, value: int | bytes) -> None:
    """Set an option of this process (prctl), which only Linux has."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value)


def _stop(child: subprocess.Popen[bytes]) -> None:
    """Send the child's process group SIGTERM, and SIGKILL after the grace period."""
    _signal(child.pid, signal.SIGTERM)
    until_s = time.monotonic() + GRACE_S
    while _is_group_alive(child) and time.monotonic() < until_s:
        time.sleep(POLL_S / 4)
    _signal(child.pid, signal.SIGKILL)
    child.wait()


def _is_group_alive(child: subprocess.Popen[bytes]) -> bool:
    """Return whether the child's process group has a process that has not ended."""
    child.poll()  # a zombie stays in its group until it is waited for
    return _signal(child.pid, 0)


def _signal(group: int, number: int) -> bool:
    """Send a signal to a process group, or none for 0; return whether the group has a process."""
    try:
        os.killpg(group, number)
    except PermissionError:
        return True
    except ProcessLookupError:
        return False
    return True


if __name__ == "__main__":
    status = supervise(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
    sys.exit(status if status >= 0 else 128 - status)
