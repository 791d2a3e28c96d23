"""Files that are read and written whole.

* `write_whole` writes a file whole or not at all; `check_writable` tests whether it could.
* `read_whole` reads a regular file of a bounded size; `open_regular` opens one.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from atlaskit import limits


def expanded(path: str | os.PathLike[str]) -> Path:
    """Return a path in which ~ stands for the home folder.

    Where ~NAME names no user, it stays, as in a shell; `Path.expanduser` would raise an error.
    """
    return Path(os.path.expanduser(path))  # noqa: PTH111


def read_whole(path: str | Path, most: int = limits.FILE) -> bytes:
    """Return the content of a regular file.

    Args:
        path: The file; a link is followed.
        most: The most bytes that the file may have.

    Raises:
        OSError: The file cannot be read, is larger, or is a device or a pipe, of which a read may
            never end.
    """
    with open_regular(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most >> 20} MiB")
    return data


def open_regular(path: str | Path) -> BinaryIO:
    """Open a regular file for reading; raise OSError, without waiting, for anything else."""
    flags = os.O_RDONLY
    flags |= getattr(os, "O_NONBLOCK", 0)  # otherwise opening a pipe waits for a writer
    flags |= getattr(os, "O_BINARY", 0)  # Windows alone has this flag
    try:
        descriptor = os.open(path, flags)
    except ValueError as error:  # a name with a zero byte
        raise OSError(errno.EINVAL, "its name is no name of a file") from error
    file = os.fdopen(descriptor, "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is no regular file")
    return file


def write_whole(path: str | Path, data: str | bytes) -> None:
    """Write a file, so that it holds either all of the data or what it held before.

    The data goes into a new file in the same folder, which then replaces the old one. A device or a
    pipe, such as /dev/stdout, is written to directly.

    Args:
        path: The file; a link is followed.
        data: The new content; text is encoded in UTF-8.

    Raises:
        OSError: The file cannot be written.
    """
    target = Path(os.path.realpath(path))
    content = data.encode("utf-8") if isinstance(data, str) else data
    if _is_device(target):
        target.write_bytes(content)
        return
    draft = _draft_in(target.parent)
    try:
        with draft.open("xb") as file:
            file.write(content)
        if target.exists():
            _check_not_read_only(target)
            shutil.copymode(target, draft)
        draft.replace(target)
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def check_writable(path: Path) -> None:
    """Raise OSError unless `write_whole` can write a file; an existing file is not changed.

    Whether its folder takes new files is tested by creating one and removing it.
    """
    target = Path(os.path.realpath(path))
    if _is_device(target):
        return
    if target.exists():
        _check_not_read_only(target)
    draft = _draft_in(target.parent)
    draft.touch(exist_ok=False)
    draft.unlink()


def _is_device(path: Path) -> bool:
    """Return whether a path exists and is neither a file nor a folder, such as a pipe."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _check_not_read_only(path: Path) -> None:
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "it is read-only")


def _draft_in(folder: Path) -> Path:
    return folder / f".atlaskit-{secrets.token_hex(8)}.part"
