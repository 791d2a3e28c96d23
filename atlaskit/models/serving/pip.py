"""Runs pip, and other programs of the server's environment, with their output in a log."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from atlaskit.models.serving.progress import Progress

POLL_S = 0.5


def pip_command(folder: Path) -> list[str]:
    """Return the beginning of a pip command of an environment."""
    return [str(folder / "bin" / "python"), "-m", "pip", "--no-input", "--disable-pip-version-check"]


def succeeds(command: list[str], log: Path, progress: Progress, stage: str) -> bool:
    """Run a command to its end, with its output in the log; return whether it succeeded."""
    with log.open("ab") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        while process.poll() is None:
            progress.update(stage)
            time.sleep(POLL_S)
        return process.returncode == 0
    finally:
        process.kill()


def pip_reason(log: Path) -> str:
    """Return why pip failed: the last error in its log, or its last line."""
    lines = log.read_text(errors="replace").splitlines()
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return (errors or lines or ["pip printed nothing"])[-1].rstrip(". ")
