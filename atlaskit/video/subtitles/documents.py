"""Parses the formats of subtitles that are JSON or XML.

* JSON, whose content decides the form: LongVideoBench, Whisper and OpenAI's verbose JSON, WhisperX,
  whisper.cpp, the pipelines of Transformers, YouTube's `json3`, lists of segments with start and
  duration, and words with times, also one a line (JSON Lines).
* XML: TTML and DFXP (W3C Timed Text Markup Language), and that of YouTube.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Any, NamedTuple
from xml.etree import ElementTree

from atlaskit.errors import SubtitleError
from atlaskit.video.subtitles.text import clock_seconds, collapsed, parse_clock, plain_text
from atlaskit.video.subtitles.track import SourceLine

PAUSE_S = 1.0
LONG_LINE = 80
"""After this many seconds of silence, or characters, a word begins a new line."""
LONGEST_S = 6.0
"""After this many seconds, a word of JSON Lines begins a new line."""


def parse_json(text: str) -> list[SourceLine]:
    """Return the lines of a JSON text.

    Raises:
        SubtitleError: The text is not JSON, or of none of these forms.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SubtitleError(
            f"the text is not valid JSON ({error}); copy or download the file again."
        ) from error
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
        case [
            {"start": _, "text": _} | {"start": _, "line": _} | {"timestamp": _, "text": _},
            *_,
        ] | []:
            return _segments(content)
        case _:
            raise SubtitleError(
                "the text is none of the known forms of JSON subtitles (LongVideoBench, Whisper, "
                "WhisperX, whisper.cpp, YouTube json3); save the subtitles as SRT."
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
                per_second = 1000
                length = segment.get("dDurationMs")
                pieces = list[str]()
                for part in parts:
                    if isinstance(part, dict) and isinstance(part.get("utf8"), str):
                        pieces.append(part["utf8"])
                text = "".join(pieces)
            case {"offsets": {"from": start, "to": end}, "text": text}:
                per_second = 1000
            case {"timestamp": [start, end], "text": text}:
                pass
            case dict():
                start = segment.get("start")
                end = segment.get("end")
                text = segment.get("text", segment.get("line"))
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
        # A word without times, such as a number in WhisperX, belongs to the one before it.
        is_near = math.isnan(line.start_s) or end_s is None or line.start_s - end_s < PAUSE_S
        is_too_long = (
            before is not None and (line.end_s or line.start_s) - before.start_s > longest_s
        )
        if before and is_open and is_near and not is_too_long and len(before.text) < LONG_LINE:
            lines[-1] = SourceLine(
                before.start_s, line.end_s or end_s, f"{before.text} {line.text}"
            )
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
    if math.isfinite(seconds):
        return seconds
    return None


_CLOCK = re.compile(r"(\d{1,6}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,9})|:(\d{1,4})(?:\.\d+)?)?", re.ASCII)
_OFFSET = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)(h|ms|m|s|f|t)", re.ASCII)
DEEPEST = 100
"""Most elements within one another."""


class Rates(NamedTuple):
    """The frames and ticks per second in a document."""

    frame: float
    tick: float
    nominal: float = 0.0
    """Frames per second of its clock, if it counts frames and not seconds."""
    drops: int = 0
    """Frame numbers that its clock skips in nine of ten minutes."""

    def seconds(self, text: str | None) -> float | None:
        """Return a time expression in seconds, None for one that cannot be read."""
        expression = (text or "").strip()
        match = _CLOCK.fullmatch(expression)
        if match:
            hours, minutes, seconds, decimals, frames = match.groups()
            whole_s = clock_seconds("", hours, minutes, seconds, decimals)
            if not self.nominal:
                return whole_s + int(frames or 0) / self.frame
            passed = int(whole_s) // 60
            return (
                whole_s * self.nominal + int(frames or 0) - self.drops * (passed - passed // 10)
            ) / self.frame
        match = _OFFSET.fullmatch(expression)
        if match:
            metric = {
                "h": 3600.0,
                "m": 60.0,
                "s": 1.0,
                "ms": 1e-3,
                "f": 1 / self.frame,
                "t": 1 / self.tick,
            }
            return float(match[1]) * metric[match[2]]
        return None


_EVERY = Rates(30.0, 1.0)


def parse_ttml(text: str) -> list[SourceLine]:
    """Return the paragraphs of a TTML text, or the texts of YouTube's `srv1`, `srv2` and `srv3`.

    Raises:
        SubtitleError: The text is not XML, is nested too deep, or declares a document type, whose
            entities could grow without a bound.
    """
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise SubtitleError(
            "the text declares a document type, which no TTML file needs; save it without."
        )
    try:
        root = ElementTree.fromstring(re.sub(r"^<\?xml[^>]*\?>", "", text))
    except ElementTree.ParseError as error:
        raise SubtitleError(
            f"the text is not valid XML ({error}); copy or download the file again."
        ) from error
    if _local(root.tag) in ("transcript", "timedtext"):
        return _youtube(root)
    lines: list[SourceLine] = []
    _paragraphs(root, _rates(root), 0.0, math.inf, 0, lines)
    return lines


def _youtube(root: ElementTree.Element) -> list[SourceLine]:
    """Return the lines of YouTube's XML, in milliseconds (`t`, `d`) or seconds (`start`, `dur`)."""
    lines = []
    for element in root.iter():
        if _local(element.tag) not in ("p", "text"):
            continue
        unit, start, length = ("ms", "t", "d") if "t" in element.attrib else ("s", "start", "dur")
        start_s = _EVERY.seconds(f"{element.get(start, '')}{unit}")
        length_s = _EVERY.seconds(f"{element.get(length, '')}{unit}")
        text = plain_text(_text(element))  # the texts of srv1 are escaped twice
        if start_s is None:
            lines.append(SourceLine(math.nan, None, text))
        else:
            end_s = None if length_s is None else start_s + length_s
            lines.append(SourceLine(start_s, end_s, text))
    return lines


def _rates(root: ElementTree.Element) -> Rates:
    parameters = {_local(name): value for name, value in root.attrib.items()}
    frame = _positive(parameters.get("frameRate"), 30.0)
    multiplier = parameters.get("frameRateMultiplier", "1 1").replace(":", " ").split()
    nominal = frame if parameters.get("timeBase") == "smpte" else 0.0
    if len(multiplier) == 2:
        frame *= _positive(multiplier[0], 1.0) / _positive(multiplier[1], 1.0)
    drops = {"dropNTSC": 2, "dropPAL": 4}.get(parameters.get("dropMode", ""), 0)
    tick = _positive(parameters.get("tickRate"), frame if "frameRate" in parameters else 1.0)
    return Rates(frame, tick, nominal, drops)


def _positive(text: str | None, otherwise: float) -> float:
    try:
        value = float(text or "")
    except ValueError:
        return otherwise
    if 0 < value < math.inf:
        return value
    return otherwise


def _paragraphs(
    element: ElementTree.Element,
    rates: Rates,
    from_s: float,
    until_s: float,
    depth: int,
    lines: list[SourceLine],
) -> float:
    """Add the lines in an element, and return when it ends.

    Its times count from `from_s`: the start of the element around it, or, in a sequence, the end of
    the element before it.
    """
    begin = element.get("begin")
    start_s = rates.seconds(begin) if begin else 0.0
    end_s = rates.seconds(element.get("end"))
    duration_s = rates.seconds(element.get("dur"))
    is_timed = start_s is not None
    starts = from_s + (start_s or 0.0)
    ends = min(
        until_s,
        from_s + end_s if end_s is not None else math.inf,
        starts + duration_s if duration_s is not None else math.inf,
    )
    name = _local(element.tag)
    if name == "span" or (name == "p" and (begin or not _all_in_timed_spans(element))):
        text = collapsed(_text(element))
        if text:
            last = None if math.isinf(ends) else ends
            lines.append(SourceLine(starts if is_timed else math.nan, last, text))
    elif name not in ("head", "metadata"):
        if depth >= DEEPEST:
            raise SubtitleError(
                f"its elements are nested more than {DEEPEST} deep; is it the right file?"
            )
        is_sequence = element.get("timeContainer") == "seq"
        last_s = starts
        for child in element:
            child_end_s = _paragraphs(
                child, rates, last_s if is_sequence else starts, ends, depth + 1, lines
            )
            last_s = child_end_s if math.isfinite(child_end_s) else last_s
        if is_sequence:
            return min(ends, last_s)
        return ends
    return ends


def _all_in_timed_spans(element: ElementTree.Element) -> bool:
    """Return whether an element consists of spans that all have times."""
    beside = [element.text or ""]
    has_spans = False
    for child in element:
        beside.append(child.tail or "")
        if _local(child.tag) == "span":
            has_spans = True
            if not child.get("begin"):
                return False
    return has_spans and not "".join(beside).strip()


def _text(element: ElementTree.Element) -> str:
    """Return the text in an element; a line break is a blank."""
    parts: list[str] = []
    waiting: list[ElementTree.Element | str] = [element]
    while waiting:  # without recursion, since a hostile text may be nested as deep as it likes
        item = waiting.pop()
        if isinstance(item, str):
            parts.append(item)
            continue
        parts.append(item.text or "")
        for child in reversed(item):
            waiting.append(child.tail or "")
            if _local(child.tag) == "br":
                waiting.append(" ")
            elif _local(child.tag) != "metadata":
                waiting.append(child)
    return "".join(parts)


def _local(name: object) -> str:
    """Return a name without its namespace."""
    if isinstance(name, str):
        return name.rpartition("}")[2]
    return ""
