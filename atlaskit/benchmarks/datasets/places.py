"""`VideoPlaces`: finds the video of a row where a dataset or its mirrors put it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from atlaskit.benchmarks.datasets.files import find_inside

SUFFIXES = ("mp4", "MP4", "mkv", "webm", "avi", "mov")


@dataclass(frozen=True)
class VideoPlaces:
    """Folders that may hold videos, each directly or one level below.

    Names come from untrusted rows; none leads out of the folder in which it is looked for.
    """

    home: Path
    """Folder of the dataset."""
    folders: tuple[str, ...]
    """Folders inside `home`, in the order in which they are searched; "" is `home` itself."""
    _found: dict[str, Path | None] = field(default_factory=dict, repr=False, compare=False)
    _opened: list[Path] = field(default_factory=list, repr=False, compare=False)

    def find(self, name: str) -> Path | None:
        """Return the file of a video, named without its suffix; None if there is none."""
        if name not in self._found:
            candidates = (find_inside(folder, f"{name}.{suffix}") for folder in self._all() for suffix in SUFFIXES)
            self._found[name] = next(filter(None, candidates), None)
        return self._found[name]

    def _all(self) -> list[Path]:
        """Return the folders that exist, then those one level below them."""
        if not self._opened:
            present = [folder for name in self.folders if (folder := self.home / name).is_dir()]
            self._opened.extend(dict.fromkeys([*present, *(inner for folder in present for inner in _below(folder))]))
        return self._opened


def _below(folder: Path) -> list[Path]:
    """Return the folders in a folder; none if it cannot be read."""
    try:
        return [path for path in sorted(folder.iterdir()) if path.is_dir()]
    except OSError:
        return []
