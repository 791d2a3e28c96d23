"""Parses the JSON forms of subtitles, told apart by their content.

LongVideoBench, Whisper and OpenAI's verbose JSON, WhisperX, whisper.cpp, the pipelines of
Transformers, YouTube's `json3`, lists of segments with start and duration, and words with times,
also one a line (JSON Lines).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

from atlaskit.errors import SubtitleError
from atlaskit.video.subtitles.clock import parse_clock
from atlaskit.video.subtitles.markup import plain_text
from atlaskit.video.subtitles.track import SourceLine

PAUSE_S = 1.0
LONG_LINE = 80
"""Seconds of silence, and characters, after which a word begins a new line."""
LONGEST_S = 6.0
"""Seconds after which a word of JSON Lines begins a new line."""


def parse_json(text: str) -> list[SourceLine]:
    """Return the lines of a JSON text.

    Raises:
        SubtitleError: The text is not JSON, or of none of these forms.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SubtitleError(f"the text is not valid JSON ({error}); copy or download the file again.") from error
    match content:
        case {"segments": [_, *_] as segments} | {"transcript": [_, *_] as segments}:
            return _segments(segments)
        case {"events": [*segments]} | {"transcription": [*segments]} | {"chunks": [*segments]}:
            return _segments(segments)
        case {"words": [_, *_] as words} | {"word_segments": [_, *_] as words}:
            return _sentences(words)
        case {"text": _, "start_time": _}:
            return parse_json_lines(text)  # a file of one word
        case {"segments": []} | {"transcript": []} | {"words": []} | {"word_segments": []}:
            return []
        case [{"start": _, "text": _} | {"start": _, "line": _} | {"timestamp": _, "text": _}, *_] | []:
            return _segments(content)
        case _:
            raise SubtitleError(
                "the text is none of the known forms of JSON subtitles (LongVideoBench, Whisper, WhisperX, "
                "whisper.cpp, YouTube json3); save the subtitles as SRT."
            )


def parse_json_lines(text: str) -> list[SourceLine]:
    """Return the lines of a text that has a word with its times, as JSON, in each row.

    Words are joined until a sentence ends, someone pauses, or the line lasts LONGEST_S.

    Raises:
        SubtitleError: A row is not JSON.
    """
    words = []
    for number, row in enumerate(text.split("\n"), 1):
        if not row.strip():
            continue
        try:
            word = json.loads(row)
        except (ValueError, RecursionError) as error:
            raise SubtitleError(
                f"row {number} is not valid JSON ({error}); copy or download the file again."
            ) from error
        if isinstance(word, dict):
            times = {name: word.get(name, word.get(f"{name}_time")) for name in ("start", "end")}
            words.append({**word, **times})
    return _sentences(words, LONGEST_S)


def _segments(segments: Iterable[Any]) -> list[SourceLine]:
    """Return the lines of segments with a start, an end or a duration, and a text, by any name.

    A null end in LongVideoBench means that the line lasts until the end of the video.
    """
    lines = []
    for segment in segments:
        text: object
        end = length = None
        per_second = 1
        match segment:
            case {"tStartMs": start, "segs": [*parts]}:
                per_second, length = 1000, segment.get("dDurationMs")
                texts = (part.get("utf8") for part in parts if isinstance(part, dict))
                text = "".join(part for part in texts if isinstance(part, str))
            case {"offsets": {"from": start, "to": end}, "text": text}:
                per_second = 1000
            case {"timestamp": [start, end], "text": text}:
                pass
            case dict():
                start, end, text = segment.get("start"), segment.get("end"), segment.get("text", segment.get("line"))
                length = segment.get("duration", segment.get("dur"))
            case _:
                continue
        start_s, end_s, length_s = (_number(value, per_second) for value in (start, end, length))
        if end_s is None and start_s is not None and length_s is not None:
            end_s = start_s + length_s
        elif end is None and ("line" in segment or "timestamp" in segment):
            end_s = math.inf
        words = plain_text(text) if isinstance(text, str) else ""
        lines.append(SourceLine(math.nan if start_s is None else start_s, end_s, words))
    return lines


def _sentences(words: Iterable[Any], longest_s: float = math.inf) -> list[SourceLine]:
    """Return words with times as lines that end where a sentence or a pause does.

    A line also ends before it lasts longer than `longest_s`, unless it is a single word.
    """
    lines: list[SourceLine] = []
    is_open = False
    for word in words:
        if not isinstance(word, dict):
            continue
        [line] = _segments([{**word, "text": word.get("word", word.get("text"))}])
        if not line.text:
            continue
        before = lines[-1] if lines else None
        end_s = before.end_s if before else None
        # A word without times, such as a number in WhisperX, goes with the one before it.
        is_near = math.isnan(line.start_s) or end_s is None or line.start_s - end_s < PAUSE_S
        is_too_long = before is not None and (line.end_s or line.start_s) - before.start_s > longest_s
        if before and is_open and is_near and not is_too_long and len(before.text) < LONG_LINE:
            lines[-1] = SourceLine(before.start_s, line.end_s or end_s, f"{before.text} {line.text}")
        else:
            lines.append(line)
        is_open = not line.text.endswith((".", "?", "!", "。", "？", "！"))
    return lines


def _number(value: object, per_second: int = 1) -> float | None:
    """Return a number of seconds, or None for a value that is not a finite number."""
    if isinstance(value, str) and ":" in value:
        return parse_clock(value)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        seconds = float(value) / per_second
    except (ValueError, OverflowError):
        return None
    return seconds if math.isfinite(seconds) else None
