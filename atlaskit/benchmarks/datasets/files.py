"""Finds a dataset's videos and subtitles inside its folder (`MediaFiles`), and opens a video only
when needed (`LazyVideo`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from atlaskit.video.opening import open_video
from atlaskit.video.subtitles import read_subtitles
from atlaskit.video.video import Video

VIDEO_SUFFIXES = (".mp4", ".mkv", ".webm", ".avi", ".mov", ".m4v", ".ts", ".flv")
SUBTITLE_SUFFIXES = (".srt", ".vtt", ".jsonl", ".json", ".ass", ".ssa", ".ttml", ".tsv")


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
class MediaFiles:
    """Files of one kind in a dataset's folder, found by the name that a row gives.

    They may lie in the dataset's own folders, one level below these (archives bring folders of
    their own), or directly in its folder; mirrors differ in that, and in the suffix. The folders
    are listed once, because a dataset asks for thousands of names.
    """

    home: Path
    folders: tuple[str, ...]
    """Folders inside `home`, in the order in which they are searched."""
    suffixes: tuple[str, ...] = VIDEO_SUFFIXES
    """Suffixes of such files, the preferred one first. Their case does not matter."""

    def find(self, *names: str) -> Path | None:
        """Return the file with the first of some names that exists inside the folder, or None.

        A name comes with or without its suffix and its folder. Another suffix than the one given is
        taken if there is only that.
        """
        return next(filter(None, map(self._find, names)), None)

    def _find(self, name: str) -> Path | None:
        path = PurePosixPath(name)
        if not path.name or path.is_absolute() or ".." in path.parts:
            return None
        is_named = path.suffix.lower() in self.suffixes
        if is_named and len(path.parts) > 1:
            for folder in ("", *self.folders):
                if (found := find_inside(self.home / folder, name)) is not None:
                    return found
        stem = path.stem if is_named else path.name
        for base, below, names in self._places:
            inside = names.get(path.name) or names.get(stem)
            if inside is not None and (found := find_inside(base, str(Path(below) / inside))) is not None:
                return found
        return None

    @cached_property
    def _places(self) -> list[tuple[Path, str, dict[str, str]]]:
        """Each folder that holds files: the dataset's folder, the one below it, and the names."""
        places = []
        for folder in self.folders:
            base = self.home / folder
            places += [(base, below, self._names(base / below)) for below in ("", *_folders_in(base))]
        places.append((self.home, "", self._names(self.home)))
        return [place for place in places if place[2]]

    def _names(self, folder: Path) -> dict[str, str]:
        """Return the names of a folder's files, by name and by stem."""
        files = [Path(name) for name in _list(folder) if not name.startswith(".")]
        ours = [file for file in files if file.suffix.lower() in self.suffixes]
        best_last = sorted(ours, key=lambda file: self.suffixes.index(file.suffix.lower()), reverse=True)
        return {file.stem: file.name for file in best_last} | {file.name: file.name for file in ours}


def _list(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())
    except (OSError, ValueError):
        return []


def _folders_in(folder: Path) -> list[str]:
    return [name for name in _list(folder) if not name.startswith(".") and (folder / name).is_dir()]


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
