"""Finds a dataset's videos and subtitles inside its folder (`MediaFiles`), and opens a video only
when needed (`LazyVideo`).
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from atlaskit.video.opening import open_video
from atlaskit.video.subtitles import read_subtitles
from atlaskit.video.video import Video

VIDEO_SUFFIXES = (".mp4", ".mkv", ".webm", ".avi", ".mov", ".m4v", ".ts", ".flv")
SUBTITLE_SUFFIXES = (".srt", ".vtt", ".jsonl", ".json", ".ass", ".ssa", ".ttml", ".tsv")


PACKED = {
    "*.zip": "unzip -n {path} -d {home}",
    "*.tar": "tar -xf {path} -C {home}",
    "*.tar.gz": "tar -xzf {path} -C {home}",
    "*.tgz": "tar -xzf {path} -C {home}",
    "*.tar.part*": "cat {parts} | tar -x -C {home}",
}
"""Archives in which datasets are published, and the shell's line that unpacks one."""


def packed_in(home: Path) -> dict[str, str]:
    """Return the archives that lie in a folder, with the line that unpacks each.

    Parts of an archive (`videos.tar.part.aa`) and numbered ones (`chunk_01.zip`) have one line.
    """
    found, folder = dict[str, str](), shlex.quote(str(home))
    for pattern, line in PACKED.items():
        for path in sorted(home.glob(pattern)):
            name = re.sub(r"(?<=[.]part).*|[0-9]+(?=[.]zip$)", "*", path.name)
            parts = f"{folder}/{'*'.join(shlex.quote(part) if part else '' for part in name.split('*'))}"
            found[name] = line.format(path=shlex.quote(str(home / name)), parts=parts, home=folder)
    return found


def find_inside(folder: Path, name: str) -> Path | None:
    """Return the file `name` of a folder, or None if it is missing or lies outside the folder.

    Names come from untrusted rows, so "../secret" and links out of the folder count as missing;
    except in the cache of the Hugging Face hub, where each file is a link into `blobs` beside it.
    """
    path = folder / name
    try:
        root, target = folder.resolve(), path.resolve()
        blobs = next((each.parent / "blobs" for each in (root, *root.parents) if each.name == "snapshots"), root)
        return path if path.is_file() and any(map(target.is_relative_to, (root, blobs))) else None
    except (OSError, ValueError):
        return None


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
        bases = [self.home / folder for folder in self.folders]
        places = [(base, below, self._names(base / below)) for base in bases for below in ("", *_folders_in(base))]
        return [place for place in (*places, (self.home, "", self._names(self.home))) if place[2]]

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
