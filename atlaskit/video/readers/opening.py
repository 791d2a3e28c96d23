"""`open_source`: opens a file in place where its container tells the time of every frame, else its
stream copy.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from atlaskit.errors import VideoError
from atlaskit.video.fingerprint import file_fingerprint
from atlaskit.video.readers.container import open_container
from atlaskit.video.readers.copy_source import CopySource
from atlaskit.video.readers.copying import make_copy
from atlaskit.video.readers.duration import ClockBreak
from atlaskit.video.readers.file_source import FileSource
from atlaskit.video.readers.sources import PacketSource
from atlaskit.video.readers.stream_copy import copies_in, read_copy
from atlaskit.video.readers.survey import Times, is_live, times_of


def open_source(path: Path, copies: Path) -> PacketSource:
    """Open the video stream of a file.

    Args:
        path: The file.
        copies: Folder of the stream copies, and of the names of files that need none although they
            were recorded live. It is created when it is needed.

    Raises:
        VideoError: The file is not a video that can be read, or it cannot be copied.
    """
    times = _times_of(path, copies)
    if times is None:
        try:
            return FileSource(path)
        except ClockBreak:
            times = Times.SHOWN
    target = copies_in(copies) / f"{file_fingerprint(path)}.packets"
    copy = read_copy(target)
    if copy is None:
        container, stream = open_container(path, is_known=True)
        with container:
            make_copy(container, stream, path, times, target)
        copy = read_copy(target)
    if copy is None:
        raise VideoError(f"The stream copy {target} of {path} cannot be read again: is the disk whole?")
    return CopySource(path, copy)


def _times_of(path: Path, copies: Path) -> Times | None:
    """Return what the times of a file mean if it needs a copy, None if it can be read in place.

    A file that was recorded live is read for that once.
    """
    container, stream = open_container(path)
    with container:
        if not is_live(container, path):
            return times_of(container, stream, path)
        verdict = copies / f"{file_fingerprint(path)}.continuous"
        times = None if verdict.exists() else times_of(container, stream, path)
        if times is None and not verdict.exists():
            with suppress(VideoError, OSError):  # without it, the file is read again the next time
                copies_in(copies)
                verdict.touch()
        return times
