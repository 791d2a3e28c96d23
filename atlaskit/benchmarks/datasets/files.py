"""Finds a dataset's videos and subtitles inside its folder, and opens a video only when needed
(`LazyVideo`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from atlaskit.video.opening import open_video
from atlaskit.video.subtitles import read_subtitles
from atlaskit.video.video import Video


def find_inside(folder: Path, name: str) -> Path | None:
    """Return the file `name` of a folder, or None if it is missing or lies outside the folder.

    Names come from untrusted rows, so "../secret" and links out of the folder count as missing.
    """
    path = folder / name
    try:
        is_inside = path.is_file() and path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError):
        return None
    return path if is_inside else None


@dataclass(frozen=True)
class LazyVideo:
    """A video file and its subtitles, opened on call."""

    path: Path
    subtitles: Path | None
    starts_at_s: float = 0.0
    """Second of the subtitle file at which the video starts.

    Above 0 where the file belongs to a longer source from which the video was cut.
    """

    def __call__(self) -> Video:
        """Open the video; clip its lines to it, and end an open-ended line with it."""
        video = open_video(self.path)
        if self.subtitles is not None:  # read after the video, because clipping needs its duration
            starts_at_s = self.starts_at_s + video.lead_s
            video.subtitles = read_subtitles(
                self.subtitles, starts_at_s=starts_at_s, duration_s=video.duration_s, is_excerpt=True
            )
        return video
