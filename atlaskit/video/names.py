"""Names of video files: from what a person types to a path, and from that to what a library opens.

A name may look like an address or a pattern to FFmpeg: `Talk: part 1.mp4`, `pipe:0`, `a|b.mp4`. So
every library gets it in a form that can only mean a local file.
"""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from atlaskit.errors import InputError, VideoError, printable

ADDRESS = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE | re.ASCII)
PAGES = re.compile(
    r"(?:^|\.)(?:youtube\.com|youtu\.be|vimeo\.com|bilibili\.com|twitch\.tv|dailymotion\.com|tiktok\.com)$"
)
"""Hosts whose addresses are those of pages, not of video files."""


def local_path(name: str | os.PathLike[str]) -> Path:
    """Return the path that a person means by a path, with `~` for the home, or by a `file://` URL.

    Raises:
        VideoError: It is the address of something that is not on this machine.
        InputError: It is no name of a file.
    """
    if not isinstance(name, str | os.PathLike):
        raise InputError(f"A video file is named by a path; got {name!r:.80}.")
    path, text = Path(name), os.fspath(name)
    address = ADDRESS.match(text) if isinstance(name, str) else None
    if address is None or path.exists():
        return path.expanduser() if text.startswith("~") and not path.exists() else path
    if address[1].lower() == "file":
        return _path_of_url(text)
    raise VideoError(_advice(text))


def _path_of_url(url: str) -> Path:
    # Not urlsplit: in a name, `?` and `#` are letters as any others where a person typed them.
    host, slash, path = url.partition("://")[2].partition("/")
    if host.lower() not in ("", "localhost"):
        raise VideoError(
            f"{printable(url, 200)} names a file on another machine ({printable(host, 80)}): copy it here."
        )
    decoded = Path(slash + unquote(path, errors="surrogateescape"))
    literal = Path(slash + path)
    return literal if literal.exists() and not decoded.exists() else decoded


def _advice(url: str) -> str:
    """Return what to do about an address."""
    shown = printable(url, 200)
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        host = ""
    if PAGES.search(host):
        return f"{shown} is a page with a video: download the video first, for instance with yt-dlp, and name the file."
    return f"{shown} is an address, and only files on this machine are opened: download it first, and name the file."


def media_url(path: str | os.PathLike[str]) -> str:
    """Return a path in the form in which FFmpeg takes it for a local file, whatever its letters."""
    return f"file:{Path(path).absolute()}"


def no_such_file(path: Path) -> str:
    """Return the sentence about a file that does not exist, with the name that may be meant."""
    try:
        names = [entry.name for entry in os.scandir(path.parent)] if path.parent.is_dir() else []
    except OSError:
        names = []
    close = difflib.get_close_matches(path.name, names, n=1, cutoff=0.8)
    hint = f" Did you mean {printable(str(path.parent / close[0]))}?" if close else ""
    return f"There is no file {printable(str(path))}.{hint}"
