"""The subtitle file beside a video, as players find it."""

from __future__ import annotations

from pathlib import Path

SUFFIXES = (".srt", ".vtt", ".ass", ".ssa", ".ttml", ".dfxp", ".sbv", ".lrc", ".sub", ".smi")
"""Suffixes of files that are subtitles for certain, the usual one first."""


def subtitles_beside(video: Path) -> Path | None:
    """Return the subtitle file that lies beside a video and has its name; None without one.

    `film.srt` belongs to `film.mp4`; so does `film.en.srt`, if no other file has a name like it.
    """
    try:
        files = sorted(path for path in video.parent.iterdir() if path.suffix.lower() in SUFFIXES)
    except OSError:
        return None
    own = [path for path in files if path.stem == video.stem]
    if own:
        return min(own, key=lambda path: SUFFIXES.index(path.suffix.lower()))
    in_languages = [path for path in files if Path(path.stem).stem == video.stem]
    return in_languages[0] if len(in_languages) == 1 else None
