"""Runs one notebook with papermill and without a browser, in this process or in another.

* `run_notebook`: runs a notebook in its own folder. Papermill only warns about a parameter that the
  notebook does not declare; here it is an error.
* `Console`: shows what a notebook prints while it runs. On a terminal, output appears as the kernel
  sends it. In a log file, a progress bar becomes one line.
* `run_apart`: runs a notebook in another process and returns its output, so that the outputs of
  notebooks that run at the same time do not mix.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from atlaskit.errors import AtlasError, InputError, reason
from atlaskit.models.serving.lock import HEARTBEAT_S, Progress

CELL_TIMEOUT_S = 3600
"""Seconds after which a cell counts as hung."""
BAR_SIZE = {"TQDM_NCOLS": "100", "TQDM_NROWS": "20"}
"""Environment variables that give tqdm, the library of progress bars, the size of a terminal."""
FIGURES = "figures_dir"
"""The parameter that names the folder for a notebook's figures and tables."""


class NotebookError(AtlasError):
    """A cell of a notebook failed, timed out, or its kernel died."""


def declared_in(path: Path) -> dict[str, str]:
    """Return the parameters that a notebook declares, by name, with their values as source text.

    Raises:
        InputError: The file is missing or is not a notebook.
    """
    import papermill

    if not path.is_file():
        raise InputError(f"There is no notebook {path}.")
    if path.suffix != ".ipynb":
        raise InputError(f"The name of a notebook ends in .ipynb; got {path}.")
    try:
        declared = papermill.inspect_notebook(str(path))
        return {name: str(each["default"]) for name, each in declared.items()}
    except (ValueError, KeyError) as error:  # no JSON, no notebook, or no language of a kernel
        raise InputError(f"{path} is not a notebook that can be run ({error}).") from error


def run_notebook(path: Path, out: Path, parameters: Mapping[str, Any] | None = None) -> Path:
    """Execute a notebook, and print its sections and output as they come.

    Args:
        path: The notebook.
        out: Folder for the executed copy, created if missing. It is also the default of a parameter
            `figures_dir`, so that all files of one run are in one folder.
        parameters: Values that override those of the cell tagged `parameters`.

    Returns:
        The executed copy.

    Raises:
        InputError: The notebook is missing, or does not declare one of the parameters.
        NotebookError: A cell failed; the message names the cell and the reason.
    """
    import papermill
    from nbclient.exceptions import CellTimeoutError
    from papermill.exceptions import PapermillExecutionError

    parameters = dict(parameters or {})
    declared = declared_in(path)
    unknown = sorted(parameters.keys() - declared)
    if unknown:
        raise InputError(
            f"{path.name} has no parameter {unknown[0]!r}; it has {', '.join(sorted(declared))}."
        )
    out.mkdir(parents=True, exist_ok=True)
    executed = out.resolve() / path.name
    if FIGURES in declared:
        parameters.setdefault(FIGURES, os.path.relpath(out.resolve(), path.resolve().parent))
    console = Console(str(path))
    try:
        with console, _bars_of_fixed_width():
            papermill.execute_notebook(
                str(path.resolve()),
                str(executed),
                parameters=parameters,
                cwd=str(path.resolve().parent),
                kernel_name="python3",
                progress_bar=False,  # the console shows the sections instead
                stdout_file=console.stdout,
                stderr_file=console.stderr,  # without a file, papermill drops standard error
                on_cell_start=console.cell_starts,
                coalesce_streams=True,  # keeps only the last state of a progress bar
                execution_timeout=CELL_TIMEOUT_S,
                store_widget_state=False,
                # Hides warnings about the loopback address and the final signal.
                extra_arguments=["--IPKernelApp.log_level=50"],
            )
    except PapermillExecutionError as error:
        raise NotebookError(
            f"{path.name} failed in cell {error.exec_count}: {error.ename}: {error.evalue} "
            f"(executed copy: {executed})."
        ) from error
    except (CellTimeoutError, RuntimeError) as error:
        # nbclient raises RuntimeError if a kernel does not start or dies.
        raise NotebookError(
            f"{path.name} did not finish: {reason(error).splitlines()[0]} (executed copy: "
            f"{executed})."
        ) from error
    console.done(str(executed))
    return executed


@contextmanager
def _bars_of_fixed_width() -> Iterator[None]:
    """Give the progress bars of kernels one width, unless the user's environment sets it.

    Otherwise a bar has the width of the terminal, and the executed copy depends on the terminal.
    """
    added = BAR_SIZE.keys() - os.environ.keys()
    for name in added:
        os.environ[name] = BAR_SIZE[name]
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


POLL_S = 0.5
"""Seconds between two looks at whether the section must be shown again."""
HEADING = re.compile(r"^#{1,3} (.+)$", re.MULTILINE)


class Console:
    """The terminal or log file that shows a running notebook.

    A section is shown when its first cell starts, and again while nothing else is printed, so that
    a reader sees that a long cell still runs.

    Attributes:
        stdout: File for the standard output of the kernel.
        stderr: File for the standard error of the kernel.
    """

    def __init__(self, task: str, heartbeat_s: float = 2 * HEARTBEAT_S) -> None:
        """Print that the notebook starts.

        Args:
            task: The notebook, for the first line.
            heartbeat_s: Seconds without output after which the section is printed again.
        """
        self._lock = threading.RLock()  # `_show_section` holds it while `print` takes it again
        self._shown_s = time.monotonic()
        self.stdout = KernelStream(self, sys.stdout)
        self.stderr = KernelStream(self, sys.stderr)
        self._progress = Progress(task)
        self._section = "starting the kernel"
        self._heartbeat_s = heartbeat_s
        self._is_over = threading.Event()
        self._heartbeat = threading.Thread(target=self._beat, name="atlaskit-console", daemon=True)

    def cell_starts(self, *, cell: Mapping[str, Any], cell_index: int) -> None:
        """Show the section that a cell begins, if any; nbclient calls this for each cell."""
        if cell["cell_type"] != "markdown":
            return
        headings = HEADING.findall(cell["source"])
        if headings:
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
        self._heartbeat.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_over.set()
        self._heartbeat.join()
        self._end_lines()

    def done(self, outcome: str) -> None:
        """Print how the notebook ended, and how long it took."""
        self._progress.done(outcome)

    def _beat(self) -> None:
        """Show the section again whenever nothing was printed for a while."""
        while not self._is_over.wait(min(POLL_S, self._heartbeat_s)):
            with self._lock:
                if time.monotonic() - self._shown_s >= self._heartbeat_s:
                    self._show_section()

    def _show_section(self) -> None:
        """Print the current section on a line of its own."""
        self._end_lines()
        self._progress.show(self._section)
        self._shown_s = time.monotonic()

    def _end_lines(self) -> None:
        """Show a bar or line that has not ended, so that the next line does not continue it."""
        for stream in (self.stdout, self.stderr):
            stream.end_line()


class KernelStream:
    """A file that shows one of the kernel's output streams.

    A progress bar in a kernel overwrites its line with carriage returns. A terminal shows this in
    place. In a log file, only the last state of the line is written, when the line ends or before
    something else is printed.
    """

    def __init__(self, console: Console, target: TextIO) -> None:
        self._console = console
        self._target = target
        self._line = ""

    def write(self, text: str) -> int:
        """Take text from the kernel; return its number of characters."""
        lines = (self._line + text).split("\n")
        self._line = lines.pop()
        if self._target.isatty():
            self._console.print(text, self._target)
        elif lines:
            ended = "".join([f"{_last_state(line)}\n" for line in lines])
            self._console.print(ended, self._target)
        return len(text)

    def flush(self) -> None:
        """Do nothing: `write` flushes."""

    def end_line(self) -> None:
        """End the current line unless it is empty; the kernel may still send later states of it."""
        state = _last_state(self._line)
        if state:
            missing = "" if self._target.isatty() else state  # a terminal shows the line already
            self._console.print(f"{missing}\n", self._target)
        self._line = ""


def _last_state(line: str) -> str:
    """Return the last state of a line that carriage returns have overwritten."""
    return line.rstrip("\r").rpartition("\r")[2]


def run_apart(path: Path, out: Path, parameters: Mapping[str, Any]) -> str:
    """Execute a notebook in another process and return its output.

    Args:
        path: The notebook.
        out: Folder for the executed copy.
        parameters: Values that override those of the cell tagged `parameters`; only such as JSON
            can hold.

    Raises:
        NotebookError: The notebook failed; the message is that of `run_notebook`.
    """
    command = [
        sys.executable,
        "-m",
        "atlaskit.experiments.notebook",
        str(path),
        str(out),
        json.dumps(dict(parameters)),
    ]
    process = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", errors="replace", check=False
    )
    if process.returncode:
        print(process.stdout, end="", flush=True)
        lines = process.stderr.strip().splitlines()
        if not lines:
            raise NotebookError(f"{path.name} ended with status {process.returncode}.")
        raise NotebookError(lines[-1])
    return process.stdout


def main(path: str, out: str, parameters: str) -> str | None:
    """Run one notebook; return the error message if it fails."""
    try:
        run_notebook(Path(path), Path(out), json.loads(parameters))
    except AtlasError as error:
        return str(error)
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
