"""Files that are read and written whole.

* `write_whole`: writes a file whole or not at all; `check_writable`: whether it could.
* `read_whole`: reads a regular file of a bounded size; `open_regular` opens one.
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


def read_whole(path: str | Path, most: int = limits.FILE) -> bytes:
    """Return the content of a regular file.

    Args:
        path: The file; a link is followed.
        most: Bytes that it may have.

    Raises:
        OSError: It cannot be read, is a device or a pipe (which may have no end, or wait for ever),
            or is larger.
    """
    with open_regular(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most >> 20} MiB")
    return data


def open_regular(path: str | Path) -> BinaryIO:
    """Open a regular file for reading; raise OSError, without waiting, for anything else."""
    waits_not = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, os.O_RDONLY | waits_not)
    except ValueError as error:  # a name with a zero byte
        raise OSError(errno.EINVAL, "its name is no name of a file") from error
    file = os.fdopen(descriptor, "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is no regular file")
    return file


def write_whole(path: str | Path, data: str | bytes) -> None:
    """Write a file, so that it holds either all of the data or what it held before.

    The data is written beside the file, which then replaces it. A device or a pipe, such as
    /dev/stdout, is written as it is.

    Args:
        path: The file; a link is followed.
        data: Its content; text is encoded in UTF-8.

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
    """Raise OSError unless `write_whole` can write a file; what is there stays as it is.

    Only trying tells whether files can be created in its folder.
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
    """Return whether a path is neither a file nor a folder, nor free for one."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _check_not_read_only(path: Path) -> None:
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "it is read-only")


def _draft_in(folder: Path) -> Path:
    return folder / f".atlaskit-{secrets.token_hex(8)}.part"
