"""`VideoFile`: a video in one file, its reader, facts and embedded subtitles."""

from __future__ import annotations

import atexit
import math
import re
import tempfile
import threading
import time
import warnings
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from atlaskit.caching.cache import Cache
from atlaskit.caching.folder import default_place
from atlaskit.errors import DamagedVideo, VideoError
from atlaskit.video.names import file_fingerprint, name_as_text, why_unreadable
from atlaskit.video.readers import FrameOrError, Size
from atlaskit.video.records import VideoFacts
from atlaskit.video.shots import Marks, marks_of
from atlaskit.video.sound import Sound
from atlaskit.video.subtitles import SubtitleSource, load_subtitles, read_embedded, subtitle_tracks
from atlaskit.video.tracks import Track
from atlaskit.video.video import Video

if TYPE_CHECKING:
    from atlaskit.video.readers.pyav import PyAVReader

ReaderName = Literal["pyav", "decord"]
"""Which library decodes a file."""
COPIES = "streams"
"""Name of the folder in a cache's directory that holds the stream copies."""
CONTENT_HASH = re.compile(r"[0-9a-f]{64}")
"""A fingerprint that is a hash of a file's content. Any other, such as that of a synthetic video's
script, cannot be computed from the file."""


class VideoFile(Video):
    """A video in one file.

    With `facts`, which the cache may know, the file is opened when a frame must be decoded, and may
    be missing until then.

    Args:
        path: The file; None only with `facts`.
        subtitles: The video's subtitles; "embedded" reads the track inside the file.
        reader: Which library decodes the file.
        fingerprint: Identifies the content where it is known by other means, such as the script
            that a synthetic video was rendered from; None to hash the file.
        cache: Where the video stream of a file without a reliable index is copied; None for the
            default one.
        facts: What is known of the video without its file.
        subtitles_track: Which track "embedded" reads: its number from 0, or its title.
        language: The language of the track that "embedded" reads.

    Raises:
        VideoError: The file cannot be opened as a video.
        SubtitleError: The subtitles cannot be read.
    """

    def __init__(
        self,
        path: Path | None,
        subtitles: SubtitleSource = None,
        reader: ReaderName = "pyav",
        fingerprint: str | None = None,
        cache: Cache | None = None,
        *,
        facts: VideoFacts | None = None,
        subtitles_track: int | str | None = None,
        language: str | None = None,
    ) -> None:
        self.path = path
        self._library = reader
        self._cache = cache
        self._facts = facts
        self._lock = threading.Lock()
        self._opened: PyAVReader | None = None
        self._decoding_s = list[float]()
        if facts is None:
            assert path is not None
            self.name = name_as_text(path.name)
            known = self._reader
            self.duration_s = known.duration_s
            self.fps = known.fps
            self.size = known.size
            self.lead_s = max(0.0, known.origin_s - known.start_s)
            self.fingerprint = fingerprint or file_fingerprint(path)
        else:
            self.name = facts.name
            self.duration_s = facts.duration_s
            self.fps = facts.fps
            self.size = (facts.size[0], facts.size[1])
            self.lead_s = facts.lead_s
            self.fingerprint = fingerprint or ""
        if subtitles == "embedded" and path is not None:
            self.subtitles = read_embedded(
                path,
                origin_s=self._reader.origin_s,
                duration_s=self.duration_s,
                language=language,
                track=subtitles_track,
            )
        else:
            self.subtitles = load_subtitles(subtitles, self.duration_s, self.lead_s, self.fps)

    @property
    def _reader(self) -> PyAVReader:
        with self._lock:
            if self._opened is None:
                self._opened = self._open()
            return self._opened

    def _open(self) -> PyAVReader:
        """Open the file; raise VideoError if it is missing, or not the one of the facts."""
        if self._facts is not None and self._is_missing:
            where = f"there is no file {self.path}" if self.path else "no file was given"
            raise VideoError(
                f"The file of {self.name} is missing ({where}), and something of it is needed "
                "that is not in the cache: open the video with its file."
            )
        assert self.path is not None
        fault = why_unreadable(self.path)
        if fault:
            raise VideoError(fault)
        if not self.path.stat().st_size:
            raise VideoError(f"{self.path} is empty (0 bytes): copy or download it again.")
        reader = _open_reader(self.path, self._library, copies_folder(self._cache))
        if reader.readable_s < reader.duration_s:
            warnings.warn(
                f"{self.path} is truncated: its header promises {reader.duration_s:.1f} s, but it "
                f"ends after {reader.readable_s:.1f} s; frames after that are marked as "
                "unreadable.",
                DamagedVideo,
                stacklevel=5,
            )
        if self._facts is not None:
            # A hash of the content decides, since an earlier version may have measured another
            # duration.
            if CONTENT_HASH.fullmatch(self.fingerprint):
                is_same = file_fingerprint(self.path) == self.fingerprint
            else:
                is_same = reader.duration_s == self.duration_s
            if not is_same or reader.size != self.size:
                raise VideoError(
                    f"{self.path} is another video than the one that the cache knows: give the "
                    "original file."
                )
        return reader

    @property
    def _is_missing(self) -> bool:
        return self.path is None or not self.path.exists()

    @property
    def frames_decoded(self) -> int:
        """Number of frames decoded so far, including those decoded only to reach others."""
        if self._opened:
            return self._opened.frames_decoded
        return 0

    @property
    def decoding_s(self) -> float:
        """Seconds that were spent on decoding so far; of several threads at once, those of each."""
        return math.fsum(self._decoding_s)

    @property
    def subtitle_tracks(self) -> list[Track]:
        """The subtitle tracks inside the video's file, with number, language and title."""
        if self.path is None or self._is_missing:
            return []
        return subtitle_tracks(self.path)

    def try_frames(self, times_s: Sequence[float], size: Size | None = None) -> list[FrameOrError]:
        """Return the frame shown at each time, scaled to `size` (w, h), or its error."""
        reader = self._reader
        request = self.check_request(times_s, size)
        began_s = time.monotonic()
        try:
            return reader.try_frames(*request)
        finally:
            self._decoding_s.append(time.monotonic() - began_s)

    def keyframes_around(self, time_s: float, until_s: float) -> tuple[float, float | None]:
        """Return the times of the last keyframe up to `time_s` and of the next before `until_s`."""
        self.check_time(time_s)
        return self._reader.keyframes_around(time_s, until_s)

    def marks(self) -> Marks:
        """Return the cuts and keyframes that the container marks. Decodes nothing."""
        return marks_of(self._reader.packets())

    def frame_times(self) -> NDArray[np.float64] | None:
        """Return the second at which each frame appears, in order. See `Video.frame_times`."""
        return np.array(self._reader.frame_times(), np.float64)

    def open_sound(self, audio_track: int | None = None, language: str | None = None) -> Sound:
        """Return one of the sound tracks of the file. See `Video.open_sound`."""
        start_s = self._reader.start_s
        joints = self._reader.joints
        assert self.path is not None
        sound = Sound(
            self.path, start_s, self.lead_s, self.duration_s, joints, audio_track, language
        )
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
