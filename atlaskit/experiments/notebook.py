"""`run_notebook`: runs one notebook with papermill in its own folder, and refuses undeclared
parameters.

Papermill only warns about a parameter that the notebook does not declare; here it is an error.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from atlaskit.errors import AtlasError, InputError
from atlaskit.experiments.console import Console

CELL_TIMEOUT_S = 3600
BAR_SIZE = {"TQDM_NCOLS": "100", "TQDM_NROWS": "20"}
"""Environment variables from which tqdm takes the size of a terminal."""
FIGURES = "figures_dir"
"""The parameter that names the folder a notebook writes its figures and tables to."""


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
    try:
        declared = papermill.inspect_notebook(str(path))
        return {name: str(each["default"]) for name, each in declared.items()}
    except (ValueError, KeyError) as error:  # not JSON, not a notebook, or without a kernel language
        raise InputError(f"{path} is not a notebook that can be run ({error}).") from error


def run_notebook(path: Path, out: Path, parameters: Mapping[str, Any] | None = None) -> Path:
    """Execute a notebook, print what its cells print, and return the path of the executed copy.

    Sections and output appear as the notebook reaches them.

    Args:
        path: The notebook.
        out: Folder for the executed copy, created if missing. It is also the default of a parameter
            `figures_dir`, so that everything that belongs to one run lies in one folder.
        parameters: Values that override those of the cell tagged `parameters`.

    Raises:
        InputError: The notebook is missing, or does not declare one of the parameters.
        NotebookError: A cell failed; the message names the cell and the reason.
    """
    import papermill
    from nbclient.exceptions import CellTimeoutError, DeadKernelError
    from papermill.exceptions import PapermillExecutionError

    parameters = dict(parameters or {})
    declared = declared_in(path)
    unknown = sorted(parameters.keys() - declared)
    if unknown:
        raise InputError(f"{path.name} has no parameter {unknown[0]!r}; it has {', '.join(sorted(declared))}.")
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
                stderr_file=console.stderr,  # papermill drops the kernel's standard error without it
                on_cell_start=console.cell_starts,
                coalesce_streams=True,  # keeps only the last state of a progress bar
                execution_timeout=CELL_TIMEOUT_S,
                store_widget_state=False,
                extra_arguments=["--IPKernelApp.log_level=50"],  # hides warnings about loopback and the final signal
            )
    except PapermillExecutionError as error:
        raise NotebookError(
            f"{path.name} failed in cell {error.exec_count}: {error.ename}: {error.evalue} (executed copy: {executed})."
        ) from error
    except (CellTimeoutError, DeadKernelError) as error:
        raise NotebookError(
            f"{path.name} did not finish: {str(error).splitlines()[0]} (executed copy: {executed})."
        ) from error
    console.done(str(executed))
    return executed


@contextmanager
def _bars_of_fixed_width() -> Iterator[None]:
    """Let kernels draw progress bars of one width.

    A kernel measures the terminal it was started from, and keeps what it drew in the executed copy.
    """
    added = {name: value for name, value in BAR_SIZE.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)
