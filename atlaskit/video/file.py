"""`VideoFile`: a video in one file, its reader, facts and embedded subtitles."""

from __future__ import annotations

import atexit
import os
import tempfile
import warnings
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from atlaskit.caching.cache import Cache, default_cache
from atlaskit.caching.place import default_place
from atlaskit.errors import DamagedVideo, FrameError, InputError, VideoError
from atlaskit.video.activity import Activity, read_activity, remembered_activity
from atlaskit.video.fingerprint import file_fingerprint
from atlaskit.video.names import no_such_file
from atlaskit.video.readers import Pixels
from atlaskit.video.sound import Sound
from atlaskit.video.subtitles import SubtitleSource, SubtitleTrack, load_subtitles, read_embedded, subtitle_tracks
from atlaskit.video.video import Video

if TYPE_CHECKING:
    from atlaskit.video.readers.pyav import PyAVReader

ReaderName = Literal["pyav", "decord"]
"""Which library decodes a file."""
COPIES = "streams"
"""Name of the folder in a cache's directory that holds the stream copies."""


class VideoFile(Video):
    """A video in one file.

    Args:
        path: The file.
        subtitles: The video's subtitles; "embedded" reads the track inside the file.
        reader: Which library decodes the file.
        fingerprint: Identifies the content where it is known by other means, such as the script
            that a synthetic video was rendered from; None to hash the file.
        cache: Where the video stream of a file without a reliable index is copied, and where its
            activity is stored; None for the default one.
        subtitles_track: Which track "embedded" reads: its number from 0, or its title.
        language: The language of the track that "embedded" reads.

    Raises:
        VideoError: The file cannot be opened as a video.
        SubtitleError: The subtitles cannot be read.
    """

    def __init__(
        self,
        path: Path,
        subtitles: SubtitleSource = None,
        reader: ReaderName = "pyav",
        fingerprint: str | None = None,
        cache: Cache | None = None,
        *,
        subtitles_track: int | str | None = None,
        language: str | None = None,
    ) -> None:
        _check_file(path)
        # A name that is not text on this machine must not break a record or a page.
        self.path, self.name = path, os.fsencode(path.name).decode(errors="replace")
        self._cache = cache
        self._reader = _open_reader(path, reader, copies_folder(cache))
        self.duration_s, self.fps, self.size = self._reader.duration_s, self._reader.fps, self._reader.size
        self.fingerprint = fingerprint or file_fingerprint(path)
        if self._reader.readable_s < self.duration_s:
            warnings.warn(
                f"{path} is truncated: its header promises {self.duration_s:.1f} s, but it ends after "
                f"{self._reader.readable_s:.1f} s; frames after that are marked as unreadable.",
                DamagedVideo,
                stacklevel=3,
            )
        self.lead_s = max(0.0, self._reader.origin_s - self._reader.start_s)
        if subtitles == "embedded":
            self.subtitles = read_embedded(
                path,
                origin_s=self._reader.origin_s,
                duration_s=self.duration_s,
                language=language,
                track=subtitles_track,
            )
        else:
            if language is not None or subtitles_track is not None:
                raise InputError(
                    'language and subtitles_track choose a track inside the video: give subtitles="embedded".'
                )
            self.subtitles = load_subtitles(subtitles, self.duration_s, self.lead_s, self.fps)

    @property
    def frames_decoded(self) -> int:
        """Number of frames decoded so far, including those decoded only to reach others."""
        return self._reader.frames_decoded

    @property
    def subtitle_tracks(self) -> list[SubtitleTrack]:
        """The subtitle tracks inside the video's file, with number, language and title."""
        return subtitle_tracks(self.path)

    def try_frames(self, times_s: Sequence[float], size: tuple[int, int] | None = None) -> list[Pixels | FrameError]:
        """Return the frame shown at each time, scaled to `size` (w, h), or its error."""
        return self._reader.try_frames(*self.check_request(times_s, size))

    def keyframes_around(self, time_s: float, until_s: float) -> tuple[float, float | None]:
        """Return the times of the last keyframe up to `time_s` and of the next before `until_s`."""
        self.check_time(time_s)
        return self._reader.keyframes_around(time_s, until_s)

    def activity(self, cache: Cache | None = None) -> Activity | None:
        """Return how much changes over time. See `Video.activity`."""
        cache = cache or self._cache or default_cache()
        return remembered_activity(self.fingerprint, self.duration_s, cache, lambda: read_activity(self._reader))

    def open_sound(self, audio_track: int | None = None, language: str | None = None) -> Sound:
        """Return one of the sound tracks of the file. See `Video.open_sound`."""
        start_s, joints = self._reader.start_s, self._reader.joints
        sound = Sound(self.path, start_s, self.lead_s, self.duration_s, joints, audio_track, language)
        sound.track()
        return sound


def _open_reader(path: Path, name: ReaderName, copies: Path) -> PyAVReader:
    # Each reader is imported where it is used, so that `import atlaskit` stays light.
    if name == "pyav":
        from atlaskit.video.readers.pyav import PyAVReader

        return PyAVReader(path, copies)
    from atlaskit.video.readers.decord import DecordReader

    return DecordReader(path, copies)


def copies_folder(cache: Cache | None) -> Path:
    """Return the folder of a cache that holds stream copies. It need not exist."""
    if cache is None:
        return default_place().directory / COPIES
    return (cache.directory or _temporary_folder()) / COPIES


@lru_cache(maxsize=1)
def _temporary_folder() -> Path:
    """Return a folder that is removed when this process ends, for caches in memory."""
    folder = tempfile.TemporaryDirectory(prefix="atlaskit-")
    atexit.register(folder.cleanup)
    return Path(folder.name)


def _check_file(path: Path) -> None:
    try:
        if not path.exists():
            raise VideoError(no_such_file(path))
        if path.is_dir():
            raise VideoError(f"{path} is a directory: name the video file in it.")
        if not path.is_file():
            raise VideoError(f"{path} is not a regular file: name a video file.")
        with path.open("rb") as file:
            is_empty = not file.read(1)
    except OSError as error:
        raise VideoError(f"{path} cannot be read: {error.strerror}.") from error
    if is_empty:
        raise VideoError(f"{path} is empty (0 bytes): copy or download it again.")
