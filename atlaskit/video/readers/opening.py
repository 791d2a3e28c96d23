"""`open_source`: opens a file in place if its container is believed, else by the index it gets."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from atlaskit.errors import VideoError
from atlaskit.video.fingerprint import file_fingerprint
from atlaskit.video.readers.container import Distrust, open_container
from atlaskit.video.readers.index import folder_of_indexes, read_index
from atlaskit.video.readers.made import MadeSource
from atlaskit.video.readers.making import make_index
from atlaskit.video.readers.sources import PacketSource
from atlaskit.video.readers.trust import check_account, check_clock, check_keyframe, head_of, is_live
from atlaskit.video.readers.trusted import TrustedSource


def open_source(path: Path, indexes: Path) -> PacketSource:
    """Open the video stream of a file.

    Args:
        path: The file.
        indexes: Folder of the indexes that were made, and of the names of files that need none
            although they were recorded live. It is created when it is needed.

    Raises:
        VideoError: The file is not a video that can be read, or its index cannot be stored.
    """
    container, stream = open_container(path)
    try:
        verdict = indexes / f"{file_fingerprint(path)}.orderly" if is_live(container, path) else None
        if verdict and not verdict.exists():
            check_clock(container, stream)
            with suppress(VideoError, OSError):  # without it, the file is read again the next time
                folder_of_indexes(indexes)
                verdict.touch()
            container.close()
            container, stream = open_container(path, is_known=True)
        head = head_of(container, stream)
        check_account(container, stream, path, head)
        source = TrustedSource(path, container, stream, head)
        check_keyframe(container, stream, source.origin + int(source.end / source.tick / 2))
        return source
    except Distrust as distrust:
        why = str(distrust)
    container.close()
    target = folder_of_indexes(indexes) / f"{file_fingerprint(path)}.packets"
    index = read_index(target)
    if index is None:
        container, stream = open_container(path, is_known=True)
        with container:
            make_index(container, stream, path, why, target)
        index = read_index(target)
    if index is None:
        raise VideoError(f"The index {target} of {path} cannot be read again: is the disk whole?")
    return MadeSource(path, index)
