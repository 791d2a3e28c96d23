"""`open_video`: opens a file, a list of files, or a video that the cache knows by its fingerprint.

When a question about a video is asked, its facts (duration, frame rate, size) and its subtitles are
cached under its fingerprint. With these, and with cached views and replies, a run can be replayed
without the file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from atlaskit.caching.cache import Cache, default_cache
from atlaskit.errors import InputError, VideoError, printable
from atlaskit.video.collection import Collection
from atlaskit.video.file import ReaderName, VideoFile
from atlaskit.video.folder import is_several, open_videos
from atlaskit.video.names import local_path
from atlaskit.video.playlist import AnyVideo, Playlist
from atlaskit.video.records import VideoFacts, cached_facts, cached_lines
from atlaskit.video.subtitles import Subtitles, SubtitleSource, load_subtitles
from atlaskit.video.subtitles.files import subtitles_beside
from atlaskit.video.video import Video

FINGERPRINT = re.compile(r"[\w.-]{1,200}", re.ASCII)
"""A valid fingerprint of a video."""


def open_video(
    source: AnyVideo | None = None,
    subtitles: SubtitleSource | Sequence[SubtitleSource] = None,
    *,
    reader: ReaderName = "pyav",
    fingerprint: str | None = None,
    cache: Cache | None = None,
    subtitles_track: int | str | None = None,
    language: str | None = None,
) -> Video:
    """Open a video file, or a list of them as one video that plays one after the other.

    Args:
        source: A file (its path or `file://` URL), a list of files and open videos, or None for a
            video that `cache` knows. A folder, a pattern or a table of files opens as a collection:
            see `open_videos`.
        subtitles: A subtitle file (see `read_subtitles` for the formats); "embedded" for a track
            inside the video file; "beside" for the file in the video's folder that has the video's
            name, if there is one; a `Subtitles` object; or None. For a list of videos: one of these
            for the whole list, in which "embedded" and "beside" apply to each video; or a list with
            one for each video.
        reader: Which library decodes: "pyav" or "decord".
        fingerprint: `video.fingerprint` of a video that was asked about before. Its facts come from
            `cache`, and its file may be missing until a frame that is not cached must be decoded.
            The subtitles come from `cache` too, as of the last question about the video, if neither
            `source` nor `subtitles` is given, or if `subtitles` is "embedded" and the file is
            missing.
        cache: Where to look up `fingerprint`, and where the index of a file whose container is not
            trusted is stored; None for the default cache.
        subtitles_track: Which track "embedded" reads: its number from 0, or its title. See
            `video.subtitle_tracks`.
        language: The language of the track that "embedded" reads: a code of two or three letters,
            or an English name. None for the language of the default track.

    Raises:
        VideoError: The video cannot be opened, or has another fingerprint.
        SubtitleError: The subtitles cannot be read.
        InputError: An argument is wrong.

    Examples:
        >>> video = ak.open_video("match.mp4", "match.srt")
        >>> video.duration_s, video.size
        (120.0, (320, 180))
        >>> len(video.subtitles.lines)
        6
        >>> video.frame(86.3).size
        (320, 180)
        >>> ak.open_video(["match.mp4", "match.mp4"]).duration_s
        240.0
    """
    if reader not in get_args(ReaderName):
        raise InputError(f'reader must be "pyav" or "decord"; got {reader!r}.')
    if fingerprint is not None and not (
        isinstance(fingerprint, str) and FINGERPRINT.fullmatch(fingerprint)
    ):
        raise InputError(
            "fingerprint must be the `fingerprint` of a video; got "
            f"{printable(str(fingerprint), 80)!r}."
        )
    if source is None and fingerprint is None:
        raise InputError(
            "Give a video file, a list of them, or the fingerprint of a video that was asked about."
        )
    if language is not None or subtitles_track is not None:
        _check_embedded(source, subtitles)
    if isinstance(source, Video):
        _check_no_subtitles(source, subtitles)
        video = source
    elif isinstance(source, str | os.PathLike) and is_several(source):
        if subtitles is not None:
            raise InputError(
                f"{printable(os.fsdecode(source), 200)} names several videos: their subtitles are "
                "the files beside them, x.srt beside x.mp4. Leave subtitles out."
            )
        video = open_videos(source, cache=cache)
    else:
        sources = _with_paths(source, subtitles)
        lines = _beside(sources) if subtitles == "beside" else subtitles
        options = {"subtitles_track": subtitles_track, "language": language}
        video = _Opening(reader, cache, options).video(sources, lines, fingerprint)
    if fingerprint not in (None, video.fingerprint):
        found = video.fingerprint[:12]
        expected = str(fingerprint)[:12]
        raise VideoError(
            f"{video.name} is another video (fingerprint {found!r}…) than the one that was asked "
            f"about ({expected!r}…)."
        )
    return video


def as_video(source: AnyVideo, cache: Cache | None = None) -> Video:
    """Return a video: `source` itself if it is open, else the file or list that it names.

    Args:
        source: What `open_video` takes, or an open video.
        cache: See `open_video`.

    Raises:
        VideoError: The video cannot be opened.
        InputError: `source` is none of these.
    """
    if isinstance(source, Video):
        return source
    return open_video(source, cache=cache)


class _Opening:
    """Opens files with one set of options.

    The file of a video that the cache knows is opened only when a frame is needed.
    """

    def __init__(self, reader: ReaderName, cache: Cache | None, options: dict[str, Any]) -> None:
        self._reader = reader
        self._cache = cache
        self._options = options

    def video(
        self, source: Path | list[Video | Path] | None, subtitles: Any, fingerprint: str | None
    ) -> Video:
        """Return the video of a file, of a list of files and videos, or of a fingerprint."""
        facts = self._facts(fingerprint)
        if subtitles == "embedded" and source is not None:
            sources = source if isinstance(source, list) else [source]
            if all(isinstance(each, Video) or each.exists() for each in sources):
                facts = None  # the track is read from the file
        are_lines_cached = subtitles == "embedded" or (source is None and subtitles is None)
        if facts and are_lines_cached:
            cache = self._cache or default_cache()
            subtitles = cached_lines(str(fingerprint), cache)
            if subtitles is None:
                raise VideoError(
                    f"{cache} does not hold the subtitles of the video {fingerprint!r:.80}: give "
                    "them with `subtitles`."
                )
        if isinstance(source, list):
            return self._list(source, subtitles, facts.parts if facts else [])
        if facts and facts.parts:
            recalled = self._playlist(facts, load_subtitles(subtitles, facts.duration_s))
            if recalled is not None:
                return recalled
        if source is None and (facts is None or facts.parts):
            raise VideoError(
                "The cache knows no video of this fingerprint: give its file, or import the "
                "recording of a run that asked about it."
            )
        return self._file(source, subtitles, fingerprint if facts else None)

    def _facts(self, fingerprint: str | None) -> VideoFacts | None:
        if fingerprint is None:
            return None
        return cached_facts(fingerprint, self._cache or default_cache())

    def _file(self, path: Path | None, lines: SubtitleSource, fingerprint: str | None) -> VideoFile:
        facts = self._facts(fingerprint)
        # Facts of a playlist are not those of a file, and an embedded track needs the file.
        if facts is None or facts.parts or lines == "embedded":
            facts = None
            fingerprint = None
        return VideoFile(
            path,
            subtitles=lines,
            reader=self._reader,
            fingerprint=fingerprint,
            cache=self._cache,
            facts=facts,
            **self._options,
        )

    def _list(
        self, sources: Sequence[Path | Video], subtitles: Any, known: Sequence[str]
    ) -> Playlist:
        """Return several sources as one playlist. Equal paths with equal subtitles share a video.

        Args:
            sources: Paths, and videos that are open.
            subtitles: The subtitles of the whole playlist, or a list with those of each source.
            known: The fingerprints of the sources; empty if they are unknown.
        """
        of_whole: SubtitleSource = None
        of_parts: list[SubtitleSource]
        if isinstance(subtitles, Sequence) and not isinstance(subtitles, str):
            of_parts = list(subtitles)
            if len(of_parts) != len(sources):
                raise InputError(
                    f"{len(sources)} videos take as many subtitle files (or None); got "
                    f"{len(of_parts)}."
                )
        elif subtitles == "embedded":
            of_parts = [None if isinstance(each, Video) else "embedded" for each in sources]
        else:
            of_parts = [None] * len(sources)
            of_whole = subtitles
        fingerprints = known if len(known) == len(sources) else [None] * len(sources)
        opened: dict[tuple[str, str], Video] = {}
        parts: list[Video] = []
        for source, lines, fingerprint in zip(sources, of_parts, fingerprints, strict=True):
            if isinstance(source, Video):
                _check_no_subtitles(source, lines)
                parts.append(source)
                continue
            identity = str(lines) if isinstance(lines, str | os.PathLike) else str(id(lines))
            key = (str(source), identity)
            if key not in opened:
                opened[key] = self._file(source, lines, fingerprint)
            parts.append(opened[key])
        playlist = Playlist(parts)
        if of_whole is None:
            return playlist
        return Playlist(parts, load_subtitles(of_whole, playlist.duration_s))

    def _playlist(self, whole: VideoFacts, lines: Subtitles) -> Playlist | None:
        """Return a playlist or a collection by its facts; None if a part is not in the cache."""
        distinct = list(dict.fromkeys(whole.parts))
        for facts in map(self._facts, distinct):
            if facts is None or facts.parts:
                return None
        videos = {part: self._file(None, None, part) for part in distinct}
        parts = [videos[part] for part in whole.parts]
        if not whole.films:
            return Playlist(parts, lines)
        names = [film.name for film in whole.films]
        moments = [film.moment for film in whole.films]
        return Collection(parts, names, moments, subtitles=lines)


def _check_no_subtitles(video: Video, subtitles: object) -> None:
    """Raise InputError if subtitles are given for a video that is already open."""
    if subtitles is not None:
        raise InputError(f"{video.name} is open already: give its subtitles when you open it.")


def _check_embedded(source: object, subtitles: object) -> None:
    """Raise InputError if a track inside a file is chosen although none is read."""
    is_list = isinstance(subtitles, Sequence) and not isinstance(subtitles, str)
    given = list(subtitles) if is_list else [subtitles]  # type: ignore[call-overload]
    if isinstance(source, Video) or "embedded" not in given:
        raise InputError(
            "language and subtitles_track choose a track inside a video file: give "
            'subtitles="embedded" with them.'
        )


def _beside(source: Path | Video | list[Video | Path] | None) -> Any:
    """Return the subtitle file beside each video; None for a video without one."""
    if isinstance(source, list):
        return list(map(_beside, source))
    if source is None or isinstance(source, Video):
        return None
    return subtitles_beside(source)


def _with_paths(source: Any, subtitles: object) -> Path | list[Video | Path] | None:
    """Return a source with a path in place of each file name or URL.

    Raises:
        InputError: `source` is no video, or one file has a list of subtitles.
    """
    if source is None:
        return None
    if isinstance(source, str | os.PathLike):
        if isinstance(subtitles, Sequence) and not isinstance(subtitles, str):
            raise InputError("One video file takes one subtitle file, not a list of them.")
        return local_path(source)
    if not isinstance(source, Sequence) or not all(
        isinstance(part, str | os.PathLike | Video) for part in source
    ):
        raise InputError(
            f"A video is a file, or a list of files and open videos; got {source!r:.80}."
        )
    parts = list[Video | Path]()
    for part in source:
        parts.append(part if isinstance(part, Video) else local_path(part))
    return parts
