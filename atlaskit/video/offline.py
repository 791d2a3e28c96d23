"""Recalls a video from what the cache knows of it: its facts and its lines."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from atlaskit.caching.cache import Cache
from atlaskit.errors import VideoError
from atlaskit.video.file import ReaderName, VideoFile
from atlaskit.video.playlist import Playlist, VideoSource, open_playlist
from atlaskit.video.records import VideoFacts, cached_facts, cached_lines
from atlaskit.video.subtitles import Subtitles, SubtitleSource, load_subtitles
from atlaskit.video.video import Video

DEEPEST_NESTING = 4
"""How many playlists within one another are recalled."""


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
    sources = [source] if isinstance(source, str | os.PathLike) else source or ()
    are_there = all(isinstance(each, Video) or Path(each).exists() for each in sources)
    if subtitles == "embedded" and source is not None and are_there:
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
    if facts.parts:
        return _PlaylistRecall(reader, cache).recall(facts, load_subtitles(subtitles, facts.duration_s))
    path = None if source is None else Path(source)
    return VideoFile(path, subtitles, reader, fingerprint, cache, facts=facts)


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
        if known is None or known.parts or lines == "embedded":
            return VideoFile(Path(path), lines, reader, cache=cache)
        return VideoFile(Path(path), lines, reader, part, cache, facts=known)

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
        return VideoFile(None, None, self._reader, part, self._cache, facts=facts)
