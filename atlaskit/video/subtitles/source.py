"""`SubtitleSource`: the type of what a caller may pass as subtitles, and how it is opened."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from atlaskit.errors import InputError
from atlaskit.video.subtitles.files import read_subtitles
from atlaskit.video.subtitles.track import Subtitles

SubtitleSource: TypeAlias = "str | Path | Subtitles | None"
"""A subtitle file, "embedded" for the track inside the video file, a track, or None."""


def load_subtitles(source: SubtitleSource, duration_s: float, lead_s: float = 0.0) -> Subtitles:
    """Return the track of a video of `duration_s` seconds; an empty one for None.

    "embedded" is read by `read_embedded`, since it needs the video file.

    Args:
        source: What the caller gave.
        duration_s: Length of the video in seconds.
        lead_s: Seconds of the container's time before the first frame: a subtitle file counts from
            its start.

    Raises:
        InputError: `source` is none of these.
        SubtitleError: The subtitle file cannot be read.
    """
    if source is None or isinstance(source, Subtitles):
        return source or Subtitles()
    if not isinstance(source, (str, Path)):
        raise InputError(f'subtitles must be a file, "embedded", or a Subtitles object; got {source!r:.80}.')
    return read_subtitles(source, duration_s=duration_s, starts_at_s=lead_s)
