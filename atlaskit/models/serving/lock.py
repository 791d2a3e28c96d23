"""Installs packages at the versions that were tested, and shows the progress.

Contents:
    `install_locked`: installs the packages of an environment. `requirements.lock` lists them for
        every Python and platform; `make lock` writes it (`tools/lock.py`).
    `Progress`: the stages of a task that takes minutes, in lines for a terminal, a notebook or a
        log.

This module runs before anything is installed, so it imports only the standard library.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

HEARTBEAT_S = 10.0
"""Seconds after which a stage is printed again, to show that it still goes on."""


class Progress:
    """Prints the start of a task, its stages and its duration to stderr."""

    def __init__(self, task: str) -> None:
        """Print that a task begins.

        Args:
            task: The task, such as "starting vLLM".
        """
        self._stage = ""
        self._began_s = self._printed_s = time.monotonic()
        print(f"▸ {task} …", file=sys.stderr, flush=True)

    def update(self, stage: str, detail: str = "") -> None:
        """Print a stage when it begins, and again from time to time while it lasts.

        Args:
            stage: The stage, such as "downloading".
            detail: How far the stage has come, such as "3 of 110 packages". A new detail is not
                printed at once, but with the next line.
        """
        now_s = time.monotonic()
        if stage != self._stage or now_s - self._printed_s > HEARTBEAT_S:
            self._stage = stage
            self._printed_s = now_s
            self.show(f"{stage}: {detail}" if detail else stage)

    def show(self, text: str) -> None:
        """Print a line with the seconds since the task began."""
        print(f"  {time.monotonic() - self._began_s:3.0f} s  {text}", file=sys.stderr, flush=True)

    def done(self, outcome: str) -> None:
        """Print what the task has reached, and how long it took."""
        print(f"✓ {outcome}: {time.monotonic() - self._began_s:.1f} s", file=sys.stderr, flush=True)


LOCK = Path(__file__).resolve().parents[2] / "requirements.lock"
ENTRY = re.compile(r"^([A-Za-z0-9].*\n(?:[ \t]+--hash.*\n)*)    # (.*)\n", re.MULTILINE)
"""A requirement with its lines of hashes, and below it the extras that need it."""
POLL_S = 0.5
CONTROL = re.compile(r"\x1b\[[\d;?]*[A-Za-z]|^.*\r")
"""Terminal sequences of progress bars, and the text that they have overwritten."""
TAIL_BYTES = 4096
TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"
"""PyTorch's index of CPU builds, for machines whose own package index lacks them."""


class NotInstalled(Exception):
    """Packages could not be installed; the message is pip's reason and the path of its log."""


def locked(*extras: str, lock: Path = LOCK) -> tuple[str, list[str]]:
    """Return the packages that extras of atlaskit need, with their dependencies.

    Args:
        extras: Names of the extras, such as "notebook"; they share an environment.
        lock: The file of versions.

    Returns:
        The text of a file of requirements with hashes, and the requirements that have none.
    """
    rows = ENTRY.findall(lock.read_text(encoding="utf-8"))
    entries = [entry for entry, users in rows if not set(extras).isdisjoint(users.split())]
    return (
        "".join(entry for entry in entries if "--hash" in entry),
        [entry.strip() for entry in entries if "--hash" not in entry],
    )


def install_locked(
    folder: Path,
    extras: tuple[str, ...],
    progress: Progress,
    more: tuple[str, ...] = (),
) -> None:
    """Install what extras of atlaskit need into an environment that exists.

    Args:
        folder: The environment.
        extras: Names of the extras.
        progress: Where the stages are shown.
        more: More options of pip.

    Raises:
        NotInstalled: If pip fails.
    """
    hashed, others = locked(*extras)
    requirements = folder / "requirements.txt"
    requirements.write_text(hashed, encoding="utf-8")
    if others:  # first, so that nothing else is downloaded if these cannot be had
        pip_install(folder, ["--no-deps", *more, *others], progress, TORCH_CPU_INDEX)
    pip_install(folder, ["--no-deps", *more, "--require-hashes", "-r", str(requirements)], progress)


def pip_install(
    folder: Path, arguments: list[str], progress: Progress, more_index: str = ""
) -> None:
    """Run `pip install`; if it fails, run it again with one more index.

    Args:
        folder: The environment.
        arguments: Options of pip, and requirements.
        progress: Where the stages are shown.
        more_index: The URL of the other index; "" for no second run.

    Raises:
        NotInstalled: If pip fails.
    """
    pip = [str(folder / "bin" / "python"), "-m", "pip", "--no-input", "--disable-pip-version-check"]
    log = folder / "install.log"
    install = [*pip, "install"]
    if succeeds([*install, *arguments], log, progress, "downloading"):
        return
    lines = log.read_text(errors="replace").splitlines()
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    first_reason = (errors or lines or ["pip printed nothing"])[-1].rstrip(". ")
    retry = [*install, f"--extra-index-url={more_index}", *arguments]
    if not more_index or not succeeds(retry, log, progress, f"trying {more_index} too"):
        raise NotInstalled(f"{first_reason}. pip's log is {log}")


def succeeds(command: list[str], log: Path, progress: Progress, stage: str) -> bool:
    """Run a command to its end and add its output to the log; return whether it succeeded."""
    with log.open("ab") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        while process.poll() is None:
            progress.update(stage, last_line(log))
            time.sleep(POLL_S)
        return process.returncode == 0
    finally:
        process.kill()


def last_line(log: Path) -> str:
    """Return up to 80 characters of a log's last line, warnings left out; "" if there is none."""
    if not log.is_file():  # someone has cleaned the folder of temporary files
        return ""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - TAIL_BYTES))
        lines = file.read().decode(errors="replace").splitlines()
    for line in reversed(lines):
        words = CONTROL.sub("", line).strip()
        if words and not words.startswith("WARNING: "):  # pip repeats its warnings
            return words[:80]
    return ""
