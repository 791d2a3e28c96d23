"""The subtitle file beside a video, as players find it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

SUFFIXES = (".srt", ".vtt", ".ass", ".ssa", ".ttml", ".dfxp", ".sbv", ".lrc", ".sub", ".smi")
"""Suffixes of files that are subtitles for certain, the usual one first."""


def subtitle_files(folder: Path) -> list[Path]:
    """Return the subtitle files in a folder, in the order of their names."""
    try:
        return sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES)
    except OSError:
        return []


def subtitles_beside(video: Path, files: Sequence[Path] | None = None) -> Path | None:
    """Return the subtitle file that lies beside a video and has its name; None without one.

    `film.srt` belongs to `film.mp4`; so does `film.en.srt`, if no other file has a name like it.

    Args:
        video: The video.
        files: The `subtitle_files` of its folder, if they are known.
    """
    if files is None:
        files = subtitle_files(video.parent)
    own = [path for path in files if path.stem == video.stem]
    if own:
        return min(own, key=lambda path: SUFFIXES.index(path.suffix.lower()))
    in_languages = [path for path in files if Path(path.stem).stem == video.stem]
    if len(in_languages) == 1:
        return in_languages[0]
    return None
