"""`Folders`: the folders whose files an assistant may open.

An assistant may be told by a web page or a subtitle to open a file. So a name counts only after
links and `..` are resolved, and only the resolved path is opened.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from atlaskit.errors import InputError, VideoError, printable, reason
from atlaskit.video.names import local_path, no_such_file

VIDEO_SUFFIXES = (
    *(".3gp", ".asf", ".avi", ".flv", ".m2ts", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".mts", ".mxf"),
    *(".ogv", ".ts", ".vob", ".webm", ".wmv"),
)
MAX_LISTED, MAX_VISITED = 200, 20_000
"""Most videos that are listed, and most files whose names are looked at for them."""


class Folders:
    """Folders on this machine, whose files may be opened, at any depth."""

    def __init__(self, folders: Sequence[str | os.PathLike[str]]) -> None:
        """Resolve the folders.

        Raises:
            InputError: One of them is no folder.
        """
        self.paths = tuple(_folder(folder) for folder in folders)

    def resolve(self, name: str) -> Path:
        """Return the path of a file that an assistant names, without links in it.

        Args:
            name: A path, absolute or from one of the folders, or a `file://` URL.

        Raises:
            InputError: The file is in none of the folders, or it is no regular file.
            VideoError: There is no such file, or the name is that of something elsewhere.
        """
        named = local_path(name)
        places = [named] if named.is_absolute() else [folder / named for folder in self.paths]
        inside = [path for path in map(_resolved, places) if self._holds(path)]
        if not inside:
            raise InputError(
                f"{printable(name, 200)} is outside the folders that may be read ({self}): name a file inside them."
            )
        path = next(filter(Path.exists, inside), inside[0])
        if not path.exists():
            raise VideoError(no_such_file(path))
        if not path.is_file():  # a pipe or a device would wait for ever
            raise InputError(f"{printable(str(path), 200)} is not a file: name a video file.")
        return path

    def videos(self) -> list[Path]:
        """Return the first `MAX_LISTED` files whose names end as those of videos do, sorted."""
        paths = islice((path for folder in self.paths for path in _files(folder)), MAX_VISITED)
        named = {path for path in paths if path.suffix.lower() in VIDEO_SUFFIXES}
        return sorted(path for path in named if self._holds(path.resolve()))[:MAX_LISTED]

    def __str__(self) -> str:
        return ", ".join(printable(str(path), 200) for path in self.paths)

    def _holds(self, path: Path) -> bool:
        return any(path.is_relative_to(folder) for folder in self.paths)


def _folder(folder: str | os.PathLike[str]) -> Path:
    path = Path(folder).expanduser().resolve()
    if not path.is_dir():
        raise InputError(f"--root names a folder, and {printable(str(folder), 200)} is none: name one that exists.")
    return path


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:  # a loop of links
        raise InputError(f"{printable(str(path), 200)} cannot be followed ({reason(error)}): name a file.") from error


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder; hidden folders and links to folders are not entered."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(parent, name) for name in sorted(names))
