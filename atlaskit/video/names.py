"""Names and fingerprints of video files.

* Names: `local_path` returns the path of the file that a person means. `why_unreadable` says why it
  cannot be read. FFmpeg may mistake a name such as `Talk: part 1.mp4`, `pipe:0` or `a|b.mp4` for an
  address or a pattern. `media_url` writes a path so that it can only mean a local file.
* Fingerprints: `file_fingerprint`, `playlist_fingerprint` and `collection_fingerprint` identify
  videos by content, wherever the files are.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from unicodedata import normalize
from urllib.parse import unquote

from atlaskit import limits
from atlaskit.errors import InputError, VideoError, printable

ADDRESS = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE | re.ASCII)
"""Matches the start of a URL; the group is its scheme."""
PAGE = re.compile(
    r"(?:\w+\.)?(?:youtube\.com|youtu\.be|vimeo\.com|bilibili\.com"
    r"|twitch\.tv|dailymotion\.com|tiktok\.com)/",
    re.IGNORECASE | re.ASCII,
)
"""Matches the start of a video page's address that is given without `https://`."""
LONGEST_NAME = 255
"""Bytes of the longest name in the usual file systems."""


def local_path(name: str | os.PathLike[str]) -> Path:
    """Return the path of a file that is named by a path, which may begin with `~`, or a file URL.

    A file of exactly this name is preferred to one whose name only differs in the Unicode form
    of accented letters (NFC or NFD). The file need not exist.

    Raises:
        VideoError: The name is an address on another machine, or its home folder does not exist.
        InputError: No file can have this name.
    """
    if not isinstance(name, str | os.PathLike):
        raise InputError(f"A file is named by a path; got {name!r:.80}.")
    text = os.fsdecode(name)
    path = _checked(text)
    if exists(path):
        return path
    address = ADDRESS.match(text)
    if address and address[1].lower() == "file":
        return _respelled(_path_of_url(text[address.end() :]))
    if address or PAGE.match(text):
        raise VideoError(
            f"{printable(text, 200)} is an address, and only files on this machine are opened: "
            "download it first (a video in a page for instance with yt-dlp), and name the file."
        )
    if text.startswith("~"):
        try:
            path = path.expanduser()
        except RuntimeError as error:
            raise VideoError(
                f"{printable(text, 200)} cannot be opened, as there is no such home folder: write "
                "the path out."
            ) from error
    return _respelled(path)


def _checked(text: str) -> Path:
    """Return a text as a path; raise InputError if no file can have this name."""
    if not text.strip():
        raise InputError("The name of the file is empty: name a file.")
    try:
        encoded = os.fsencode(text)
    except UnicodeEncodeError as error:
        raise InputError(
            f"No file has a name with half a surrogate pair in it; got {printable(text, 200)!r}."
        ) from error
    if b"\0" in encoded:
        raise InputError(f"No file has a name with a zero byte; got {printable(text, 200)!r}.")
    if len(encoded) > limits.PATH:
        raise InputError(
            f"No file has a path of more than {limits.PATH} bytes; got {printable(text, 80)!r}."
        )
    # A name in a URL may be longer, as `%` escapes are not decoded yet.
    if max(map(len, encoded.split(b"/"))) > LONGEST_NAME and not ADDRESS.match(text):
        raise InputError(
            f"No file has a name of more than {LONGEST_NAME} bytes; got {printable(text, 80)!r}."
        )
    return Path(text)


def exists(path: Path) -> bool:
    """Return whether a file or a folder exists; False if the system does not let us find out."""
    try:
        return path.exists()
    except OSError:  # opening the file reports the cause
        return False


def _respelled(path: Path) -> Path:
    """Return the path of the file whose name is the same text in another Unicode form.

    If the path itself exists, or no or several files beside it have such a name, return the path.
    """
    if path.name.isascii() or exists(path):
        return path
    wanted = normalize("NFC", path.name)
    same = [name for name in _names_beside(path) if normalize("NFC", name) == wanted]
    if len(same) == 1:
        return path.parent / same[0]
    return path


def _path_of_url(rest: str) -> Path:
    """Return the path in a `file:` URL, given the text after `file://`."""
    # Not urlsplit: `?` and `#` may be ordinary characters of the name.
    host, slash, path = rest.partition("/")
    if host.lower() not in ("", "localhost", "127.0.0.1"):
        raise VideoError(
            f"file://{printable(rest, 200)} names a file on another machine "
            f"({printable(host, 80)}): copy it here, or write file:/// before a full path."
        )
    literal = Path(slash + path)
    decoded = _checked(slash + unquote(path, errors="surrogateescape"))
    if exists(literal) and not exists(decoded):  # a name with `%` was put in the URL unescaped
        return literal
    return decoded


def name_as_text(name: str | os.PathLike[str]) -> str:
    """Return a name as text for records, with U+FFFD for bytes that are not UTF-8."""
    return os.fsencode(name).decode(errors="replace")


def media_url(path: str | os.PathLike[str]) -> str:
    """Return a URL that FFmpeg opens as a local file, whatever characters the path holds."""
    return f"file:{Path(path).absolute()}"


def why_unreadable(path: Path) -> str | None:
    """Return a sentence that says why a file cannot be read; None if it can be."""
    try:
        if not path.exists():
            return no_such_file(path)
        if path.is_dir():
            return f"{path} is a directory: name the file in it."
        if not path.is_file():  # reading a pipe would never end
            return f"{path} cannot be read, as it is not a file: name one."
        with path.open("rb"):
            return None
    except (OSError, ValueError) as error:
        return f"{path} cannot be read: {getattr(error, 'strerror', None) or error}."


def no_such_file(path: Path) -> str:
    """Return a sentence about a file that does not exist, with a similar name if there is one."""
    if path.is_symlink():
        target = printable(str(path.readlink()), 200)
        return (
            f"{path} is a link to {target}, which does not exist: fetch the "
            "content, or name the file."
        )
    close = _close_name(path)
    hint = f" Did you mean {path.parent / close}?" if close else ""
    return f"There is no file {path}.{hint}"


def _close_name(path: Path) -> str | None:
    """Return a name in the same folder that differs in case, in a few letters, or in its suffix."""
    spelled = {normalize("NFC", name).casefold(): name for name in _names_beside(path)}
    wanted = normalize("NFC", path.name).casefold()
    close = difflib.get_close_matches(wanted, spelled, n=1, cutoff=0.8)
    if not close:
        stem = Path(wanted).stem
        close = sorted(name for name in spelled if name != wanted and Path(name).stem == stem)
    return spelled[close[0]] if close else None


def _names_beside(path: Path) -> list[str]:
    try:
        with os.scandir(path.parent) as entries:
            return [entry.name for entry in islice(entries, limits.FILE_NAMES)]
    except OSError:
        return []


EDGE_BYTES = 1 << 20
BLOCK_BYTES = 1 << 16
BLOCKS = 14


def file_fingerprint(path: Path) -> str:
    """Hash a file's size, its first and last MiB, and 14 blocks of 64 KiB spread between them.

    The time does not depend on the size of the file. Two files of equal size that only differ
    outside these parts have the same fingerprint. This is unlikely to happen by accident, since
    encoding a video again changes its size.
    """
    size = path.stat().st_size
    digest = hashlib.sha256(f"atlaskit-1:{size}".encode())
    with path.open("rb") as file:
        digest.update(file.read(EDGE_BYTES))
        for i in range(1, BLOCKS + 1):
            file.seek(size * i // (BLOCKS + 1))
            digest.update(file.read(BLOCK_BYTES))
        file.seek(max(0, size - EDGE_BYTES))
        digest.update(file.read(EDGE_BYTES))
    return digest.hexdigest()


def collection_fingerprint(parts: Sequence[str], names: Sequence[str]) -> str:
    """Hash the fingerprints of a collection's films and their names, in order."""
    content = "\0".join([*parts, *names])
    return hashlib.sha256(f"atlaskit-collection-1:{content}".encode(errors="replace")).hexdigest()


def playlist_fingerprint(parts: Sequence[str]) -> str:
    """Hash the fingerprints of a playlist's videos, in order."""
    return hashlib.sha256(f"atlaskit-playlist-1:{' '.join(parts)}".encode()).hexdigest()
