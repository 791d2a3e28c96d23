"""`OfflineVideo`: a video known from the cache alone: facts and subtitle lines, opened only for
missing frames.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Sequence
from pathlib import Path

from atlaskit.caching.cache import Cache
from atlaskit.errors import FrameError, VideoError
from atlaskit.video.activity import Activity, cached_activity
from atlaskit.video.file import ReaderName, VideoFile
from atlaskit.video.playlist import Playlist, VideoSource, open_playlist, paths_of
from atlaskit.video.readers import Pixels
from atlaskit.video.records import VideoFacts, cached_facts, cached_lines
from atlaskit.video.sound import Sound
from atlaskit.video.subtitles import Subtitles, SubtitleSource, load_subtitles
from atlaskit.video.video import Video

DEEPEST_NESTING = 4
"""How many playlists within one another are recalled."""
CONTENT_HASH = re.compile(r"[0-9a-f]{64}")
"""A fingerprint that is a hash of a file's content. Any other, such as that of a synthetic video's
script, cannot be computed from the file."""


class OfflineVideo(Video):
    """A video with facts from the cache. Its file is opened when a frame must be decoded."""

    def __init__(
        self,
        facts: VideoFacts,
        fingerprint: str,
        subtitles: Subtitles,
        path: Path | None,
        reader: ReaderName,
        cache: Cache,
    ) -> None:
        self.name, self.duration_s, self.fps = facts.name, facts.duration_s, facts.fps
        self.size, self.fingerprint, self.subtitles = (facts.size[0], facts.size[1]), fingerprint, subtitles
        self.lead_s, self.path, self._reader, self._cache = facts.lead_s, path, reader, cache
        self._file: Video | None = None
        self._lock = threading.Lock()

    @property
    def frames_decoded(self) -> int:
        """Number of frames that the decoder has produced; 0 if the file was not opened."""
        return self._file.frames_decoded if self._file else 0

    def try_frames(self, times_s: Sequence[float], size: tuple[int, int] | None = None) -> list[Pixels | FrameError]:
        """Return the frame shown at each time; raise VideoError if the file is missing or wrong."""
        return self._open().try_frames(times_s, size)

    def keyframes_around(self, time_s: float, until_s: float) -> tuple[float, float | None]:
        """Return the keyframes around a time; raise VideoError if the file is missing or wrong."""
        return self._open().keyframes_around(time_s, until_s)

    def activity(self, cache: Cache | None = None) -> Activity | None:
        """Return how much changes over time, from the cache, or from the file if it is there.

        Raises:
            VideoError: The file is another video.
        """
        cache = cache or self._cache
        known = cached_activity(self.fingerprint, self.duration_s, cache)
        if known is not None or self.path is None or not self.path.exists():
            return known
        return self._open().activity(cache)

    def open_sound(self, audio_track: int | None = None, language: str | None = None) -> Sound:
        """Return a sound track of the file; raise VideoError if the file is missing or wrong."""
        if self.path is None or not self.path.exists():
            raise VideoError(f"The file of {self.name} is missing: open the video with it to hear its sound.")
        return self._open().open_sound(audio_track, language)

    def _open(self) -> Video:
        with self._lock:
            if self._file is None:
                self._file = self._open_file()
            return self._file

    def _open_file(self) -> VideoFile:
        if self.path is None or not self.path.exists():
            where = f"there is no file {self.path}" if self.path else "no file was given"
            raise VideoError(
                f"The file of {self.name} is missing ({where}), and a frame of it is needed that is not in the cache: "
                f"open the video with its file."
            )
        is_hash = CONTENT_HASH.fullmatch(self.fingerprint)
        file = VideoFile(self.path, None, self._reader, None if is_hash else self.fingerprint, self._cache)
        # A hash of the content is certain, even if the cache holds a length that an earlier version
        # measured.
        is_other = file.fingerprint != self.fingerprint if is_hash else file.duration_s != self.duration_s
        if is_other or file.size != self.size:
            raise VideoError(f"{self.path} is another video than the one that the cache knows: give the original file.")
        return file


def recall_video(
    fingerprint: str,
    source: str | os.PathLike[str] | Sequence[VideoSource] | None,
    subtitles: SubtitleSource | Sequence[SubtitleSource],
    reader: ReaderName,
    cache: Cache,
) -> Video | None:
    """Return a video from what the cache knows of it, without opening its file.

    Args:
        fingerprint: Identifies the video.
        source: Its file or its list of files and open videos, for frames that are not cached; None
            if there is none.
        subtitles: Its subtitles, as `open_video` takes them.
        reader: Which library decodes the file, should that be necessary.
        cache: Where `remember_video` stored the video.

    Returns:
        The video; None if the cache does not know it, or if its file must be opened for its
        embedded subtitles.

    Raises:
        VideoError: The cache is asked for the lines of the video and does not have them.
    """
    facts = cached_facts(fingerprint, cache)
    if facts is None:
        return None
    if subtitles == "embedded" and source is not None and all(Path(path).exists() for path in paths_of(source)):
        return None
    if subtitles == "embedded" or (source is None and subtitles is None):
        subtitles = cached_lines(fingerprint, cache)
        if subtitles is None:
            raise VideoError(
                f"{cache} does not hold the subtitles of the video {fingerprint!r:.80}: give them with `subtitles`."
            )
    if isinstance(source, Sequence) and not isinstance(source, str):
        return _recall_listed(facts, source, subtitles, reader, cache)
    assert not isinstance(subtitles, Sequence) or isinstance(subtitles, str)
    lines = load_subtitles(subtitles, facts.duration_s, facts.lead_s, facts.fps)
    if facts.parts:
        return _PlaylistRecall(reader, cache).recall(facts, lines)
    return OfflineVideo(facts, fingerprint, lines, None if source is None else Path(source), reader, cache)


def _recall_listed(
    facts: VideoFacts,
    sources: Sequence[VideoSource],
    subtitles: SubtitleSource | Sequence[SubtitleSource],
    reader: ReaderName,
    cache: Cache,
) -> Playlist | None:
    """Return a playlist whose files are given; a file that the cache does not know is opened."""
    if len(facts.parts) != len(sources):
        return None

    def recall(path: str | os.PathLike[str], lines: SubtitleSource, index: int) -> Video:
        part = facts.parts[index]
        known = cached_facts(part, cache)
        if known is None or known.parts:
            return VideoFile(Path(path), lines, reader, cache=cache)
        if lines == "embedded":
            return VideoFile(Path(path), lines, reader, cache=cache)
        track = load_subtitles(lines, known.duration_s, known.lead_s, known.fps)
        return OfflineVideo(known, part, track, Path(path), reader, cache)

    return open_playlist(sources, subtitles, recall)


class _PlaylistRecall:
    """Recalls a playlist without files, and each of its parts once."""

    def __init__(self, reader: ReaderName, cache: Cache) -> None:
        self._reader, self._cache = reader, cache
        self._parts: dict[str, Video | None] = {}

    def recall(self, facts: VideoFacts, lines: Subtitles, depth: int = 0) -> Playlist | None:
        """Return the playlist, or None if the cache does not know all its parts."""
        for part in dict.fromkeys(facts.parts):
            if part not in self._parts:
                self._parts[part] = None  # ends the recursion for a playlist that claims to contain itself
                self._parts[part] = self._recall_part(part, depth)
        parts = [self._parts[part] for part in facts.parts]
        known = [part for part in parts if part is not None]
        return Playlist(known, lines) if len(known) == len(parts) else None

    def _recall_part(self, part: str, depth: int) -> Video | None:
        facts = cached_facts(part, self._cache)
        if facts is None or depth >= DEEPEST_NESTING:
            return None
        if facts.parts:
            return self.recall(facts, Subtitles(), depth + 1)
        return OfflineVideo(facts, part, Subtitles(), None, self._reader, self._cache)
