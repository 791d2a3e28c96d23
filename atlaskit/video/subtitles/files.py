"""Reads subtitle files: finds the encoding, chooses the format, places the lines on the video.

* `FORMATS` has the parser of each format by file suffix. A new format is a new entry.
* `subtitles_beside` finds the subtitle file beside a video, as players do.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias
from unicodedata import normalize

from atlaskit import limits
from atlaskit.errors import InputError, SubtitleError, SubtitleWarning, VideoError, printable
from atlaskit.video.names import local_path, why_unreadable
from atlaskit.video.subtitles.documents import parse_json, parse_json_lines, parse_ttml
from atlaskit.video.subtitles.rolling import unrolled
from atlaskit.video.subtitles.rows import (
    parse_ass,
    parse_lrc,
    parse_sami,
    parse_sbv,
    parse_srt,
    parse_sub,
    parse_tsv,
)
from atlaskit.video.subtitles.text import decode_text
from atlaskit.video.subtitles.track import (
    SourceLine,
    Subtitles,
    check_duration,
    check_finite,
    place_lines,
)

Parser: TypeAlias = Callable[..., list[SourceLine]]
"""Converts a text, whose rows end in `\\n`, to lines in the file's own time.

Raises SubtitleError for a text of another format, without the file's path: `read_subtitles` adds
it."""


class Format(NamedTuple):
    """The format of the files with one suffix."""

    parse: Parser
    may_be_empty: bool = False
    """Whether a file may hold no lines, for a video in which nobody speaks."""
    counts_frames: bool = False
    """Whether `parse` takes the frames per second of the video as a second argument."""


FORMATS: dict[str, Format] = {
    ".srt": Format(parse_srt),
    ".vtt": Format(parse_srt),
    ".ass": Format(parse_ass),
    ".ssa": Format(parse_ass),
    ".json": Format(parse_json, may_be_empty=True),
    ".json3": Format(parse_json, may_be_empty=True),
    ".jsonl": Format(parse_json_lines, may_be_empty=True),
    ".ttml": Format(parse_ttml),
    ".dfxp": Format(parse_ttml),
    ".xml": Format(parse_ttml),
    ".sbv": Format(parse_sbv),
    ".lrc": Format(parse_lrc),
    ".tsv": Format(parse_tsv),
    ".srv1": Format(parse_ttml),
    ".srv2": Format(parse_ttml),
    ".srv3": Format(parse_ttml),
    ".sub": Format(parse_sub, counts_frames=True),
    ".smi": Format(parse_sami),
    ".sami": Format(parse_sami),
}
SIGNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"WEBVTT"), ".vtt"),
    (re.compile(r"\[Script Info\]", re.IGNORECASE), ".ass"),
    (
        re.compile(
            r"(?:<\?xml[^>]*>\s*)?(?:<!--.{0,2000}?-->\s*)?"
            r"<(?:(?:\w+:)?tt|transcript|timedtext)[\s>]",
            re.DOTALL,
        ),
        ".ttml",
    ),
    (re.compile(r"<sami", re.IGNORECASE), ".smi"),
    (re.compile(r"\{\d+\}\{\d*\}", re.ASCII), ".sub"),
    (re.compile(r"(?:\d+[ \t]*\n\s*)?(?:\d+:){1,2}\d+[,.:]\d+\s*-->", re.ASCII), ".srt"),
    (re.compile(r"\d+:\d\d:\d\d\.\d{3},\d+:\d\d:\d\d\.\d{3}[ \t]*\n", re.ASCII), ".sbv"),
    (re.compile(r"start\tend\ttext[ \t]*\n"), ".tsv"),
    (
        re.compile(
            r"(?:\[[a-zA-Z]{1,20}:[^\]\n]*\][ \t]*\n+)*\[\d{1,3}:\d\d[.:]\d\d\d?\]", re.ASCII
        ),
        ".lrc",
    ),
    (re.compile(r"\{[^\n]*\}[ \t]*\n\s*\{"), ".jsonl"),
    (re.compile(r"\[\s*[\[{]|\{\s*\""), ".json"),
)
"""Patterns for the beginnings of texts whose format is certain, whatever their suffix, and the
suffix of that format."""
PICTURES = re.compile(rb"PG.{8}[\x14-\x17\x80]|\0\0\x01\xba|# VobSub index", re.DOTALL)
"""The beginning of a subtitle file that holds pictures."""
SIGN_CHARS = 10_000
"""Characters at the start of a text that are compared with SIGNS."""
BESIDE = (".srt", ".vtt", ".ass", ".ssa", ".ttml", ".dfxp", ".sbv", ".lrc", ".sub", ".smi")
"""Suffixes of files beside a video that are certainly subtitles, the most common one first."""


def format_of(suffix: str, text: str) -> Format | None:
    """Return the format of a text, by its beginning or else its suffix; None if unknown."""
    for sign, certain in SIGNS:
        if sign.match(text[:SIGN_CHARS]):
            return FORMATS[certain]
    return FORMATS.get(suffix)


SubtitleSource: TypeAlias = "str | os.PathLike[str] | Subtitles | None"
"""A subtitle file, "embedded" for a track inside the video file, a `Subtitles` object, or None."""


def load_subtitles(
    source: SubtitleSource, duration_s: float, lead_s: float = 0.0, fps: float | None = None
) -> Subtitles:
    """Return the subtitles of a video; without lines for None.

    Args:
        source: A subtitle file, a `Subtitles` object or None. "embedded" is not for this function
            but for `read_embedded`, since it needs the video file.
        duration_s: Length of the video in seconds.
        lead_s: Seconds of the container's time before the first frame. The times of a subtitle file
            count from the start of the container.
        fps: Frames per second of the video, in which some formats count.

    Raises:
        InputError: `source` is none of these.
        SubtitleError: The subtitle file cannot be read.
    """
    if source is None or isinstance(source, Subtitles):
        return source or Subtitles()
    if not isinstance(source, (str, os.PathLike)):
        raise InputError(
            f'subtitles must be a file, "embedded", or a Subtitles object; got {source!r:.80}.'
        )
    return read_subtitles(source, duration_s=duration_s, starts_at_s=lead_s, fps=fps)


def read_subtitles(
    path: str | os.PathLike[str],
    *,
    starts_at_s: float = 0.0,
    duration_s: float | None = None,
    is_excerpt: bool = False,
    fps: float | None = None,
) -> Subtitles:
    r"""Read a subtitle file: SRT, WebVTT, ASS/SSA, TTML/DFXP, SBV, LRC, TSV, `.sub`, SAMI or JSON.

    JSON has the form of LongVideoBench, Whisper, WhisperX, whisper.cpp or YouTube (`json3`); JSON
    Lines hold words with times (Video-MME-v2). The format follows from the beginning of the text if
    it is certain, else from the suffix.

    The text of each line is plain: tags, ASS comments and drawings are dropped, entities decoded,
    whitespace collapsed. Lines without text are dropped. A line that ends before it starts lasts
    until the next one starts; a line whose times cannot be read follows the line before it. Of
    rolling captions, which show each line two or three times, each line is kept once: see
    `Subtitles.original`.

    The encoding is taken from a byte order mark if there is one. Otherwise zero bytes indicate
    UTF-16, then UTF-8 is tried, then chardet guesses the encoding. For a dozen lines in one
    language the guess is usually right. It may be wrong for a few lines, for a mix of languages,
    and for damaged text. Save a file as UTF-8 to be certain.

    Args:
        path: The file: its path or `file://` URL.
        starts_at_s: Second of the file's own time at which the video begins, subtracted from every
            time (LongVideoBench's `starting_timestamp_for_subtitles`).
        duration_s: Length of the video in seconds. Lines are cut to `[0, duration_s)`, and lines
            outside are dropped, even if none remains. A line without an end (null in JSON) lasts
            until `duration_s`; with None, until the next line starts, or for LAST_LINE_S seconds if
            none does.
        is_excerpt: Whether the file may cover more than the video: then lines outside cause no
            warning.
        fps: Frames per second of the video, for a MicroDVD file (`.sub`) that does not give its
            own.

    Raises:
        SubtitleError: The file cannot be read, is of no known format, exceeds a limit of
            `atlaskit.limits`, or holds no line.
        InputError: `starts_at_s` or `duration_s` is not a valid number of seconds.
    """
    path = _located(path)
    suffix = path.suffix.lower()
    check_finite("starts_at_s", starts_at_s)
    check_duration(duration_s)
    data = _read_bytes(path)
    if PICTURES.match(data):
        raise SubtitleError(
            f"{path} holds pictures of text (VobSub or PGS), which cannot be read: turn it into "
            "SRT first, with a program that recognizes letters."
        )
    text = _decode(path, data)
    found = format_of(suffix, text)
    if found is None:
        raise SubtitleError(
            f"{path} is not a subtitle file of a known format: give one of {', '.join(FORMATS)}."
        )
    try:
        lines = found.parse(text, fps) if found.counts_frames else found.parse(text)
    except SubtitleError as error:
        raise SubtitleError(f"{path} cannot be read: {error}") from error
    if not found.may_be_empty and not any(line.text for line in lines):
        name = suffix[1:].upper() or "subtitle"
        raise SubtitleError(
            f"{path} holds no line of text with a start and an end: is it a whole {name} file?"
        )
    return track_of(lines, starts_at_s, duration_s, str(path), is_excerpt=is_excerpt)


def track_of(
    lines: Iterable[SourceLine],
    origin_s: float,
    duration_s: float | None,
    name: str,
    *,
    is_excerpt: bool = False,
) -> Subtitles:
    """Place lines on the time axis of a video, and warn about faulty lines and lines outside.

    Args:
        lines: Lines in the source's time.
        origin_s: Second of the source at which the video begins.
        duration_s: Length of the video in seconds; None if it is not known.
        name: The name of the source, for the warning.
        is_excerpt: Whether lines outside the video cause no warning.
    """
    placement = place_lines(lines, origin_s, duration_s)
    count = len(placement.lines) + len(placement.before) + len(placement.after)
    kinds = [
        (placement.untimed, "have times that cannot be read and follow the line before them"),
        (placement.backward, "end before they start and are shown until the next one"),
    ]
    if not is_excerpt:
        kinds += [
            (placement.before, "end before the first frame and are not shown"),
            (placement.after, "start after the end of the video and are not shown"),
        ]
    faults = []
    for faulty, why in kinds:
        if faulty:
            first = f"the first, at {faulty[0].start_s:.1f} s: {printable(faulty[0].text, 60)!r}"
            faults.append(f"{len(faulty)} of {count} lines {why} ({first})")
    if faults:
        warnings.warn(f"{name}: {'; '.join(faults)}.", SubtitleWarning, stacklevel=4)
    return unrolled(placement.lines)


def subtitle_files(folder: Path) -> list[Path]:
    """Return the subtitle files in a folder, in the order of their names."""
    try:
        return sorted(path for path in folder.iterdir() if path.suffix.lower() in BESIDE)
    except OSError:
        return []


def subtitles_beside(video: Path, files: Sequence[Path] | None = None) -> Path | None:
    """Return the subtitle file beside a video that has its name; None if there is none.

    `film.srt` belongs to `film.mp4`. Without it, `film.en.srt` does, if it is the only such file
    and there is no `film.en.mp4`. Names in different Unicode forms are the same.

    Args:
        video: The video.
        files: The `subtitle_files` of its folder, if they are known.
    """
    if files is None:
        files = subtitle_files(video.parent)
    wanted = normalize("NFC", video.stem)
    own = [path for path in files if normalize("NFC", path.stem) == wanted]
    if own:
        return min(own, key=lambda path: BESIDE.index(path.suffix.lower()))
    in_languages = []
    for path in files:
        is_of_another = path.with_suffix(video.suffix).exists()
        if normalize("NFC", Path(path.stem).stem) == wanted and not is_of_another:
            in_languages.append(path)
    if len(in_languages) == 1:
        return in_languages[0]
    return None


def _located(name: str | os.PathLike[str]) -> Path:
    """Return the path of a subtitle file; raise SubtitleError if it cannot be read."""
    try:
        path = local_path(name)
    except (VideoError, InputError) as error:
        raise SubtitleError(f"The subtitles cannot be read: {error}") from error
    fault = why_unreadable(path)
    if fault:
        raise SubtitleError(fault)
    return path


def _read_bytes(path: Path) -> bytes:
    """Return the content of a file; raise SubtitleError if it cannot be read or is too large."""
    try:
        with path.open("rb") as file:
            data = file.read(limits.TEXT_FILE + 1)
    except OSError as error:
        raise SubtitleError(f"{path} cannot be read: {error.strerror}.") from error
    if len(data) > limits.TEXT_FILE:
        raise SubtitleError(
            f"{path} is larger than {limits.TEXT_FILE >> 20} MiB, and no subtitle file is: is it "
            "the right file?"
        )
    return data


def _decode(path: Path, data: bytes) -> str:
    """Return the text of a file, with `\\n` as the only line end; raise SubtitleError if binary."""
    text = decode_text(data)
    if text is None:
        raise SubtitleError(f"{path} is not text in a known encoding: save it as UTF-8 first.")
    # Some tools turn \r\n into \r\r\n.
    text = text.replace("\r\r\n", "\n").replace("\r\n", "\n").replace("\r", "\n")
    if text.count("\n") > limits.ROWS or sum(map(text.count, "<{[")) > limits.MARKS:
        raise SubtitleError(
            f"{path} has more than {limits.ROWS:,} rows or {limits.MARKS:,} brackets, and no "
            "subtitle file has: is it the right file?"
        )
    return text.replace("\ufeff", "").lstrip(" \t\n")
