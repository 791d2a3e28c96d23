"""`default_place`: where the cache is if nobody says where, and why there.

A notebook in notebooks/ and a command in the folder above it must use one cache, since a reply is
paid once. So the cache belongs to a project, not to the folder that a process happens to start in.
"""

from __future__ import annotations

import os
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from atlaskit.caching.rows import DATABASE

VARIABLE = "ATLASKIT_CACHE"
NAME = "cache"
ROOT_MARKS = ("pyproject.toml", ".git")
"""A folder that holds one of these is the root of a project."""


class Place(NamedTuple):
    """The directory of the default cache, which need not exist, and why it is that one."""

    directory: Path
    why: str


def default_place() -> Place:
    """Return the directory of the environment variable, or that of the project, or `./cache`.

    In a project it is the nearest cache that atlaskit made, in the current folder or one above it
    up to the root of the project; if there is none, it is the one in the root. Elsewhere it is
    `./cache`, unless atlaskit made one in a folder above it, below the home folder.
    """
    if named := os.environ.get(VARIABLE):
        return Place(Path(named).expanduser().absolute(), f"the variable {VARIABLE} names it")
    try:
        here = Path.cwd()
    except OSError:  # the folder was removed
        return Place(Path(NAME), "it is in the current folder")
    above = _searched(here)
    root, mark = next(((at, mark) for at in above for mark in ROOT_MARKS if (at / mark).exists()), (None, ""))
    is_at_home = (home := _home()) is not None and here.is_relative_to(home)
    within = above[: above.index(root) + 1] if root else above if is_at_home else [here]
    for folder in within:
        if is_cache(folder / NAME):
            return Place(folder / NAME, "it is the nearest that atlaskit made, in this folder or above")
    if root:
        return Place(root / NAME, f"it is in the root of this project, which has {mark}")
    return Place(here / NAME, "it is in the current folder")


def is_cache(directory: Path) -> bool:
    """Return whether atlaskit has made a cache in a directory."""
    try:
        return any(directory.glob(f"entries*/{DATABASE}"))
    except OSError:
        return False


def _searched(here: Path) -> list[Path]:
    """Return the folders to look in: this one, and those above it as far as they are the user's.

    The home folder is not among them: what is in it would hold for everything below it.
    """
    parents = takewhile(lambda folder: folder != _home() and _is_own(folder), here.parents)
    return [here, *(parents if here != _home() else ())]


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:  # a user without one
        return None


def _is_own(folder: Path) -> bool:
    """Return whether a folder is the user's: another user could put anything into it."""
    try:
        return not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid()
    except OSError:
        return False
