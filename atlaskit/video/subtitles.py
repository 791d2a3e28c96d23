"""Text at times: the spoken or written lines that go with a video.

Reads SRT, WebVTT, ASS/SSA and LongVideoBench's JSON, and text tracks inside MP4 and MKV/WebM. Knows nothing of frames
or grids.
"""

from __future__ import annotations

import hashlib
import html
import json
import math
import re
import reprlib
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from atlaskit.errors import InputError, SubtitleError, reason
from atlaskit.video.encoding import read_text

if TYPE_CHECKING:
    from av.subtitles.stream import SubtitleStream

FORMATS = (".srt", ".vtt", ".ass", ".ssa", ".json")
MAX_BYTES = 64 << 20
"""A larger file is refused: ten hours of speech are about 2 MB."""
LAST_LINE_S = 5.0
"""How long a line stays whose end is not given, where neither a next line nor the video's length ends it."""

PLAIN_CODECS = {"subrip", "srt", "webvtt", "text"}
ASS_CODECS = {"ass", "ssa"}
TEXT_CODECS = PLAIN_CODECS | ASS_CODECS | {"mov_text"}
LISTS = {"hls", "dash", "concat", "imf"}
"""FFmpeg's names of formats that are lists of other files."""

_CLOCK = r"(-?)(?:(\d{1,6}):)?(\d{1,2}):(\d{1,2})(?:[.,]\s?(\d{1,9}))?"
_TIME = re.compile(rf"\s*{_CLOCK}\s*", re.ASCII)
_TIMING = re.compile(rf"\s*{_CLOCK}\s*-{{1,2}}>\s*{_CLOCK}", re.ASCII)
# Only known tags go, since `x <y and z> w` may be said in a lecture. No expression may run past the next opening sign:
# a hostile line of a million of them would take forever.
_TAG = re.compile(
    r"</?(?:[bisu]|em|strong|ruby|rt|rp)(?:\.[^<>]*|\s*)>"
    r"|</?(?:c|v|lang|font|span|p|a|div)(?:[\s.][^<>]*)?>"
    r"|<(?:\d+:)?\d\d:\d\d\.\d{3}>",  # when a word of a karaoke text is sung
    re.IGNORECASE,
)
_OVERRIDE = re.compile(r"\{\\[^{}]*\}")
_BRACES = re.compile(r"\{[^{}]*\}")
_DRAWING = re.compile(r"\{[^{}]*\\p[1-9]")
_BREAK = re.compile(r"(?i:<br\s{0,9}/?>)|\\[Nh]")
_ENTITY = re.compile(r"&(?:#\w{1,8}|\w{1,32});")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff]+")

Cue = tuple[float, float | None, str]
"""Start and end in seconds of the source's own clock, and plain text; the end is None where the source gives none."""


@dataclass(frozen=True)
class Line:
    """One line, shown during `[start_s, end_s)` seconds. Its text is plain: tags are stripped on reading."""

    start_s: float
    end_s: float
    text: str


@dataclass(frozen=True)
class Subtitles:
    """All lines of a video, in order of time: they are put in order of start, then end, whatever the order given."""

    lines: tuple[Line, ...] = ()

    def __post_init__(self) -> None:
        ordered = tuple(sorted(self.lines, key=lambda line: (line.start_s, line.end_s)))
        object.__setattr__(self, "lines", ordered)

    @classmethod
    def merged(cls, parts: Sequence[Subtitles]) -> Subtitles:
        """Join the lines of several tracks, in order of time; all are kept."""
        return cls(tuple(line for part in parts for line in part.lines))

    def shifted(self, offset_s: float, end_s: float | None = None) -> Subtitles:
        """Move every line later by `offset_s` seconds (earlier if negative) and cut off what is not in `[0, end_s)`.

        `end_s` is in the new time: a file that plays from 60 to 90 s of a playlist is `shifted(60, 90)`. Raises
        InputError for an offset that is not finite or an end that is not a time.
        """
        _check_finite("offset_s", offset_s)
        if end_s is not None:
            _check_finite("end_s", end_s)
        return _kept(((line.start_s, line.end_s, line.text) for line in self.lines), -offset_s, end_s)

    def between(self, start_s: float, end_s: float) -> tuple[Line, ...]:
        """Return every line that overlaps `[start_s, end_s)`, whole and in order of time.

        Raises InputError for what is not an interval.
        """
        if not 0 <= start_s <= end_s:
            raise InputError(f"[{start_s}, {end_s}) s is not an interval of time.")
        if start_s == end_s:
            return ()
        starts, latest_ends = self._index
        # Before `first` every line has ended; from `last` on none has begun.
        first, last = bisect_right(latest_ends, start_s), bisect_left(starts, end_s)
        return tuple(line for line in self.lines[first:last] if start_s < line.end_s)

    @cached_property
    def as_json(self) -> str:
        """The lines as JSON: [start, end, text] of each."""
        return json.dumps([[line.start_s, line.end_s, line.text] for line in self.lines])

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the lines."""
        return hashlib.sha256(self.as_json.encode()).hexdigest()

    @cached_property
    def _index(self) -> tuple[list[float], list[float]]:
        """The start of each line, and the latest end of it and all before it."""
        return [line.start_s for line in self.lines], list(accumulate((line.end_s for line in self.lines), max))

    def __len__(self) -> int:
        return len(self.lines)


def read_subtitles(path: str | Path, *, starts_at_s: float = 0.0, duration_s: float | None = None) -> Subtitles:
    r"""Read an SRT, WebVTT, ASS/SSA or LongVideoBench JSON file.

    `starts_at_s` is where the video begins in the file's own time, in seconds: it is subtracted from every time
    (LongVideoBench's `starting_timestamp_for_subtitles`). Lines are then cut to `[0, duration_s)`; those wholly outside
    are dropped, and if that is all of them the result is empty. A line without an end (JSON's null) stays until the
    video's end; where `duration_s` is not given, until the next line starts, or for LAST_LINE_S seconds if it is last.

    Text is plain: tags, ASS comments and drawings are dropped, entities decoded, whitespace collapsed. A line that ends
    before it starts, or says nothing, is dropped; no other is, however often it is repeated.

    The encoding is found from a byte order mark, else from zero bytes (UTF-16), else UTF-8 is tried, else it is
    guessed, which is not certain. Right in tests on a dozen lines: the Windows code pages of Western and Central
    Europe and Turkey, Latin-2, Cyrillic (cp1251, KOI8, cp866), Greek, Hebrew, Arabic, Thai, Japanese (Shift-JIS,
    EUC), Chinese (GB 18030, Big5), Korean. Three or four lines may be guessed wrong; so may other encodings (Baltic,
    Vietnamese), several languages in one text, and a damaged Asian text. Where it matters, save the file as UTF-8.

    Raises SubtitleError with one sentence for a file that is not one of these, is larger than MAX_BYTES, or holds no
    line; InputError for a time or length that is not one.
    """
    path = Path(path)
    form = path.suffix.lower()
    _check_finite("starts_at_s", starts_at_s)
    _check_duration(duration_s)
    if form not in FORMATS:
        raise SubtitleError(f"{path} is not a subtitle file that is read here: give one of {', '.join(FORMATS)}.")
    text = _decoded(path, _read(path))
    if form == ".json":
        # An empty list is a film in which nothing is said.
        return _kept(_json_cues(path, text, None if duration_s is None else math.inf), starts_at_s, duration_s)
    # A .srt is often a VTT and the reverse: the header tells.
    is_vtt = text.startswith("WEBVTT")
    cues = _ass_cues(text) if form in (".ass", ".ssa") else _timed_cues(text, is_vtt)
    cues = [cue for cue in cues if cue[2] and (cue[1] is None or cue[0] < cue[1])]
    if not cues:
        name = form[1:].upper()
        raise SubtitleError(f"{path} holds no line of text with a start and an end: is it a whole {name} file?")
    return _kept(cues, starts_at_s, duration_s)


def read_embedded(
    path: str | Path, *, origin_s: float = 0.0, duration_s: float | None = None, language: str | None = None
) -> Subtitles:
    """Read a text track out of a video file: mov_text in MP4; SubRip, ASS or WebVTT in MKV and WebM.

    It is the text track marked as default, else the first, among those whose language tag is `language` (as "eng")
    where one is given. `origin_s` is the showing time of the video's first frame in the container's time, in seconds,
    subtracted from every time; lines are then cut to `[0, duration_s)`. A line whose length the container does not give
    stays until the next one starts, or for LAST_LINE_S seconds if it is last. The result is empty if the track is.

    Nothing is decoded, but a text track lies scattered among the pictures: an MKV is read from end to end once.

    Raises SubtitleError with one sentence where there is no such track, its subtitles are pictures, or the file cannot
    be read; InputError for a time or length that is not one.
    """
    import av  # here, so that `import atlaskit` stays light

    _check_finite("origin_s", origin_s)
    _check_duration(duration_s)
    cues: list[Cue] = []
    try:
        # A hostile "video" may be a playlist of addresses: only plain files are read.
        with av.open(str(path), metadata_errors="replace", options={"protocol_whitelist": "file"}) as container:
            if LISTS & set(container.format.name.split(",")):
                raise SubtitleError(f"{path} is a list of other files: name a video file.")
            track = _chosen_track(path, container.streams.subtitles, language)
            for stream in container.streams:
                if stream is not track and hasattr(stream, "discard"):  # PyAV has it since 18
                    stream.discard = av.stream.Discard.all  # an MP4 then skips over the pictures without reading them
            for packet in container.demux(track):
                if packet.pts is None or packet.time_base is None or not packet.size:
                    continue
                length = packet.duration * packet.time_base if packet.duration and packet.duration > 0 else None
                start = packet.pts * packet.time_base
                end = None if length is None else float(start + length)
                cues.append((float(start), end, _packet_text(_codec(track), bytes(packet))))
    except (av.FFmpegError, OSError, ValueError, OverflowError) as error:
        raise SubtitleError(
            f"The subtitles in {path} cannot be read ({reason(error)}): copy or download it again."
        ) from error
    return _kept(cues, origin_s, duration_s)


def _kept(cues: Iterable[Cue], zero_s: float, duration_s: float | None) -> Subtitles:
    """Give open lines an end, move time 0 to `zero_s`, and keep what then says something within `[0, duration_s)`."""
    cues = list(cues)
    starts = sorted({start for start, _, _ in cues})
    limit = math.inf if duration_s is None else duration_s
    lines = []
    for start, end, text in cues:
        if end is None:
            following = bisect_right(starts, start)
            end = starts[following] if following < len(starts) else start + LAST_LINE_S
        shown, gone = max(0.0, start - zero_s), min(end - zero_s, limit)
        if text and start < end and shown < gone:
            lines.append(Line(shown, gone, text))
    return Subtitles(tuple(lines))


def _check_finite(name: str, value: float) -> None:
    if not math.isfinite(value):
        raise InputError(f"{name} must be a finite number of seconds, not {value}.")


def _check_duration(duration_s: float | None) -> None:
    if duration_s is not None and not 0 < duration_s < math.inf:
        raise InputError(f"duration_s must be a length in seconds above 0, not {duration_s}.")


# Files


def _read(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():  # a pipe would never end
            raise SubtitleError(f"{path} cannot be read: it is not a file; name one.")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise SubtitleError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    if len(data) > MAX_BYTES:
        raise SubtitleError(
            f"{path} is larger than {MAX_BYTES >> 20} MiB, which no subtitle file needs: is it the right file?"
        )
    return data


def _decoded(path: Path, data: bytes) -> str:
    """Return the file as text with \\n at the ends of lines."""
    text = read_text(data)
    if text is None:
        raise SubtitleError(f"{path} is not text in an encoding that is recognised: save it as UTF-8 first.")
    # Passing through the wrong tools, \r\n becomes \r\r\n.
    text = text.replace("\r\r\n", "\n").replace("\r\n", "\n").replace("\r", "\n")
    return text.lstrip("\ufeff \t\n")


def _timed_cues(text: str, is_vtt: bool) -> list[Cue]:
    """Read SRT or WebVTT.

    Not through pysubs2: it takes a karaoke text for a line of times, a VTT identifier or note for the end of the text
    before it, and a time below zero for one above.
    """
    rows = text.split("\n")
    timings = [(place, match) for place, row in enumerate(rows) if ">" in row and (match := _TIMING.match(row))]
    ends = [place for place, _ in timings[1:]] + [len(rows)]
    cues: list[Cue] = []
    for (place, match), end in zip(timings, ends, strict=False):  # one end is over where there is no line of times
        body = rows[place + 1 : end]
        if is_vtt:
            # A blank row ends the text; what follows is a note, or the name of the next.
            body = list(takewhile(str.strip, body))
        elif end < len(rows) and body and body[-1].strip().isdigit():
            body.pop()  # the number of the next
        times = match.groups()
        cues.append((_clock(*times[:5]), _clock(*times[5:]), _plain(" ".join(body))))
    return cues


def _ass_cues(text: str) -> list[Cue]:
    """Read ASS or SSA, one event at a time, so that a damaged one does not take the others with it."""
    import pysubs2  # here, so that `import atlaskit` stays light

    cues: list[Cue] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of margins and the like, which nothing here uses
        for row in text.split("\n"):
            if row.lstrip().startswith("Dialogue:"):  # not "Comment:"
                try:
                    events = pysubs2.SSAFile.from_string(row, format_="ass")
                except (pysubs2.exceptions.Pysubs2Error, ValueError):
                    continue
                cues += [(event.start / 1000, event.end / 1000, _ass_plain(event.text)) for event in events]
    return cues


def _json_cues(path: Path, text: str, open_end: float | None) -> Iterator[Cue]:
    """Read LongVideoBench's two forms; a null end becomes `open_end`."""
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SubtitleError(f"{path} is not valid JSON ({error}): copy or download it again.") from error
    if not isinstance(entries, list):
        raise SubtitleError(f"{path} is not a JSON list of lines, as LongVideoBench has them: is it the right file?")
    for number, entry in enumerate(entries, start=1):
        match entry:
            case {"start": start, "end": end, "line": str(words)} | {"timestamp": [start, end], "text": str(words)}:
                start_s, end_s = _json_seconds(start), open_end if end is None else _json_seconds(end)
            case _:
                raise SubtitleError(
                    f'Entry {number} of {path} must have "start", "end" and "line", or "timestamp" and "text", '
                    f"not {reprlib.repr(entry)}."
                )
        if start_s is None or (end_s is None and end is not None):
            raise SubtitleError(
                f"Entry {number} of {path} runs from {reprlib.repr(start)} to {reprlib.repr(end)}: "
                'give finite seconds or "HH:MM:SS.mmm".'
            )
        yield start_s, end_s, _plain(words)


def _json_seconds(value: object) -> float | None:
    """Return a time in seconds, or None for what is not one."""
    if isinstance(value, str):
        match = _TIME.fullmatch(value)
        return _clock(*match.groups()) if match else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        seconds = float(value)
    except OverflowError:
        return None
    return seconds if math.isfinite(seconds) else None


def _clock(sign: str, hours: str | None, minutes: str, seconds: str, decimals: str | None) -> float:
    """Return a time of day in seconds."""
    whole = (int(hours or 0) * 60 + int(minutes)) * 60 + int(seconds)
    value = float(f"{whole}.{decimals or 0}")
    return -value if sign else value


def _plain(text: str) -> str:
    """Return the text of SRT, VTT and the like without markup."""
    text = _BREAK.sub(" ", _OVERRIDE.sub("", text))
    text = _ENTITY.sub(lambda match: html.unescape(match[0]), _TAG.sub("", text))
    return _clean(text)


def _ass_plain(text: str) -> str:
    r"""Return the text of an ASS event without markup; nothing for a drawing (`{\p1}m 0 0 l 10 0`)."""
    if _DRAWING.search(text):
        return ""
    return _clean(re.sub(r"\\[Nnh]", " ", _BRACES.sub("", text)))


def _clean(text: str) -> str:
    """Collapse whitespace; drop control signs, and half surrogates (JSON can hold them), which no file could keep."""
    text = " ".join(_CONTROL.sub("", text).split())
    return text.encode("utf-8", "replace").decode("utf-8")


# Tracks


def _codec(track: SubtitleStream) -> str:
    # PyAV has no context where this FFmpeg has no decoder.
    return track.codec_context.name if track.codec_context else "an unknown form"


def _chosen_track(path: str | Path, tracks: Sequence[SubtitleStream], language: str | None) -> SubtitleStream:
    from av.stream import Disposition

    if not tracks:
        raise SubtitleError(f"{path} has no subtitle track: give its subtitles as a file.")
    readable = [track for track in tracks if _codec(track) in TEXT_CODECS]
    if not readable:
        forms = ", ".join(dict.fromkeys(_codec(track) for track in tracks))
        raise SubtitleError(
            f"The subtitles in {path} are pictures, or not in a form that is read here ({forms}): give them as a file."
        )
    languages = [track.metadata.get("language", "und") for track in readable]
    if language is not None:
        readable = [track for track, own in zip(readable, languages, strict=True) if own == language]
        if not readable:
            there = ", ".join(dict.fromkeys(languages))
            raise SubtitleError(f"{path} has no text track in language {language!r}: it has {there}.")
    return next((track for track in readable if track.disposition & Disposition.default), readable[0])


def _packet_text(codec: str, data: bytes) -> str:
    """Return what a packet says.

    Read from its bytes: FFmpeg's decoders turn them into ASS, in which braces and backslashes come back changed.
    """
    if codec == "mov_text":  # its length in two bytes, the text, then boxes with styles
        data = data[2 : 2 + int.from_bytes(data[:2], "big")]
        if data.startswith((b"\xfe\xff", b"\xff\xfe")):
            return _plain(data.decode("utf-16", "replace"))
    text = data.decode("utf-8", "replace")
    if codec in ASS_CODECS:  # number, layer, style, name, three margins, effect, text
        return _ass_plain(text.split(",", 8)[-1])
    return _plain(text)
