"""The location of a cache: `default_place`, and the private folder of its entries.

A notebook in notebooks/ and a command in the folder above it must use one cache, so that a reply
is paid for once. Therefore a cache belongs to a project, not to the folder in which a process
happens to start.

A folder of entries has mode 0700. It is refused if it belongs to another user or program, or if it
was open when this process was forked. Hosts that share a network file system get a folder each.
This module does not read the database.
"""

from __future__ import annotations

import os
import platform
import re
import warnings
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from atlaskit.caching.files import expanded
from atlaskit.errors import CacheError, CacheWarning

DATABASE = "cache.db"
"""Name of the database file in a folder of entries."""
BESIDE = ("streams", "notes")
"""Folders beside the entries, filled by this or an earlier version; they are made private too."""
ANOTHER = "--cache DIRECTORY, ak.Cache(directory) in Python"
"""How to name another directory, for error messages."""
VARIABLE = "ATLASKIT_CACHE"
"""The environment variable that names the directory of the default cache."""
NAME = "cache"
"""Name of the directory of a default cache that no variable names."""
ROOT_MARKS = ("pyproject.toml", ".git")
"""A folder that holds one of these is the root of a project."""


class Place(NamedTuple):
    """The directory of the default cache, which need not exist, and why it was chosen."""

    directory: Path
    why: str


def default_place() -> Place:
    """Return the directory that the environment variable names, or else the nearest cache.

    In a project, folders are searched for a cache that atlaskit made, from the current folder up to
    the root of the project; if there is none, the place is `cache` in the root. Outside of projects
    but below the home folder, they are searched up to the home folder, which is left out; if there
    is no cache, the place is `./cache`. Anywhere else it is `./cache`.
    """
    path = os.environ.get(VARIABLE)
    if path:
        return Place(expanded(path).absolute(), f"the variable {VARIABLE} names it")
    try:
        here = Path.cwd()
    except OSError:  # the current folder was removed
        return Place(Path(NAME), "it is in the current folder")
    folders = _own_folders(here)
    home = _home()
    root, mark = _root_of_project(folders)
    if root is not None:
        folders = folders[: folders.index(root) + 1]
    elif home is None or not here.is_relative_to(home):
        folders = [here]
    for folder in folders:
        if is_cache(folder / NAME):
            return Place(
                folder / NAME, "it is the nearest that atlaskit made, in this folder or above"
            )
    if root is not None:
        return Place(root / NAME, f"it is in the root of this project, which has {mark}")
    return Place(here / NAME, "it is in the current folder")


def _root_of_project(folders: Sequence[Path]) -> tuple[Path | None, str]:
    """Return the first folder that has a mark of a project's root, and the mark."""
    for folder in folders:
        for mark in ROOT_MARKS:
            if (folder / mark).exists():
                return folder, mark
    return None, ""


def is_cache(directory: Path) -> bool:
    """Return whether atlaskit has made a cache in a directory."""
    try:
        return any(directory.glob(f"entries*/{DATABASE}"))
    except OSError:
        return False


def _own_folders(here: Path) -> list[Path]:
    """Return a folder and, as far as they belong to the user, the folders above it, up to home.

    The home folder is left out, because a cache in it would serve all projects below it.
    """
    home = _home()
    if here == home:
        return [here]
    return [here, *takewhile(lambda folder: folder != home and _is_own(folder), here.parents)]


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:  # a user without a home folder
        return None


def _is_own(folder: Path) -> bool:
    """Return whether a folder belongs to the user: others could put anything into theirs."""
    try:
        return not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid()
    except OSError:
        return False


NETWORK = re.compile(
    r"nfs\d?|cifs|smb\d?|smbfs|afs|9p|ceph|lustre|gpfs|beegfs|glusterfs|wekafs|panfs|ocfs2|gfs2"
    r"|vboxsf|virtiofs|fuse\..*"
)
"""Types of file systems that several machines share, or that lie over others, as mergerfs does.
SQLite's write-ahead log needs shared memory, so it does not keep a database consistent there."""

_opened: set[Path] = set()
"""Folders that this process has opened."""
_forked: set[Path] = set()
"""Folders that the parent process had open when it forked this one."""

if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=lambda: _forked.update(_opened))


class Forked(CacheError):
    """The cache was open when this process was forked, so the process cannot use it."""


def open_folder(directory: Path, database: str) -> tuple[Path, bool]:
    """Return the folder of this host's entries, created if needed, and mark it as open.

    Args:
        directory: Directory of the cache.
        database: Name of the database file; a folder that has files but not this one is refused.

    Returns:
        The folder, and whether it lies on a network file system.

    Raises:
        CacheError: The folder belongs to another user or program, or was open at a fork.
        OSError: The folder cannot be created or read.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    network = network_file_system(directory)
    name = "entries"
    if network is not None:
        name = f"entries-of-{platform.node() or 'unnamed'}"
    folder = directory / name
    if os.path.expandvars(folder) != str(folder):  # diskcache expands variables
        raise CacheError(f"{directory} names a variable of the shell: name another directory.")
    is_filled = folder.exists() and any(folder.iterdir())
    if folder.is_symlink() or (is_filled and not (folder / database).exists()):
        raise CacheError(f"{folder} is not atlaskit's: name another directory ({ANOTHER}).")
    is_new = not folder.exists()
    folder.mkdir(mode=0o700, exist_ok=True)
    beside = [directory / each for each in BESIDE]
    for each in (folder, *beside):
        if each.is_dir() and not each.is_symlink():
            _make_private(each, directory)
    if network and is_new:
        warnings.warn(
            f"{directory} is on a file system ({network}) where hosts cannot share a "
            f"database: this host stores its entries in {folder.name}/. `python -m atlaskit cache "
            "export` and `import` transfer them.",
            CacheWarning,
            stacklevel=2,
        )
    check_not_forked(folder)
    _opened.add(folder)
    return folder, network is not None


def check_not_forked(folder: Path) -> None:
    """Raise an error in a forked process if its parent had the folder open.

    SQLite does not survive a fork: the child would take its parent's locks for its own, and write
    into files that the parent deletes.

    Raises:
        Forked: The parent process had the folder open.
    """
    if folder in _forked:
        raise Forked(
            f"The cache {folder.parent} was open when this process was forked, which SQLite does "
            'not allow: start processes with multiprocessing.get_context("spawn"), or open the '
            "cache only in the child processes."
        )


def _make_private(folder: Path, directory: Path) -> None:
    """Allow only the user into a folder; raise CacheError if it belongs to another user."""
    status = folder.stat()
    if hasattr(os, "getuid") and os.getuid() not in (0, status.st_uid):
        raise CacheError(
            f"The cache {directory} belongs to another user, who could store anything in it: name "
            f"your own ({ANOTHER}), and share entries with `python -m atlaskit cache "
            "export`."
        )
    if status.st_mode & 0o077:
        folder.chmod(0o700)


def network_file_system(directory: Path, mounts: Path = Path("/proc/self/mounts")) -> str | None:
    """Return the type of the network file system that holds a directory, None for a local one.

    Only Linux lists its mounts; elsewhere every directory counts as local.
    """
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    path = directory.resolve()
    most = 0
    nearest = ""
    for line in lines:
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        mount = Path(_unescaped(fields[1]))
        # The deepest mount counts; of several at one path, the last hides the others.
        if path.is_relative_to(mount) and len(mount.parts) >= most:
            most = len(mount.parts)
            nearest = fields[2]
    return nearest if NETWORK.fullmatch(nearest) else None


def _unescaped(mount: str) -> str:
    """Return a path of the table of mounts, which writes a blank as \\040."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), mount)
