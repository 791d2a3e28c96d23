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

from atlaskit.errors import AtlasError
from atlaskit.experiments.notebook import NotebookError, run_notebook


def run_apart(path: Path, out: Path, parameters: Mapping[str, Any]) -> str:
    """Execute a notebook in another process and return what that printed.

    Args:
        path: The notebook.
        out: Folder for the executed copy.
        parameters: Values that override those of the cell tagged `parameters`, as JSON can hold.

    Raises:
        NotebookError: The notebook failed; the message is that of `run_notebook`.
    """
    command = [sys.executable, "-m", "atlaskit.experiments.apart", str(path), str(out), json.dumps(dict(parameters))]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", errors="replace", check=False)
    if done.returncode:
        print(done.stdout, end="", flush=True)
        lines = done.stderr.strip().splitlines() or [f"{path.name} ended with status {done.returncode}."]
        raise NotebookError(lines[-1])
    return done.stdout


def main(path: str, out: str, parameters: str) -> str | None:
    """Run one notebook; return the reason if it fails."""
    try:
        run_notebook(Path(path), Path(out), json.loads(parameters))
    except AtlasError as error:
        return str(error)
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
