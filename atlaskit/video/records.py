"""Caches the facts about a video and its subtitle lines, so that it can be opened without its file.

The facts are its name, duration, frame rate and size (`VideoFacts`). Entries may come from someone
else's cache, so they are validated when they are read.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, FailFast, Field, TypeAdapter, ValidationError

from atlaskit import limits
from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import Kind, canonical_json, read_json
from atlaskit.video.collection import Collection, moment_of
from atlaskit.video.names import collection_fingerprint, playlist_fingerprint
from atlaskit.video.playlist import Playlist
from atlaskit.video.subtitles import Line, Subtitles
from atlaskit.video.video import LARGEST_OWN_SIDE_PX, Video

MOST_PARTS = 100_000
LARGEST_NUMBER = 1e9
"""Largest duration in seconds, and largest frame rate, that is accepted from a cache."""


class FilmFacts(BaseModel):
    """The name and the date of a film of a collection."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: Annotated[str, Field(max_length=limits.LINE)]
    began: Annotated[str, Field(max_length=40)] | None = None
    """When its recording began, in ISO 8601."""

    @property
    def moment(self) -> datetime | None:
        """When its recording began; None if that is not known."""
        return moment_of(self.began or "")


class VideoFacts(BaseModel):
    """The facts about a video that are known without its file."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    name: Annotated[str, Field(max_length=1000)]
    duration_s: Annotated[float, Field(gt=0, le=LARGEST_NUMBER)]
    fps: Annotated[float, Field(gt=0, le=LARGEST_NUMBER)]
    size: Annotated[
        list[Annotated[int, Field(ge=1, le=LARGEST_OWN_SIDE_PX)]],
        Field(min_length=2, max_length=2),
    ]
    parts: Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=MOST_PARTS)]
    """The fingerprints of a playlist's videos, in order; empty for a file."""
    lead_s: Annotated[float, Field(ge=0, le=LARGEST_NUMBER)] = 0.0
    """Seconds of the container's time before the first frame."""
    films: Annotated[list[FilmFacts], Field(max_length=MOST_PARTS)] = []
    """The films of a collection, one for each part; empty for a playlist and a file."""


_Second = Annotated[float, Field(ge=0)]
_ROWS = TypeAdapter(Annotated[list[tuple[_Second, _Second, str]], FailFast()])


def remember_video(video: Video, cache: Cache) -> None:
    """Cache the facts about a video and its parts, and its lines."""
    if isinstance(video, Playlist):
        distinct_parts = {part.fingerprint: part for part in video.parts}
        for part in distinct_parts.values():
            put_facts(part, cache)
    put_facts(video, cache)
    shown = video.subtitles.fingerprint
    _put(LINES.key(lines=shown), video.subtitles.as_json.encode(), cache)
    if video.subtitles.original:
        original = Subtitles(video.subtitles.original)
        _put(LINES.key(lines=original.fingerprint), original.as_json.encode(), cache)
        _put(ORIGINAL.key(lines=shown), canonical_json(original.fingerprint).encode(), cache)
    if cache.get_json(ASKED.key(video=video.fingerprint)) != shown:
        cache.put_json(ASKED.key(video=video.fingerprint), shown)


def cached_facts(fingerprint: str, cache: Cache) -> VideoFacts | None:
    """Return the cached facts of a video, or None if there are none."""
    entry = cache.get(VIDEO.key(video=fingerprint))
    if entry is None:
        return None
    return parse_facts(entry)


def cached_lines(fingerprint: str, cache: Cache) -> Subtitles | None:
    """Return the lines that a video had when it was last asked about; None if none are cached."""
    track = _track(cache.get_json(ASKED.key(video=fingerprint)), cache)
    if track is None:
        return None
    original = _track(cache.get_json(ORIGINAL.key(lines=track.fingerprint)), cache)
    if original is None:
        return track
    return Subtitles(track.lines, original.lines)


def _track(fingerprint: object, cache: Cache) -> Subtitles | None:
    """Return the track with a fingerprint, or None if the cache has none."""
    if not isinstance(fingerprint, str):
        return None
    entry = cache.get(LINES.key(lines=fingerprint))
    if entry is None:
        return None
    return parse_lines(entry)


def parse_facts(entry: bytes) -> VideoFacts | None:
    """Return the facts in a cache entry, or None if it holds anything else."""
    try:
        return VideoFacts.model_validate_json(entry)
    except ValidationError:
        return None


def parse_lines(entry: bytes) -> Subtitles | None:
    """Return the lines in a cache entry, or None if it holds anything else."""
    try:
        return Subtitles(tuple(Line(*line) for line in _ROWS.validate_python(read_json(entry))))
    except ValueError:
        return None


def _are_facts(key: str, entry: bytes) -> bool:
    facts = parse_facts(entry)
    if facts is None:
        return False
    # The fingerprint of a collection or playlist follows from its facts, that of a file does not.
    if facts.films:
        names = [film.name for film in facts.films]
        return key == VIDEO.key(video=collection_fingerprint(facts.parts, names))
    return not facts.parts or key == VIDEO.key(video=playlist_fingerprint(facts.parts))


def _are_lines(key: str, entry: bytes) -> bool:
    lines = parse_lines(entry)
    return lines is not None and key == LINES.key(lines=lines.fingerprint)


def _is_fingerprint(_: str, entry: bytes) -> bool:
    return re.fullmatch(rb'"[0-9a-f]{64}"', entry) is not None


VIDEO = Kind("video", 1, _are_facts)
"""A video's metadata: duration, frame rate, size and name."""
LINES = Kind("lines", 1, _are_lines)
"""A subtitle track, by the fingerprint of its lines. The key leaves out the video."""
ASKED = Kind("asked", 1, _is_fingerprint)
"""The subtitle track that a video had when `ask` last used it."""
ORIGINAL = Kind("original", 1, _is_fingerprint)
"""The fingerprint of rolling captions as their source gave them, by the fingerprint of the track
that is shown instead, in which each word stands once."""


def put_facts(video: Video, cache: Cache) -> None:
    """Cache the facts about a video."""
    # Without defaults, the entry equals that of versions that did not know `lead_s` and `films`.
    entry = canonical_json(facts_of(video).model_dump(exclude_defaults=True))
    _put(VIDEO.key(video=video.fingerprint), entry.encode(), cache)


def facts_of(video: Video) -> VideoFacts:
    """Return the facts about a video that are known without its file."""
    facts: dict[str, object] = {
        "name": video.name.encode("utf-8", "replace").decode(),
        "duration_s": video.duration_s,
        "fps": video.fps,
        "size": list(video.size),
        "parts": [part.fingerprint for part in video.parts] if isinstance(video, Playlist) else [],
        "lead_s": video.lead_s,
    }
    if isinstance(video, Collection):
        films = []
        for film in video.films:
            began = None if film.began is None else film.began.isoformat()
            films.append({"name": film.name, "began": began})
        facts["films"] = films
    return VideoFacts.model_validate(facts)


def _put(key: str, value: bytes, cache: Cache) -> None:
    """Cache a value, and replace any other value that the cache holds under its key."""
    cache.remember(key, lambda: value, fits=lambda entry: entry == value)
