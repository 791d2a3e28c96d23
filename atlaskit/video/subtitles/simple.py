"""Parses the plain row formats: SBV (YouTube), LRC (lyrics), TSV (Whisper), MicroDVD and SubViewer
`.sub`, SAMI.
"""

from __future__ import annotations

import math
import re
from itertools import pairwise

from atlaskit.errors import SubtitleError
from atlaskit.video.subtitles.clock import CLOCK, clock_seconds
from atlaskit.video.subtitles.markup import plain_text
from atlaskit.video.subtitles.track import SourceLine

_SBV = re.compile(rf"\s*{CLOCK}\s*,\s*{CLOCK}\s*", re.ASCII)
_LRC_TAG = re.compile(r"\[(?:(\d{1,3}):(?=\d{1,2}:\d{1,2}\.))?(\d{1,4}):(\d{1,2})(?:[.:,](\d{1,3}))?\]", re.ASCII)
_LRC_ABOUT = re.compile(r"\[[a-z#]{1,20}:[^\]]*\]", re.IGNORECASE)
_LRC_WORD = re.compile(r"<\d{1,4}:\d{1,2}(?:[.:]\d{1,3})?>", re.ASCII)
_LRC_OFFSET = re.compile(r"\[offset:\s*([+-]?\d{1,9})\s*\]", re.IGNORECASE | re.ASCII)
_MICRODVD = re.compile(r"\{(\d{1,9})\}\{(\d{0,9})\}(.*)", re.ASCII)
_MICRODVD_CODE = re.compile(r"\{[a-zA-Z]:[^{}]*\}")
_SYNC = re.compile(r"<sync\s+start\s*=\s*[\"']?(-?\d{1,12})[\"']?[^<>]*>", re.IGNORECASE | re.ASCII)
_SECONDS = re.compile(r"^\d{1,9}\.\d{1,9}\t\d{1,9}\.\d{1,9}\t", re.ASCII | re.MULTILINE)
_SAMI_TAG = re.compile(r"<[^<>]*>")
MICRODVD_FPS = 23.976
"""Frames per second of a MicroDVD file that does not tell its own in its first line, if the
video's are not known."""


def parse_sbv(text: str) -> list[SourceLine]:
    """Return the lines of an SBV text: `0:00:01.000,0:00:02.000`, then rows, then an empty row."""
    lines: list[SourceLine] = []
    for row in text.split("\n"):
        if match := _SBV.fullmatch(row):
            times = match.groups()
            lines.append(SourceLine(clock_seconds(*times[:5]), clock_seconds(*times[5:]), ""))
        elif lines:
            lines[-1] = lines[-1]._replace(text=f"{lines[-1].text}\n{row}")
    return [line._replace(text=plain_text(line.text.replace("[br]", " "))) for line in lines]


def parse_lrc(text: str) -> list[SourceLine]:
    """Return the lines of an LRC text: `[00:12.50]words`, with several times if repeated."""
    offset = _LRC_OFFSET.search(text)
    earlier_s = int(offset[1]) / 1000 if offset else 0.0
    said: list[tuple[list[float], str]] = []
    for row in text.split("\n"):
        at, starts = len(row) - len(row.lstrip()), []
        while tag := _LRC_TAG.match(row, at):
            hours, minutes, seconds, decimals = tag.groups()
            starts.append(clock_seconds("", hours, minutes, seconds, decimals) - earlier_s)
            at = tag.end() + (row[tag.end() : tag.end() + 1] == " ")
        words = plain_text(_LRC_WORD.sub("", row[at:]))
        if starts:
            said.append((starts, words))
        elif words and said and not _LRC_ABOUT.fullmatch(row.strip()):  # a row without a time goes on
            said[-1] = (said[-1][0], f"{said[-1][1]} {words}".strip())
    # A time without words ends the line before it.
    every = sorted({start_s for starts, _ in said for start_s in starts})
    following = dict(pairwise(every))
    return [SourceLine(start_s, following.get(start_s), words) for starts, words in said for start_s in starts if words]


def parse_tsv(text: str) -> list[SourceLine]:
    """Return the lines of Whisper's TSV: start and end in milliseconds, text, by tabs.

    Times with decimals are seconds, as in the labels of Audacity.
    """
    lines = []
    per_second = 1 if _SECONDS.search(text) else 1000
    for row in text.split("\n"):
        start, _, rest = row.partition("\t")
        end, _, words = rest.partition("\t")
        if not words or start.strip().lower() == "start":
            continue
        try:
            start_s, end_s = float(start) / per_second, float(end) / per_second
        except ValueError:
            start_s, end_s = math.nan, math.nan
        lines.append(SourceLine(start_s if math.isfinite(start_s) else math.nan, end_s, plain_text(words)))
    return lines


def parse_sub(text: str, fps: float | None = None) -> list[SourceLine]:
    """Return the lines of a MicroDVD or SubViewer text.

    Args:
        text: The text.
        fps: Frames per second of the video, for a MicroDVD text that does not tell its own.

    Raises:
        SubtitleError: The text is neither, such as the binary half of VobSub pictures.
    """
    if _MICRODVD.match(text.lstrip()):
        return _microdvd(text, fps or MICRODVD_FPS)
    lines = parse_sbv(text)
    if not lines:
        raise SubtitleError("the text is neither MicroDVD nor SubViewer; pictures (VobSub) cannot be read.")
    return lines


def _microdvd(text: str, fps: float) -> list[SourceLine]:
    lines = []
    for number, row in enumerate(text.split("\n")):
        match = _MICRODVD.match(row.strip())
        if match is None:
            continue
        start, end, words = match.groups()
        if number == 0 and re.fullmatch(r"\d{1,3}(?:[.,]\d{1,6})?", words.strip(), re.ASCII):
            fps = float(words.replace(",", ".")) or fps
            continue
        words = plain_text(_MICRODVD_CODE.sub("", words).replace("|", " "))
        lines.append(SourceLine(int(start) / fps, int(end) / fps if end else None, words))
    return lines


def parse_sami(text: str) -> list[SourceLine]:
    """Return the lines of a SAMI text. Each lasts until the next `<SYNC>`."""
    syncs = list(_SYNC.finditer(text))
    ends = [sync.start() for sync in syncs[1:]] + [len(text)]
    # Several languages may be said at one time.
    every = sorted({int(sync[1]) for sync in syncs})
    following = dict(pairwise(every))
    lines = []
    for sync, end in zip(syncs, ends, strict=False):  # without one, there is still an end
        words = plain_text(_SAMI_TAG.sub(" ", re.sub(r"(?i)<br\s*/?>", " ", text[sync.end() : end])))
        until_ms = following.get(int(sync[1]))
        lines.append(SourceLine(int(sync[1]) / 1000, None if until_ms is None else until_ms / 1000, words))
    return lines
