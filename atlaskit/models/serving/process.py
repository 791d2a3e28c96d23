"""`ServerProcess`: starts vLLM below the supervisor, with its log, and stops it.

vLLM runs below a supervisor (`supervisor`), which stops it when this process dies, unless it is
kept for others by then (`kept`).
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from atlaskit.errors import printable
from atlaskit.models.errors import ServerError
from atlaskit.models.http import Endpoint, HttpFailure, parsed
from atlaskit.models.identity import entries
from atlaskit.models.serving import supervisor
from atlaskit.models.serving.lock import last_line
from atlaskit.models.serving.progress import Progress

POLL_S = 0.25
START_S = 3600.0
"""Most seconds that a start may take: a large model is downloaded first."""
GENERIC = (
    "Engine core initialization failed", "failed to be inspected", "Error raised in subprocess", "non-zero exit",
    "EngineCore encountered an issue", "please check the stack trace",
)  # fmt: skip
"""Phrases of errors that only repeat that an earlier error occurred."""
PREFIX = re.compile(r"\A(\(.*?pid=\d+\) )?((ERROR|CRITICAL) [\d-]+ [\d:]+ \[.*?\] ?)?")
"""What vLLM writes before a line: the process, the level, the time."""
FAULT = re.compile(r"\A(?:(?:[\w.]+\.)?(\w+(?:Error|Exception)): (.+)|\S+: error: (.+))")
"""The last line of a Python traceback, or an error of argparse."""


class ServerProcess:
    """A running server that this process started.

    Attributes:
        supervisor: The supervisor's process. It lives as long as the server.
    """

    def __init__(self, model: str, command: list[str], log: Path, environment: dict[str, str], told: str = "") -> None:
        """Start the server. It may take minutes until it answers: see `wait_until_ready`.

        Args:
            model: The model, for messages.
            command: The command that starts vLLM.
            log: The file that its output goes to, in a folder of its own.
            environment: Environment variables of the server.
            told: What others may know of the server once it is kept, see `kept.told_of`.

        Raises:
            OSError: If the process cannot be started.
        """
        self._model, self._log = model, log
        self._is_ready = self._is_stopped = False
        script = [sys.executable, "-I", supervisor.__file__, str(os.getpid()), told]
        with log.open("wb") as output:
            # In a session of its own: Ctrl-C reaches only this process, which stops the server.
            self.supervisor = subprocess.Popen(
                [*script, *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment,
                cwd=log.parent if told else None,  # a kept server must not hold the user's folder
                start_new_session=True,
            )

    @property
    def is_alive(self) -> bool:
        """Whether the server has neither ended nor been stopped."""
        return self.supervisor.poll() is None

    def wait_until_ready(self, url: str, name: str, progress: Progress, cancel: threading.Event | None = None) -> None:
        """Wait until the server lists its model.

        Args:
            url: Address of the server, without /v1.
            name: The name the model is served under.
            progress: Where the stages of the start are shown.
            cancel: Set by a caller that no longer needs the server.

        Raises:
            ServerError: If the server ends or is stopped before, takes too long, is cancelled, or
                another server answers in its place.
        """
        deadline_s = time.monotonic() + START_S
        while True:
            if not self.is_alive:
                raise self.failure("was stopped" if self._is_stopped else "did not start")
            if cancel is not None and cancel.is_set():
                raise ServerError(f"The start of {self._model} was cancelled.")
            if time.monotonic() > deadline_s:
                raise self.failure(f"was not ready within {START_S:g} s")
            progress.update("starting", last_line(self._log).rpartition("] ")[2])
            if not (names := served_models(f"{url}/v1")):
                time.sleep(POLL_S)
                continue
            if name not in names:
                raise ServerError(f"Another server (of {', '.join(names)}) has taken {url}: start again.")
            self._is_ready = True
            progress.done(f"vLLM serves {name} at {url}/v1")
            return

    def stop(self, *, keep_log: bool) -> None:
        """Stop all processes of the server and wait until they have ended.

        Args:
            keep_log: Whether to keep the log. It is kept anyway if the server was never ready or
                has died.
        """
        was_healthy = self._is_ready and self.is_alive
        self._is_stopped = True
        self.supervisor.terminate()
        self.supervisor.wait()
        if was_healthy and not keep_log:
            shutil.rmtree(self._log.parent, ignore_errors=True)

    def failure(self, what: str) -> ServerError:
        """Return the error that the server `what` ("did not start"), with the reason in its log."""
        log = self._log
        text = log.read_text(errors="replace") if log.is_file() else ""  # someone may have cleaned /tmp
        why, status = failure_reason(text), self.supervisor.poll()
        if not why and status is None:
            why = "its log gives no reason"
        elif not why and status == 128 + signal.SIGKILL:
            why = "it was killed, most likely for lack of memory"
        elif not why:
            why = f"it ended with status {status}"
        return ServerError(f"The server of {self._model} {what}: {printable(why)}. Its log is {log}.")


def failure_reason(log: str) -> str:
    """Return why a server did not start, by the text of its log; "" if the log does not say."""
    lines = [PREFIX.sub("", line) for line in log.splitlines()]
    reasons = []
    for number, line in enumerate(lines):
        found = FAULT.match(line)
        if not found:
            continue
        message = found[3] or found[2]
        if found[1] == "ValidationError":  # pydantic's: the reason is in the lines that follow
            rest = "\n".join(lines[number + 1 : number + 12]).partition("For further information")[0]
            message = rest.partition("[type=")[0].replace("Value error, ", "")
        reasons.append(" ".join(message.split())[:400].rstrip(". "))
    specific = [reason for reason in reasons if reason and not any(phrase in reason for phrase in GENERIC)]
    return (specific or reasons or [""])[-1]


def served_models(url: str) -> list[str]:
    """Return the names of the models that an endpoint lists; [] if it does not answer."""
    try:
        return [name for name, _ in entries(parsed(Endpoint(url).exchange("models", timeout_s=2)[0]))]
    except HttpFailure:
        return []


def is_free(port: int) -> bool:
    """Return whether nothing listens on a port of 127.0.0.1."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def free_port() -> int:
    """Return a port of 127.0.0.1 that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
