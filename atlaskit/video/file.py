"""`VideoFile`: a video in one file, with its reader, its facts and its embedded subtitles."""

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
from atlaskit.video.video import LARGEST_OWN_SIDE_PX, Video

if TYPE_CHECKING:
    from atlaskit.video.readers.pyav import PyAVReader

ReaderName = Literal["pyav", "decord"]
"""Which library decodes a file."""
COPIES = "streams"
"""Name of the folder in a cache's directory that holds the indexes of files whose container is not
trusted. An index may hold a copy of the video stream."""
CONTENT_HASH = re.compile(r"[0-9a-f]{64}")
"""A fingerprint that is a hash of a file's content. Any other, such as that of a synthetic video's
script, cannot be computed from the file."""


class VideoFile(Video):
    """A video in one file.

    Given `facts`, which the cache stores, the file is only opened when a frame must be decoded, and
    may be missing until then.

    Args:
        path: The file. It may be None if `facts` are given.
        subtitles: The video's subtitles; "embedded" reads the track inside the file.
        reader: Which library decodes the file.
        fingerprint: Identifies the content where it is known by other means, such as the script
            that a synthetic video was rendered from, or where `facts` are given; None to hash the
            file.
        cache: Where the index of a file whose container is not trusted is stored; None for the
            default cache.
        facts: The facts about the video that are known without its file.
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
        self._decoding_s = list[float]()  # one entry a call: threads may append at once
        if facts is None:
            assert path is not None
            self.name = name_as_text(path.name)
            opened = self._reader
            self.duration_s = opened.duration_s
            self.fps = opened.fps
            self.size = opened.size
            self.lead_s = max(0.0, opened.origin_s - opened.start_s)
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
        """Open the file; raise VideoError if it is missing, or if the facts are about another."""
        if self._facts is not None and self._is_missing:
            where = f"there is no file {self.path}" if self.path else "no file was given"
            raise VideoError(
                f"The file of {self.name} is missing ({where}), and the cache does not "
                "hold all that is needed of it: open the video with its file."
            )
        assert self.path is not None
        fault = why_unreadable(self.path)
        if fault:
            raise VideoError(fault)
        if not self.path.stat().st_size:
            raise VideoError(f"{self.path} is empty (0 bytes): copy or download it again.")
        reader = _open_reader(self.path, self._library, copies_folder(self._cache))
        if max(reader.size) > LARGEST_OWN_SIDE_PX:
            raise VideoError(
                f"{self.path} is {reader.size[0]} × {reader.size[1]} pixels large, and a side has "
                f"at most {LARGEST_OWN_SIDE_PX}: scale it first."
            )
        if reader.readable_s < reader.duration_s:
            warnings.warn(
                f"{self.path} is truncated: its header promises {reader.duration_s:.1f} s, but it "
                f"ends after {reader.readable_s:.1f} s; frames after that are marked as "
                "unreadable.",
                DamagedVideo,
                stacklevel=5,
            )
        if self._facts is not None:
            # Durations are compared only where there is no hash of the content: an earlier version
            # of the kit may have measured another duration of the same file.
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
        """Number of frames decoded so far, including those on the way to a requested frame."""
        if self._opened:
            return self._opened.frames_decoded
        return 0

    @property
    def decoding_s(self) -> float:
        """Seconds spent on decoding so far, summed over all threads."""
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
        times, frame_size = self.check_request(times_s, size)
        began_s = time.monotonic()
        try:
            return reader.try_frames(times, frame_size)
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
        reader = self._reader
        assert self.path is not None
        sound = Sound(
            self.path,
            start_s=reader.start_s,
            lead_s=self.lead_s,
            duration_s=self.duration_s,
            joints=reader.joints,
            number=audio_track,
            language=language,
        )
        sound.track()  # raises an error if there is no such track
        return sound


def _open_reader(path: Path, name: ReaderName, indexes: Path) -> PyAVReader:
    # Each reader is imported where it is used, so that `import atlaskit` stays light.
    if name == "pyav":
        from atlaskit.video.readers.pyav import PyAVReader

        return PyAVReader(path, indexes)
    from atlaskit.video.readers.decord import DecordReader

    return DecordReader(path, indexes)


def copies_folder(cache: Cache | None) -> Path:
    """Return the folder of a cache that holds the indexes. It may not exist yet."""
    if cache is None:
        return default_place().directory / COPIES
    return (cache.directory or _temporary_folder()) / COPIES


@lru_cache(maxsize=1)
def _temporary_folder() -> Path:
    """Return a folder for caches in memory, which is removed when this process ends."""
    folder = tempfile.TemporaryDirectory(prefix="atlaskit-")
    atexit.register(folder.cleanup)
    return Path(folder.name)
