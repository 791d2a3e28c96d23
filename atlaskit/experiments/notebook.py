"""Run a notebook headless, as JupyterLab would: a fresh kernel, in the notebook's own folder.

What papermill lets pass is refused here: a parameter that the notebook does not declare.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from atlaskit.errors import AtlasError, InputError

CELL_TIMEOUT_S = 3600


class NotebookError(AtlasError):
    """A notebook that stopped at one of its cells."""


def declared_in(path: Path) -> dict[str, str]:
    """Return the parameters that a notebook declares, and their values as they are written there; raise InputError for
    what is no notebook."""
    import papermill

    if not path.is_file():
        raise InputError(f"There is no notebook {path}.")
    try:
        declared = papermill.inspect_notebook(str(path))
        return {name: str(each["default"]) for name, each in declared.items()}
    except (ValueError, KeyError) as error:  # what is not JSON, not a notebook, or names no language
        raise InputError(f"{path} is not a notebook that can be run ({error}).") from error


def run_notebook(path: Path, out: Path, parameters: Mapping[str, Any] | None = None) -> Path:
    """Execute a notebook; return where the executed copy is kept.

    What its cells print is printed here too. Raises InputError for a notebook that is not there or a parameter it
    does not declare, NotebookError (with the cell and the reason) when a cell fails.
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
    began = time.monotonic()
    print(f"── {path}", flush=True)
    try:
        papermill.execute_notebook(
            str(path.resolve()),
            str(executed),
            parameters=parameters,
            cwd=str(path.resolve().parent),
            kernel_name="python3",
            progress_bar=sys.stderr.isatty(),
            stdout_file=sys.stdout,
            execution_timeout=CELL_TIMEOUT_S,
            store_widget_state=False,
            extra_arguments=["--IPKernelApp.log_level=50"],  # else it tells of loopback, and of the signal that ends it
        )
    except PapermillExecutionError as error:
        raise NotebookError(
            f"{path.name} failed in cell {error.exec_count}: {error.ename}: {error.evalue} (kept in {executed})."
        ) from error
    except (CellTimeoutError, DeadKernelError) as error:
        raise NotebookError(
            f"{path.name} did not finish: {str(error).splitlines()[0]} (kept in {executed})."
        ) from error
    print(f"── {executed} ({time.monotonic() - began:.1f} s)", flush=True)
    return executed
