"""Parses the formats of subtitles that are rows of text.

* SRT and WebVTT: `parse_srt`. The package pysubs2 is not used, because it takes karaoke text for a
  row of times, adds the identifier or note of the next cue to a cue, and reads a negative time as a
  positive one.
* ASS and SSA: `parse_ass`.
* SBV (YouTube), LRC (lyrics), TSV (Whisper), MicroDVD and SubViewer `.sub`, SAMI.

A line whose times cannot be read starts at NaN.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import chain, groupby, pairwise
from typing import NamedTuple

from atlaskit.errors import SubtitleError
from atlaskit.video.subtitles.text import (
    CLOCK,
    clock_seconds,
    parse_clock,
    plain_ass_text,
    plain_text,
)
from atlaskit.video.subtitles.track import SourceLine

_ARROW = r"\s*(?:-{1,3}|[–—=])\s?>\s*"
_TIMING = re.compile(rf"\s*{CLOCK}{_ARROW}{CLOCK}", re.ASCII)
_LIKE_TIMING = re.compile(
    r"\s*-?\d{1,6}\s?[:;.,h]?[\w\s:;.,]{0,30}?(?:-{1,3}|[–—=])\s?>[\w\s:;.,-]{0,80}", re.ASCII
)
"""A row that looks like times, readable or not."""
_NARROW = str.maketrans("：，．", ":,.")
"""Maps full-width punctuation to its ASCII counterpart."""
_BLOCK = re.compile(r"(?:NOTE|WEBVTT)(?:[ \t].*)?|(?:STYLE|REGION)[ \t]*", re.ASCII)
"""The first row of a block of WebVTT that is no cue, such as a note."""
WRAP_S = (1 << 33) / 90_000
"""Seconds after which the clock of a transport stream starts again at 0."""
_FEWEST_DIGITS = 4
"""A row with fewer digits is a sentence with an arrow, not a row of times."""
_MOST_LETTERS = 3
"""A row with more letters is a sentence with an arrow, not a row of times."""
_BORDER_LINES = 8
"""How many lines before a line are searched for the same line from an earlier segment."""


def parse_srt(text: str) -> list[SourceLine]:
    """Return the lines of an SRT or WebVTT text.

    The header decides which of the two formats it is, since many files have the suffix of the
    other.
    """
    is_vtt = text.startswith("WEBVTT")
    rows = text.split("\n")
    cues = _cues(rows)
    ends = [cue.row for cue in cues[1:]] + [len(rows)]
    lines = []
    # strict=False: a file without any cue still has one entry in `ends`.
    for cue, end in zip(cues, ends, strict=False):
        body = rows[cue.row + 1 : end]
        is_last = end == len(rows)
        body = _vtt_body(body, is_last) if is_vtt else _srt_body(body, is_last)
        lines.append(SourceLine(cue.start_s, cue.end_s, plain_text(" ".join([cue.words, *body]))))
    if is_vtt:
        return _segment_lines(lines, cues, rows)
    return lines


def _segment_lines(lines: list[SourceLine], cues: list[_Cue], rows: list[str]) -> list[SourceLine]:
    """Return the lines of a file of several WebVTT segments, all on the clock of the first.

    The header of each segment may shift its times. A line at the border of two segments is in both
    of them, and is returned once. A file of one segment is returned as it is.
    """
    headers = [row for row, text in enumerate(rows) if text.startswith("WEBVTT")]
    if len(headers) < 2:
        return lines
    clocks_s = [_clock_s(rows[header : header + 4]) for header in headers]
    shifts_s = [0.0]
    for before_s, after_s in pairwise(clocks_s):
        # The clock that the segments count on starts anew every 26.5 hours.
        shifts_s.append(shifts_s[-1] + math.remainder(after_s - before_s, WRAP_S))
    placed: list[SourceLine] = []
    for line, cue in zip(lines, cues, strict=True):
        shift_s = shifts_s[bisect_right(headers, cue.row) - 1]
        start_s = line.start_s + shift_s
        end_s = None if line.end_s is None else line.end_s + shift_s
        for number in reversed(range(max(0, len(placed) - _BORDER_LINES), len(placed))):
            before = placed[number]
            if (
                before.text == line.text
                and (before.end_s or start_s) >= start_s
                and end_s is not None
            ):
                placed[number] = before._replace(end_s=max(before.end_s or end_s, end_s))
                break
        else:
            placed.append(SourceLine(start_s, end_s, line.text))
    return placed


def _clock_s(header: list[str]) -> float:
    """Return what the clock of HLS shows at time 0 of a WebVTT segment (RFC 8216, 3.5)."""
    text = "\n".join(header)
    ticks = re.search(r"MPEGTS:(\d{1,12})", text)
    local = re.search(r"LOCAL:([\d:.]+)", text)
    if ticks and local:
        return int(ticks[1]) / 90_000 - (parse_clock(local[1]) or 0.0)
    return 0.0


class _Cue(NamedTuple):
    """A cue: the index of its row of times, and what that row says."""

    row: int
    start_s: float
    end_s: float | None
    words: str = ""
    """The text behind the times, unless it is settings."""


def _cues(rows: list[str]) -> list[_Cue]:
    """Return the cues of a text, each of which begins with a row of times."""
    cues = []
    for index, row in enumerate(rows):
        if ">" not in row:
            continue
        match = _TIMING.match(row.translate(_NARROW))
        if match:
            times = match.groups()
            behind = row[match.end() :]
            is_settings = all(":" in word for word in behind.split())  # as in `align:start`
            words = "" if is_settings else behind
            cues.append(_Cue(index, clock_seconds(*times[:5]), clock_seconds(*times[5:]), words))
        elif _is_damaged_timing(row.translate(_NARROW)):
            cues.append(_Cue(index, math.nan, None))
    return cues


def _is_damaged_timing(row: str) -> bool:
    """Return whether a row holds times that cannot be read. Such a row begins a cue as well."""
    if not _LIKE_TIMING.fullmatch(row):
        return False
    digits = sum(map(str.isdigit, row))
    letters = sum(map(str.isalpha, row))
    return digits >= _FEWEST_DIGITS and letters <= _MOST_LETTERS and (":" in row or ";" in row)


def _srt_body(body: list[str], is_last: bool) -> list[str]:
    """Return the rows of a cue, without the number of the next cue.

    Some files have an empty row after each row, or after the number.
    """
    count = len(body)
    while count and not body[count - 1].strip():
        count -= 1
    is_number = count and not is_last and body[count - 1].strip().isdigit()
    is_above_times = count == len(body)
    is_after_gap = (
        count > 1 and not body[count - 2].strip() and any(map(str.strip, body[: count - 1]))
    )
    if is_number and (is_above_times or is_after_gap):
        return body[: count - 1]
    return body


def _vtt_body(body: list[str], is_last: bool) -> list[str]:
    """Return the rows of a cue, without notes and without the identifier of the next cue.

    An empty row ends a cue. A row with a space does not, since YouTube's captions begin with such a
    row. By the standard, rows after an empty row belong to no cue. They are kept, so that no word
    is lost.
    """
    blocks = []
    for is_empty, block in groupby(body, key=lambda row: row == ""):
        if not is_empty:
            blocks.append(list(block))
    # Rows directly below the times are text, whatever they say.
    own = blocks[:1] if body and body[0] != "" else []
    others = blocks[len(own) :]
    if blocks and not is_last and body[-1] != "" and len(blocks[-1]) == 1:
        identifier = blocks[-1][0].strip()
        is_only_row = len(body) == 1
        if not is_only_row and (len(blocks) > 1 or " " not in identifier):
            (others or own).pop()
    texts = own + [block for block in others if not _BLOCK.fullmatch(block[0])]
    return list(chain.from_iterable(texts))


USUAL_FIELDS = (
    "layer",
    "start",
    "end",
    "style",
    "name",
    "marginl",
    "marginr",
    "marginv",
    "effect",
    "text",
)
"""Fields of an event, in order, if no `Format:` row in the file gives another order."""


def parse_ass(text: str) -> list[SourceLine]:
    """Return the dialogue of an ASS or SSA text, without its comments and drawings.

    A text that is drawn in several layers at once is one line. Each event is parsed by itself, so
    a damaged event does not affect the others.
    """
    lines: list[SourceLine] = []
    fields: Sequence[str] = USUAL_FIELDS
    is_events = True
    for row in text.split("\n"):
        name, _, content = row.strip().partition(":")
        if row.lstrip().startswith("["):
            is_events = row.strip().lower() == "[events]"
        elif name.lower() == "format" and is_events:
            fields = [field.strip().lower() for field in content.split(",")]
        elif name.lower() == "dialogue":
            lines.append(_event(content, fields))
    return list(dict.fromkeys(lines))


def _event(content: str, fields: Sequence[str]) -> SourceLine:
    """Return the line of one event. The last field may hold commas."""
    values = dict(zip(fields, content.split(",", len(fields) - 1), strict=False))
    start_s = parse_clock(values.get("start", ""))
    end_s = parse_clock(values.get("end", ""))
    text = plain_ass_text(values.get("text", ""))
    return SourceLine(math.nan if start_s is None else start_s, end_s, text)


_SBV = re.compile(rf"\s*{CLOCK}\s*,\s*{CLOCK}\s*", re.ASCII)
_LRC_TAG = re.compile(
    r"\[(?:(\d{1,3}):(?=\d{1,2}:\d{1,2}\.))?(\d{1,4}):(\d{1,2})(?:[.:,](\d{1,3}))?\]", re.ASCII
)
_LRC_METADATA = re.compile(r"\[[a-z#]{1,20}:[^\]]*\]", re.IGNORECASE)
_LRC_WORD = re.compile(r"<\d{1,4}:\d{1,2}(?:[.:]\d{1,3})?>", re.ASCII)
_LRC_OFFSET = re.compile(r"\[offset:\s*([+-]?\d{1,9})\s*\]", re.IGNORECASE | re.ASCII)
_MICRODVD = re.compile(r"\{(\d{1,9})\}\{(\d{0,9})\}(.*)", re.ASCII)
_MICRODVD_CODE = re.compile(r"\{[a-zA-Z]:[^{}]*\}")
_SYNC = re.compile(r"<sync\s+start\s*=\s*[\"']?(-?\d{1,12})[\"']?[^<>]*>", re.IGNORECASE | re.ASCII)
_TSV_SECONDS = re.compile(r"^\d{1,9}\.\d{1,9}\t\d{1,9}\.\d{1,9}\t", re.ASCII | re.MULTILINE)
"""A row of a TSV whose times have decimals."""
_SAMI_TAG = re.compile(r"<[^<>]*>")
MICRODVD_FPS = 23.976
"""Frame rate of a MicroDVD file if neither its first line nor the video gives one."""


def parse_sbv(text: str) -> list[SourceLine]:
    """Return the lines of an SBV text: `0:00:01.000,0:00:02.000`, then rows, then an empty row."""
    lines: list[SourceLine] = []
    for row in text.split("\n"):
        match = _SBV.fullmatch(row)
        if match:
            times = match.groups()
            lines.append(SourceLine(clock_seconds(*times[:5]), clock_seconds(*times[5:]), ""))
        elif lines:
            lines[-1] = lines[-1]._replace(text=f"{lines[-1].text}\n{row}")
    return [line._replace(text=plain_text(line.text.replace("[br]", " "))) for line in lines]


def parse_lrc(text: str) -> list[SourceLine]:
    """Return the lines of an LRC text: `[00:12.50]words`, with several times for repeated words."""
    offset = _LRC_OFFSET.search(text)
    offset_s = int(offset[1]) / 1000 if offset else 0.0
    timed_words: list[tuple[list[float], str]] = []
    for row in text.split("\n"):
        at = len(row) - len(row.lstrip())
        starts = []
        tag = _LRC_TAG.match(row, at)
        while tag:
            hours, minutes, seconds, decimals = tag.groups()
            starts.append(clock_seconds("", hours, minutes, seconds, decimals) - offset_s)
            at = tag.end() + (row[tag.end() : tag.end() + 1] == " ")
            tag = _LRC_TAG.match(row, at)
        words = plain_text(_LRC_WORD.sub("", row[at:]))
        if starts:
            timed_words.append((starts, words))
        elif words and timed_words and not _LRC_METADATA.fullmatch(row.strip()):
            # A row without a time continues the one before it.
            last_starts, last_words = timed_words[-1]
            timed_words[-1] = (last_starts, f"{last_words} {words}".strip())
    # A time without words ends the line before it.
    all_starts = set[float]()
    for starts, _ in timed_words:
        all_starts.update(starts)
    following = dict(pairwise(sorted(all_starts)))
    lines = []
    for starts, words in timed_words:
        if words:
            for start_s in starts:
                lines.append(SourceLine(start_s, following.get(start_s), words))
    return lines


def parse_tsv(text: str) -> list[SourceLine]:
    """Return the lines of Whisper's TSV: start and end in milliseconds, and the text.

    Times with decimals are seconds, as in the labels of Audacity.
    """
    lines = []
    units_per_second = 1 if _TSV_SECONDS.search(text) else 1000
    for row in text.split("\n"):
        start, _, rest = row.partition("\t")
        end, _, words = rest.partition("\t")
        if not words or start.strip().lower() == "start":
            continue
        try:
            start_s = float(start) / units_per_second
            end_s = float(end) / units_per_second
        except ValueError:
            start_s = math.nan
            end_s = math.nan
        if not math.isfinite(start_s):
            start_s = math.nan
        lines.append(SourceLine(start_s, end_s, plain_text(words)))
    return lines


def parse_sub(text: str, fps: float | None = None) -> list[SourceLine]:
    """Return the lines of a MicroDVD or SubViewer text.

    Args:
        text: The text.
        fps: Frame rate of the video, for a MicroDVD text that gives none.

    Raises:
        SubtitleError: The text is neither, such as the binary half of VobSub pictures.
    """
    if _MICRODVD.match(text.lstrip()):
        return _microdvd(text, fps or MICRODVD_FPS)
    lines = parse_sbv(text)
    if not lines:
        raise SubtitleError(
            "the text is neither MicroDVD nor SubViewer; pictures (VobSub) cannot be read."
        )
    return lines


def _microdvd(text: str, fps: float) -> list[SourceLine]:
    lines = []
    for number, row in enumerate(text.split("\n")):
        match = _MICRODVD.match(row.strip())
        if match is None:
            continue
        start, end, words = match.groups()
        # The text of the first row may be the frame rate; 0 gives none.
        if number == 0 and re.fullmatch(r"\d{1,3}(?:[.,]\d{1,6})?", words.strip(), re.ASCII):
            fps = float(words.replace(",", ".")) or fps
            continue
        words = plain_text(_MICRODVD_CODE.sub("", words).replace("|", " "))
        lines.append(SourceLine(int(start) / fps, int(end) / fps if end else None, words))
    return lines


def parse_sami(text: str) -> list[SourceLine]:
    """Return the lines of a SAMI text. Each lasts until the next later `<SYNC>`."""
    syncs = list(_SYNC.finditer(text))
    ends = [sync.start() for sync in syncs[1:]] + [len(text)]
    # Lines in several languages may start at the same time.
    starts_ms = sorted({int(sync[1]) for sync in syncs})
    following = dict(pairwise(starts_ms))
    lines = []
    # strict=False: a text without any `<SYNC>` still has one entry in `ends`.
    for sync, end in zip(syncs, ends, strict=False):
        body = re.sub(r"(?i)<br\s*/?>", " ", text[sync.end() : end])
        start_ms = int(sync[1])
        until_ms = following.get(start_ms)
        end_s = None if until_ms is None else until_ms / 1000
        lines.append(SourceLine(start_ms / 1000, end_s, plain_text(_SAMI_TAG.sub(" ", body))))
    return lines
