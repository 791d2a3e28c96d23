"""Subtitles: lines of text with a start and an end, from files and from tracks inside video files.

To add a file format, write a function from text to `SourceLine`s in `rows` or `documents`, and
register it in `FORMATS` of `files`. To add a codec of an embedded track, register it in
`TEXT_CODECS` of `atlaskit.video.tracks`.
"""

from atlaskit.video.subtitles.embedded import read_embedded, subtitle_tracks
from atlaskit.video.subtitles.files import SubtitleSource, load_subtitles, read_subtitles
from atlaskit.video.subtitles.track import Line, Subtitles

__all__ = [
    "Line",
    "SubtitleSource",
    "Subtitles",
    "load_subtitles",
    "read_embedded",
    "read_subtitles",
    "subtitle_tracks",
]
