"""Parses the plain row formats: SBV (YouTube), LRC (lyrics), TSV (Whisper), MicroDVD and SubViewer
`.sub`, SAMI.
"""

from __future__ import annotations

import math
import re

from atlaskit.errors import SubtitleError
from atlaskit.video.subtitles.clock import CLOCK, clock_seconds
from atlaskit.video.subtitles.markup import plain_text
from atlaskit.video.subtitles.track import SourceLine

_SBV = re.compile(rf"\s*{CLOCK}\s*,\s*{CLOCK}\s*", re.ASCII)
_LRC_TAG = re.compile(r"\[(\d{1,4}):(\d{1,2})(?:[.:](\d{1,3}))?\]", re.ASCII)
_LRC_WORD = re.compile(r"<\d{1,4}:\d{1,2}(?:[.:]\d{1,3})?>", re.ASCII)
_LRC_OFFSET = re.compile(r"\[offset:\s*([+-]?\d{1,9})\s*\]", re.IGNORECASE | re.ASCII)
_MICRODVD = re.compile(r"\{(\d{1,9})\}\{(\d{0,9})\}(.*)", re.ASCII)
_MICRODVD_CODE = re.compile(r"\{[a-zA-Z]:[^{}]*\}")
_SYNC = re.compile(r"<sync\s+start\s*=\s*[\"']?(-?\d{1,12})[\"']?[^<>]*>", re.IGNORECASE | re.ASCII)
_SAMI_TAG = re.compile(r"<[^<>]*>")
MICRODVD_FPS = 23.976
"""Frames per second of a MicroDVD file that does not tell its own in its first line."""


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
    lines = []
    for row in text.split("\n"):
        row, starts = row.strip(), []
        while tag := _LRC_TAG.match(row):
            starts.append(60 * int(tag[1]) + float(f"{tag[2]}.{tag[3] or 0}"))
            row = row[tag.end() :].lstrip()
        lines += [
            SourceLine(max(0.0, start_s - earlier_s), None, plain_text(_LRC_WORD.sub("", row))) for start_s in starts
        ]
    return lines


def parse_tsv(text: str) -> list[SourceLine]:
    """Return the lines of Whisper's TSV: start and end in milliseconds, text, by tabs."""
    lines = []
    for row in text.split("\n"):
        start, _, rest = row.partition("\t")
        end, _, words = rest.partition("\t")
        if not words or start.strip().lower() == "start":
            continue
        try:
            start_s, end_s = float(start) / 1000, float(end) / 1000
        except ValueError:
            start_s, end_s = math.nan, math.nan
        lines.append(SourceLine(start_s if math.isfinite(start_s) else math.nan, end_s, plain_text(words)))
    return lines


def parse_sub(text: str) -> list[SourceLine]:
    """Return the lines of a MicroDVD or SubViewer text.

    Raises:
        SubtitleError: The text is neither, such as the binary half of VobSub pictures.
    """
    if _MICRODVD.match(text.lstrip()):
        return _microdvd(text)
    lines = parse_sbv(text)
    if not lines:
        raise SubtitleError("the text is neither MicroDVD nor SubViewer; pictures (VobSub) cannot be read.")
    return lines


def _microdvd(text: str) -> list[SourceLine]:
    lines, fps = [], MICRODVD_FPS
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
    lines = []
    for index, (sync, end) in enumerate(zip(syncs, ends, strict=True)):
        words = plain_text(_SAMI_TAG.sub(" ", re.sub(r"(?i)<br\s*/?>", " ", text[sync.end() : end])))
        until_s = int(syncs[index + 1][1]) / 1000 if index + 1 < len(syncs) else None
        lines.append(SourceLine(int(sync[1]) / 1000, until_s, words))
    return lines
