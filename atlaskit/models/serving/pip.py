"""Runs pip, and other programs of the server's environment, with their output in a log.

pip says what it does in its output, so the log tells how far an installation has come.
"""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

from atlaskit.models.serving.progress import Progress

POLL_S = 0.5
FOUND = re.compile(r"^ *(?:Collecting|Processing) (\S+)", re.MULTILINE)
FETCHED = re.compile(r"^ *(?:Downloading|Using cached) (\S+\.(?:whl|tar\.gz|zip)) \(([\d.]+) ?(\w+)\)", re.MULTILINE)
CONTROL = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")
"""Sequences with which pip's progress bars hide and show the cursor."""
UNPACKING = re.compile(r"^ *Installing collected packages: (.+)", re.MULTILINE)
LARGE_MB = 20
MEGABYTES = {"bytes": 1e-6, "kB": 1e-3, "MB": 1.0, "GB": 1e3}


def pip_command(folder: Path) -> list[str]:
    """Return the beginning of a pip command of an environment."""
    return [str(folder / "bin" / "python"), "-m", "pip", "--no-input", "--disable-pip-version-check"]


def succeeds(command: list[str], log: Path, progress: Progress, stage: str) -> bool:
    """Run a command to its end, with its output in the log; return whether it succeeded."""
    start = log.stat().st_size if log.exists() else 0
    already = installed_packages(log.parent)
    with log.open("ab") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        while process.poll() is None:
            output = _read_from(log, start)
            if unpacking := UNPACKING.search(output):
                count = min(len(unpacking[1].split(", ")), max(0, installed_packages(log.parent) - already))
                progress.update("unpacking", f"{count} of {len(unpacking[1].split(', '))} packages")
            else:
                progress.update(stage, downloads(output))
            time.sleep(POLL_S)
        return process.returncode == 0
    finally:
        process.kill()


def downloads(output: str) -> str:
    """Return how far pip has come, in words; "" if its output does not say.

    pip finds out which packages it needs while it downloads them, so only at the end does it know
    how many there are.

    Args:
        output: What pip has printed so far.
    """
    found = len(set(FOUND.findall(output)))
    if not found:
        return ""
    files = {name: float(size) * MEGABYTES.get(unit, 0.0) for name, size, unit in FETCHED.findall(output)}
    words = f"{found} packages found, {len(files)} fetched ({sum(files.values()):,.0f} MB)"
    last = next(reversed(files), "")
    is_large = last and files[last] >= LARGE_MB  # then pip may be silent for minutes
    return f"{words}, at {last.split('-')[0]} ({files[last]:,.0f} MB)" if is_large else words


def installed_packages(folder: Path) -> int:
    """Return the number of packages that an environment has."""
    return sum(1 for _ in folder.glob("lib/python*/site-packages/*.dist-info"))


def pip_reason(log: Path) -> str:
    """Return why pip failed: the last error in its log, or its last line."""
    lines = log.read_text(errors="replace").splitlines()
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return (errors or lines or ["pip printed nothing"])[-1].rstrip(". ")


def _read_from(log: Path, start: int) -> str:
    with log.open("rb") as file:
        file.seek(start)
        return CONTROL.sub("", file.read().decode(errors="replace"))
