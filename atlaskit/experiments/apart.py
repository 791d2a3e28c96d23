"""`run_apart`: runs a notebook in a process of its own, so that several run at a time.

What its cells print is returned rather than printed, so that the outputs of notebooks do not mix.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from atlaskit.experiments.notebook import NotebookError


def run_apart(path: Path, out: Path, parameters: Mapping[str, Any]) -> str:
    """Execute a notebook by `atlaskit run` and return what that printed.

    Args:
        path: The notebook.
        out: Folder for the executed copy.
        parameters: Values that override those of the cell tagged `parameters`, as JSON can hold.

    Raises:
        NotebookError: The notebook failed; the message is that of `run_notebook`.
    """
    words = [word for name, value in parameters.items() for word in ("-p", name, json.dumps(value))]
    command = [sys.executable, "-m", "atlaskit", "run", str(path), "--out", str(out), *words]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", errors="replace", check=False)
    if done.returncode:
        print(done.stdout, end="", flush=True)
        lines = done.stderr.strip().splitlines() or [f"{path.name} ended with status {done.returncode}."]
        raise NotebookError(lines[-1].removeprefix("atlaskit: "))
    return done.stdout
