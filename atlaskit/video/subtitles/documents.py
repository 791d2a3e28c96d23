"""Parses subtitles in JSON and XML.

* JSON: the forms of LongVideoBench, Whisper and OpenAI's verbose JSON, WhisperX, whisper.cpp, the
  pipelines of Transformers and YouTube (`json3`), lists of segments with start and duration, and
  words with times, also one in each row (JSON Lines). The content decides which form it is.
* XML: TTML and DFXP (W3C Timed Text Markup Language), and the forms of YouTube (`srv1` to `srv3`).
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
"""After this many seconds of silence, a word begins a new line."""
LONG_LINE = 80
"""A line with this many characters is full: the next word begins a new one."""
LONGEST_S = 6.0
"""A line of JSON Lines lasts at most this many seconds, unless it is a single word."""


def parse_json(text: str) -> list[SourceLine]:
    """Return the lines of a JSON text.

    Raises:
        SubtitleError: The text is not JSON, or has none of the known forms.
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
    """Return the lines of a text in which each row is a word with its times, as JSON.

    Words are joined until a sentence ends, there is a pause, or the line lasts LONGEST_S.

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
    """Return the lines of segments, in any of the known forms.

    Each segment has a start, an end or a duration, and a text, under the names of its form. A null
    end in LongVideoBench means that the line lasts until the end of the video.
    """
    lines = []
    for segment in segments:
        text: object
        end = None
        length = None
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
    """Join words with times to lines, which end with a sentence, before a pause, or when full.

    A line lasts at most `longest_s`, unless it is a single word.
    """
    lines: list[SourceLine] = []
    is_open = False
    for word in words:
        if not isinstance(word, dict):
            continue
        [line] = _segments([{**word, "text": word.get("word", word.get("text"))}])
        if not line.text:
            continue
        if is_open and _continues(lines[-1], line, longest_s):
            before = lines[-1]
            text = f"{before.text} {line.text}"
            lines[-1] = SourceLine(before.start_s, line.end_s or before.end_s, text)
        else:
            lines.append(line)
        is_open = not line.text.endswith((".", "?", "!", "。", "？", "！"))
    return lines


def _continues(before: SourceLine, word: SourceLine, longest_s: float) -> bool:
    """Return whether a word belongs to the line before it."""
    if len(before.text) >= LONG_LINE or (word.end_s or word.start_s) - before.start_s > longest_s:
        return False
    # A word without times, such as a number in WhisperX, follows the word before it.
    if math.isnan(word.start_s) or before.end_s is None:
        return True
    return word.start_s - before.end_s < PAUSE_S


def _number(value: object, per_second: int = 1) -> float | None:
    """Return the seconds of a number or a clock time; None for a value that is neither."""
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
"""Elements may be nested at most this deep."""


class Rates(NamedTuple):
    """The frames and ticks per second in a document."""

    frame: float
    tick: float
    nominal: float = 0.0
    """Frames per second by which its clock counts frames; 0 if the clock counts seconds."""
    drops: int = 0
    """Frame numbers that its clock skips in each minute but every tenth."""

    def seconds(self, text: str | None) -> float | None:
        """Return the seconds of a time expression; None if it cannot be read."""
        expression = (text or "").strip()
        match = _CLOCK.fullmatch(expression)
        if match:
            hours, minutes, seconds, decimals, frames = match.groups()
            whole_s = clock_seconds("", hours, minutes, seconds, decimals)  # "": without a sign
            if not self.nominal:
                return whole_s + int(frames or 0) / self.frame
            whole_minutes = int(whole_s) // 60
            skipped = self.drops * (whole_minutes - whole_minutes // 10)
            return (whole_s * self.nominal + int(frames or 0) - skipped) / self.frame
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


_DEFAULT_RATES = Rates(frame=30.0, tick=1.0)
"""The rates of a document that gives none."""


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
        if "t" in element.attrib:
            unit, start, length = "ms", "t", "d"
        else:
            unit, start, length = "s", "start", "dur"
        start_s = _DEFAULT_RATES.seconds(f"{element.get(start, '')}{unit}")
        length_s = _DEFAULT_RATES.seconds(f"{element.get(length, '')}{unit}")
        text = plain_text(_text(element))  # the texts of srv1 are escaped twice
        if start_s is None:
            lines.append(SourceLine(math.nan, None, text))
        else:
            end_s = None if length_s is None else start_s + length_s
            lines.append(SourceLine(start_s, end_s, text))
    return lines


def _rates(root: ElementTree.Element) -> Rates:
    """Return the rates that the attributes of a TTML document give."""
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
    """Return the finite number above 0 that a text gives, or `otherwise`."""
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
    """Add the lines in an element to `lines`, and return the second at which the element ends.

    Args:
        element: The element.
        rates: The rates of the document.
        from_s: The second from which the element's times count: the start of its parent, or, in a
            sequence, the end of the element before it.
        until_s: The end of its parent.
        depth: The number of elements around it.
        lines: The lines so far.

    Raises:
        SubtitleError: Elements are nested too deep.
    """
    begin = element.get("begin")
    begin_s = rates.seconds(begin) if begin else 0.0
    end_s = rates.seconds(element.get("end"))
    duration_s = rates.seconds(element.get("dur"))
    is_timed = begin_s is not None
    starts_s = from_s + (begin_s or 0.0)
    ends_s = until_s
    if end_s is not None:
        ends_s = min(ends_s, from_s + end_s)
    if duration_s is not None:
        ends_s = min(ends_s, starts_s + duration_s)
    name = _local(element.tag)
    if name == "span" or (name == "p" and (begin or not _all_in_timed_spans(element))):
        text = collapsed(_text(element))
        if text:
            known_end_s = None if math.isinf(ends_s) else ends_s
            lines.append(SourceLine(starts_s if is_timed else math.nan, known_end_s, text))
    elif name not in ("head", "metadata"):
        if depth >= DEEPEST:
            raise SubtitleError(
                f"its elements are nested more than {DEEPEST} deep; is it the right file?"
            )
        is_sequence = element.get("timeContainer") == "seq"
        last_s = starts_s
        for child in element:
            child_from_s = last_s if is_sequence else starts_s
            child_end_s = _paragraphs(child, rates, child_from_s, ends_s, depth + 1, lines)
            if math.isfinite(child_end_s):
                last_s = child_end_s
        if is_sequence:
            return min(ends_s, last_s)
    return ends_s


def _all_in_timed_spans(element: ElementTree.Element) -> bool:
    """Return whether an element consists of spans that all have times, without text beside them."""
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
    """Return the text in an element; a line break becomes a space."""
    parts: list[str] = []
    waiting: list[ElementTree.Element | str] = [element]
    while waiting:  # not by recursion, since a hostile text may be nested without limit
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
