"""`Console`: what a notebook prints while it runs headless, and which section it has reached.

On a terminal, output appears as the kernel sends it. In a log file, each state that a progress bar
leaves behind is one line.
"""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, TextIO

from atlaskit.models.serving.lock import HEARTBEAT_S, Progress

POLL_S = 0.5
HEADING = re.compile(r"^#{1,3} (.+)$", re.MULTILINE)


class Console:
    """The terminal or log file that shows a running notebook.

    A section is shown when its first cell starts, and again while nothing else is printed, so that
    a cell that takes minutes is not taken for one that hangs.

    Attributes:
        stdout: File that takes what the kernel writes to its standard output.
        stderr: File that takes what the kernel writes to its standard error.
    """

    def __init__(self, task: str, heartbeat_s: float = 2 * HEARTBEAT_S) -> None:
        """Print that the notebook starts.

        Args:
            task: The notebook, for the first line.
            heartbeat_s: Seconds without output after which the section is printed again.
        """
        self._lock = threading.RLock()
        self._shown_s = time.monotonic()
        self.stdout, self.stderr = KernelStream(self, sys.stdout), KernelStream(self, sys.stderr)
        self._progress, self._section, self._heartbeat_s = Progress(task), "starting the kernel", heartbeat_s
        self._is_over = threading.Event()
        self._beating = threading.Thread(target=self._beat, name="atlaskit-console", daemon=True)

    def cell_starts(self, *, cell: Mapping[str, Any], cell_index: int) -> None:
        """Show the section that a cell begins, if any; nbclient calls this for each cell."""
        if cell["cell_type"] != "markdown":
            return
        if headings := HEADING.findall(cell["source"]):
            with self._lock:
                self._section = headings[-1]
                self._show_section()

    def print(self, text: str, target: TextIO) -> None:
        """Write text to the terminal or the log file at once."""
        with self._lock:
            target.write(text)
            target.flush()
            self._shown_s = time.monotonic()

    def __enter__(self) -> Console:
        self._beating.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._beating.join()
        self._end_lines()

    def done(self, outcome: str) -> None:
        """Print how the notebook ended, and how long it took."""
        self._progress.done(outcome)

    def _beat(self) -> None:
        while not self._is_over.wait(min(POLL_S, self._heartbeat_s)):
            with self._lock:
                if time.monotonic() - self._shown_s >= self._heartbeat_s:
                    self._show_section()

    def _show_section(self) -> None:
        self._end_lines()
        self._progress.show(self._section)
        self._shown_s = time.monotonic()

    def _end_lines(self) -> None:
        """Show a bar or line that has not ended, so that the next line does not continue it."""
        for stream in (self.stdout, self.stderr):
            stream.end_line()


class KernelStream:
    """A file that shows one of the kernel's output streams.

    The kernel is no terminal, so its progress bars end lines by a carriage return. A terminal shows
    them in place; in a log file only the last state before a line ends, or before something else is
    printed, becomes a line.
    """

    def __init__(self, console: Console, target: TextIO) -> None:
        self._console, self._target, self._line = console, target, ""

    def write(self, text: str) -> int:
        """Take text from the kernel; return its number of characters."""
        *ended, self._line = (self._line + text).split("\n")
        if self._target.isatty():
            self._console.print(text, self._target)
        elif ended:
            self._console.print("".join(f"{_last_state(line)}\n" for line in ended), self._target)
        return len(text)

    def flush(self) -> None:
        """Do nothing: `write` flushes."""

    def end_line(self) -> None:
        """End the line that was begun; the kernel may still send later states of it."""
        if (state := _last_state(self._line)) and not self._target.isatty():
            self._console.print(f"{state}\n", self._target)
        elif state:
            self._console.print("\n", self._target)
        self._line = ""


def _last_state(line: str) -> str:
    """Return the last state of a line that carriage returns have overwritten."""
    return line.rstrip("\r").rpartition("\r")[2]
