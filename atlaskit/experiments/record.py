"""`NotebookRun`: what is kept of one execution of a notebook, in `index.json` beside the page.

Of each file that a run wrote, the record holds the hash. A file that something else has overwritten
since is therefore never shown with the settings of the earlier run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

RECORD = "index.json"
"""File beside the page that lists the runs on it."""


@dataclass(frozen=True)
class NotebookRun:
    """One execution of a notebook."""

    name: str
    """Name of the notebook's file, without the suffix."""
    title: str
    when: str
    seconds: float
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings shared by all notebooks of one `run_all`."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Values of all the parameters that the notebook declares."""
    files: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each file it wrote, by the file's name relative to the page."""
    captions: Mapping[str, str] = field(default_factory=dict)
    """A sentence on each figure that it saves, by the name of the figure's file without suffix."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Version of each program that it depends on."""
    failure: str = ""
    """The failed cell and the reason, in a sentence; empty on success."""

    def is_intact(self, out: Path) -> bool:
        """Return whether all files of the run are still in a folder as the run left them."""
        return all((out / name).is_file() and digest(out / name) == kept for name, kept in self.files.items())

    def is_like(self, other: NotebookRun) -> bool:
        """Return whether two runs had the same settings and the same version of the kit."""
        return (dict(self.settings), self.versions.get("atlaskit")) == (
            dict(other.settings),
            other.versions.get("atlaskit"),
        )


def made_since(out: Path, name: str, since_s: float) -> list[str]:
    """Return the names of the files in `out` that a notebook wrote since a time.

    A file belongs to the notebook if its name starts with the notebook's; `since_s` is in seconds
    since the epoch, compared with modification times.
    """
    files = (path for path in out.glob(f"{name}*") if path.stem == name or path.stem.startswith(f"{name}_"))
    return sorted(path.name for path in files if path.is_file() and path.stat().st_mtime >= since_s)


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_record(out: Path) -> list[NotebookRun]:
    """Return the runs listed beside the page; none if the list is missing or unreadable."""
    try:
        runs = [NotebookRun(**each) for each in json.loads((out / RECORD).read_text(encoding="utf-8"))]
        return [each for each in runs if _is_sound(each)]
    except (OSError, ValueError, TypeError):
        return []


def write_record(out: Path, runs: Iterable[NotebookRun]) -> None:
    """Write the list of runs beside the page."""
    (out / RECORD).write_text(json.dumps([asdict(each) for each in runs], indent=1) + "\n", encoding="utf-8")


def _is_sound(run: NotebookRun) -> bool:
    """Return whether a run from a file has the types of its fields and names files of the folder.

    An older version of the kit listed the names of files without hashes.
    """
    tables = (run.settings, run.parameters, run.files, run.captions, run.versions)
    if not all(isinstance(each, dict) for each in tables) or not isinstance(run.seconds, int | float):
        return False
    return all(Path(name).name == name for name in run.files)
