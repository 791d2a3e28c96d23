"""Opens a local file with PyAV 18 or 19, and reads the tags of its streams."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlaskit import limits
from atlaskit.video.names import media_url

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.stream import Stream

POINTING = {"hls", "dash", "concat", "imf", "webm_dash_manifest", "sdp", "rtsp", "rtp", "sap", "image2", "vobsub"}
"""FFmpeg's names of formats whose files only name others, which FFmpeg would open."""
NOT_VIDEO = {"tty", "bin", "xbin", "adf", "idf"}
"""FFmpeg's names of formats that are text, or an image of it."""


def open_media(path: str | Path, options: dict[str, str], timeout_s: float | None = None) -> InputContainer:
    """Open a file for reading, and no other. Tags that are no UTF-8 are no error; see `tags_of`.

    Args:
        path: The file.
        options: Options of FFmpeg's demuxer.
        timeout_s: Most seconds that FFmpeg may wait for data. None: no limit.

    Raises:
        FFmpegError, OSError, ValueError: As `av.open`.
    """
    import av  # here, so that `import atlaskit` stays light

    lenient: dict[str, Any] = {}
    if int(av.__version__.partition(".")[0]) < 19:  # since version 19 it is always so
        lenient = {"metadata_errors": "surrogateescape"}
    options = {**options, "protocol_whitelist": "file", "format_whitelist": _formats()}
    container: InputContainer = av.open(media_url(path), options=options, timeout=timeout_s, **lenient)
    return container


@lru_cache(maxsize=1)
def _formats() -> str:
    import av

    return ",".join(name for name in av.formats_available - POINTING - NOT_VIDEO if not name.endswith("_pipe"))


def tags_of(stream: Stream) -> dict[str, str]:
    """Return the tags of a stream, under names in small letters, cut to limits.TAG characters.

    U+FFFD stands for what is no UTF-8.
    """
    return {_text(name).lower(): _text(value) for name, value in stream.metadata.items()}


def _text(tag: str) -> str:
    return tag[: limits.TAG].encode("utf-8", "surrogateescape").decode("utf-8", "replace")
