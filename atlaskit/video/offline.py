"""A video known from the cache alone: its facts and its subtitle lines, without its file."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import asked_key, canonical_json, lines_key, video_key
from atlaskit.errors import FrameError, VideoError
from atlaskit.video.playlist import Playlist, Source, paths_of, playlist_of
from atlaskit.video.readers import Pixels
from atlaskit.video.subtitles import Line, Subtitles
from atlaskit.video.video import LARGEST_SIDE_PX, Lines, ReaderName, Video, VideoFile, read_lines

DEEPEST = 4
"""Playlists within playlists that are recalled."""


MOST_PARTS = 100_000


LONGEST_S = 1e9


OF_A_FILE = re.compile(r"[0-9a-f]{64}")
"""A fingerprint that was made of a file's content; others, as a film's of its script, cannot be made of it again."""


def keep(video: Video, cache: Cache) -> None:
    """Keep what it takes to recall a video: its facts, those of its parts, and its lines."""
    parts = list({part.fingerprint: part for part in video.parts}.values()) if isinstance(video, Playlist) else []
    for part in parts:
        _keep_facts(part, cache)
    _keep_facts(video, cache)
    lines = video.subtitles.fingerprint
    _keep(lines_key(lines), video.subtitles.as_json.encode(), cache)
    if cache.get_json(asked_key(video.fingerprint)) != lines:
        cache.put_json(asked_key(video.fingerprint), lines, paid=True)


class VideoFacts(BaseModel):
    """What is known of a video without looking at it."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    name: Annotated[str, Field(max_length=1000)]
    duration_s: Annotated[float, Field(gt=0, le=LONGEST_S)]
    fps: Annotated[float, Field(gt=0, le=LONGEST_S)]
    size: Annotated[list[Annotated[int, Field(ge=1, le=LARGEST_SIDE_PX)]], Field(min_length=2, max_length=2)]
    parts: Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=MOST_PARTS)]
    """The fingerprints of a playlist's videos, in order."""


_LINES = TypeAdapter(list[tuple[Annotated[float, Field(ge=0)], Annotated[float, Field(ge=0)], str]])


class OfflineVideo(Video):
    """A video as the cache knows it; its file, if one is named, is opened when a frame is to be decoded."""

    def __init__(
        self, facts: VideoFacts, fingerprint: str, subtitles: Subtitles, path: Path | None, reader: ReaderName
    ) -> None:
        self.name, self.duration_s, self.fps = facts.name, facts.duration_s, facts.fps
        self.size, self.fingerprint, self.subtitles = (facts.size[0], facts.size[1]), fingerprint, subtitles
        self.path, self._reader = path, reader
        self._opened: Video | None = None
        self._guard = threading.Lock()

    @property
    def frames_decoded(self) -> int:
        """How many frames the decoder produced, if it was needed."""
        return self._opened.frames_decoded if self._opened else 0

    def try_frames(self, times_s: Sequence[float], size: tuple[int, int] | None = None) -> list[Pixels | FrameError]:
        """Return the frames shown at some times; raise VideoError where the file is not here."""
        return self._file().try_frames(times_s, size)

    def keyframes_around(self, time_s: float, until_s: float) -> tuple[float, float | None]:
        """Return the times of the keyframes around a time; raise VideoError where the file is not here."""
        return self._file().keyframes_around(time_s, until_s)

    def _file(self) -> Video:
        with self._guard:
            if self._opened is None:
                if self.path is None or not self.path.exists():
                    where = f"there is no file {self.path}" if self.path else "no file of it was named"
                    raise VideoError(
                        f"{self.name} is not here ({where}), and a picture of it is needed that is not in the cache."
                    )
                known = None if OF_A_FILE.fullmatch(self.fingerprint) else self.fingerprint
                opened = VideoFile(self.path, None, self._reader, known)
                if (opened.fingerprint, opened.duration_s, opened.size) != (
                    self.fingerprint,
                    self.duration_s,
                    self.size,
                ):
                    raise VideoError(f"{self.path} is another video than the one that was asked about before.")
                self._opened = opened
            return self._opened


def recall_video(
    fingerprint: str,
    source: str | Path | Sequence[Source] | None,
    subtitles: Lines | Sequence[Lines],
    reader: ReaderName,
    cache: Cache,
) -> Video | None:
    """Return a video as the cache knows it, None where it does not."""
    facts = _facts(fingerprint, cache)
    if facts is None:
        return None
    if subtitles == "embedded" and source is not None and all(Path(path).exists() for path in paths_of(source)):
        return None  # the track is read, for which the file is opened
    if subtitles == "embedded" or (source is None and subtitles is None):
        subtitles = _lines_of(fingerprint, cache)
    if isinstance(source, Sequence) and not isinstance(source, str):
        if len(facts.parts) != len(source):
            return None

        def recall(path: str | Path, lines: Lines, place: int) -> Video:
            part = facts.parts[place]
            known = _facts(part, cache)
            if known is None or known.parts:
                return VideoFile(Path(path), lines, reader)
            return OfflineVideo(known, part, read_lines(lines, known.duration_s), Path(path), reader)

        return playlist_of(source, subtitles, recall)
    assert not isinstance(subtitles, Sequence) or isinstance(subtitles, str)
    lines = read_lines(subtitles, facts.duration_s)
    if not facts.parts:
        return OfflineVideo(facts, fingerprint, lines, None if source is None else Path(source), reader)
    return _recalled_playlist(facts, lines, reader, cache, {})


def _recalled_playlist(
    facts: VideoFacts,
    lines: Subtitles,
    reader: ReaderName,
    cache: Cache,
    parts: dict[str, Video | None],
    depth: int = 0,
) -> Playlist | None:
    """Return a playlist of which no file is named; None where a part of it is not known. `parts` are those that are."""
    for part in dict.fromkeys(facts.parts):
        if part not in parts:
            parts[part] = None  # also for a playlist that claims to hold itself
            known = _facts(part, cache)
            if known is not None and depth < DEEPEST:
                if known.parts:
                    parts[part] = _recalled_playlist(known, Subtitles(), reader, cache, parts, depth + 1)
                else:
                    parts[part] = OfflineVideo(known, part, Subtitles(), None, reader)
    found = [parts[part] for part in facts.parts]
    whole = [part for part in found if part is not None]
    return Playlist(whole, lines) if len(whole) == len(found) else None


def _keep(key: str, value: bytes, cache: Cache) -> None:
    """Keep what is known to be so, in the place of anything else that is kept."""
    cache.remember(key, lambda: value, fits=lambda kept: kept == value, paid=True)


def _keep_facts(video: Video, cache: Cache) -> None:
    facts = {
        "name": video.name.encode("utf-8", "replace").decode(),
        "duration_s": video.duration_s,
        "fps": video.fps,
        "size": list(video.size),
        "parts": [part.fingerprint for part in video.parts] if isinstance(video, Playlist) else [],
    }
    _keep(video_key(video.fingerprint), canonical_json(facts).encode(), cache)


def _facts(fingerprint: str, cache: Cache) -> VideoFacts | None:
    kept = cache.get(video_key(fingerprint))
    return None if kept is None else facts_in(kept)


def facts_in(kept: bytes) -> VideoFacts | None:
    """Return the facts that are kept, None where a stranger's cache holds something else."""
    try:
        return VideoFacts.model_validate_json(kept)
    except ValidationError:
        return None


def _lines_of(fingerprint: str, cache: Cache) -> Subtitles:
    """Return the lines that a video had when it was last asked about; raise VideoError where they are not known."""
    asked = cache.get_json(asked_key(fingerprint))
    kept = cache.get(lines_key(asked)) if isinstance(asked, str) else None
    lines = None if kept is None else lines_in(kept)
    if lines is None:
        raise VideoError(f"{cache} does not know the subtitles of the video {fingerprint!r:.80}: give them.")
    return lines


def lines_in(kept: bytes) -> Subtitles | None:
    """Return the lines that are kept, None where a stranger's cache holds something else."""
    try:
        return Subtitles(tuple(Line(*line) for line in _LINES.validate_json(kept)))
    except ValidationError:
        return None
