"""The private folder (mode 0700) that holds a host's entries, and the checks of owner, content and
fork.

A folder is refused if it belongs to another user or another program, or if the process was forked
while it was open. Hosts that share a network file system get a folder each. This module knows
nothing of databases.
"""

from __future__ import annotations

import os
import platform
import re
import warnings
from pathlib import Path

from atlaskit.errors import CacheError, CacheWarning

NETWORK = re.compile(
    r"nfs\d?|cifs|smb\d?|smbfs|afs|9p|ceph|lustre|gpfs|beegfs|glusterfs|wekafs|panfs|ocfs2|gfs2|vboxsf"
    r"|fuse\.(sshfs|s3fs|gcsfuse|juicefs|rclone|glusterfs|ceph.*)"
)
"""Types of file systems that hosts share, where SQLite cannot keep a database consistent."""

_opened: set[Path] = set()
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
    folder = directory / ("entries" if network is None else f"entries-of-{platform.node() or 'unnamed'}")
    if os.path.expandvars(folder) != str(folder):  # diskcache expands variables
        raise CacheError(f"{directory} names a variable of the shell: name another directory.")
    if folder.is_symlink() or (folder.exists() and any(folder.iterdir()) and not (folder / database).exists()):
        raise CacheError(f"{folder} is not atlaskit's: name another directory with Cache(directory).")
    is_new = not folder.exists()
    folder.mkdir(mode=0o700, exist_ok=True)
    _make_private(folder, directory)
    if network and is_new:
        warnings.warn(
            f"{directory} is on a network file system ({network}), where hosts cannot share a database: this host "
            f"stores its entries in {folder.name}/. `python -m atlaskit cache export` and `import` transfer them.",
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
            f"The cache {folder.parent} was open when this process was forked, which SQLite does not allow: start "
            f'processes with multiprocessing.get_context("spawn"), or open the cache only in the child processes.'
        )


def _make_private(folder: Path, directory: Path) -> None:
    """Allow only the user into a folder; raise CacheError if it belongs to another user."""
    status = folder.stat()
    if hasattr(os, "getuid") and os.getuid() not in (0, status.st_uid):
        raise CacheError(
            f"The cache {directory} belongs to another user, who could store anything in it: name your own with "
            f"Cache(directory), and share entries with `python -m atlaskit cache export`."
        )
    if status.st_mode & 0o077:
        folder.chmod(0o700)


def network_file_system(directory: Path, mounts: Path = Path("/proc/self/mounts")) -> str | None:
    """Return the type of the network file system that holds a directory, None for a local one.

    Only Linux lists its mounts; elsewhere every directory counts as local.
    """
    try:
        lines = [line.split(" ") for line in mounts.read_text(encoding="utf-8", errors="replace").splitlines()]
    except OSError:
        return None
    path = directory.resolve()
    mounted = [(Path(_unescaped(line[1])), line[2]) for line in lines if len(line) > 2]
    holding = [(len(at.parts), number, type_) for number, (at, type_) in enumerate(mounted) if path.is_relative_to(at)]
    type_ = max(holding)[2] if holding else ""  # of several mounts at one path, the last hides the others
    return type_ if NETWORK.fullmatch(type_) else None


def _unescaped(mount: str) -> str:
    """Return a path of the table of mounts, which writes a blank as \\040."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), mount)
