"""Opening videos: files, lists of them, and videos that are not here, as far as the cache knows them.

A video that was asked about is kept as its facts (length, rate, size) and its lines, under its fingerprint. With these,
and with what was seen and answered, a run is made again without its file. Knows nothing of grids.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from atlaskit.caching.cache import Cache, default_cache
from atlaskit.errors import InputError, VideoError, printable
from atlaskit.video.offline import recall_video
from atlaskit.video.playlist import Source, check_is_closed, playlist_of
from atlaskit.video.video import Lines, ReaderName, Video, VideoFile

FINGERPRINT = re.compile(r"[\w.-]{1,200}", re.ASCII)


def open_video(
    source: Source | Sequence[Source] | None = None,
    subtitles: Lines | Sequence[Lines] = None,
    *,
    reader: ReaderName = "pyav",
    fingerprint: str | None = None,
    cache: Cache | None = None,
) -> Video:
    """Open a video file, or a list of them as one virtual video that plays one after the other.

    `subtitles` is a file (SRT, VTT, ASS, LongVideoBench's JSON), "embedded" for the track inside the video file, or
    what `read_subtitles` returned. For a list of videos it is one for the whole, or a list with one (or None) for
    each; the parts' own lines are joined. `reader` names the library that decodes.

    With the `fingerprint` of a video that was asked about before, what `cache` (`./cache`, if none is given) knows of
    it is enough: the file is looked for when a picture is needed that is not in the cache, and may be missing until
    then. If neither source nor subtitles are given, or "embedded" ones of a file that is missing, it has the lines that
    it had when it was last asked about.

    Raises VideoError or SubtitleError with one sentence for what cannot be opened, or is not the video of the
    fingerprint; InputError for a wrong argument.
    """
    if reader not in get_args(ReaderName):
        raise InputError(f'reader is "pyav" or "decord", got {reader!r}.')
    if fingerprint is not None and not (isinstance(fingerprint, str) and FINGERPRINT.fullmatch(fingerprint)):
        raise InputError(f"A fingerprint is what `video.fingerprint` says, not {printable(str(fingerprint), 80)!r}.")
    if source is None and fingerprint is None:
        raise InputError("A video is a file, or a list of them, or the fingerprint of one that was asked about before.")
    if isinstance(source, Video):
        check_is_closed(source, subtitles)
        video = source
    else:
        _check_source(source, subtitles)
        known = None
        if fingerprint is not None:
            known = recall_video(fingerprint, source, subtitles, reader, cache or default_cache())
        video = known or _opened(source, subtitles, reader)
    if fingerprint not in (None, video.fingerprint):
        this, asked = video.fingerprint[:12], str(fingerprint)[:12]
        raise VideoError(f"{video.name} is another video ({this!r}…) than the one that was asked about ({asked!r}…).")
    return video


def _opened(source: str | Path | Sequence[Source] | None, subtitles: Any, reader: ReaderName) -> Video:
    if source is None:
        raise VideoError(
            "The cache knows no video of this fingerprint: name its file, or import the recording of a run that asked "
            "about it."
        )
    if isinstance(source, (str, Path)):
        return VideoFile(Path(source), subtitles, reader)
    return playlist_of(source, subtitles, lambda path, lines, _: VideoFile(Path(path), lines, reader))


def _check_source(source: object, subtitles: object) -> None:
    """Raise InputError for what is no video, nor its subtitles."""
    if isinstance(source, (str, Path)):
        if isinstance(subtitles, Sequence) and not isinstance(subtitles, str):
            raise InputError("One video file takes one subtitle file, not a list of them.")
    elif source is not None and (
        not isinstance(source, Sequence) or not all(isinstance(part, (str, Path, Video)) for part in source)
    ):
        raise InputError(f"A video is a file, or a list of files and open videos, not {source!r:.80}.")
