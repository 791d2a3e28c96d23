"""Parses TTML and DFXP (W3C Timed Text Markup Language), and the XML of YouTube."""

from __future__ import annotations

import math
import re
from typing import NamedTuple
from xml.etree import ElementTree

from atlaskit.errors import SubtitleError
from atlaskit.video.subtitles.clock import clock_seconds
from atlaskit.video.subtitles.markup import collapsed, plain_text
from atlaskit.video.subtitles.track import SourceLine

_CLOCK = re.compile(r"(\d{1,6}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,9})|:(\d{1,4})(?:\.\d+)?)?", re.ASCII)
_OFFSET = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)(h|ms|m|s|f|t)", re.ASCII)
DEEPEST = 100
"""Most elements within one another."""


class Rates(NamedTuple):
    """How many frames and ticks a second of a document has."""

    frame: float
    tick: float
    nominal: float = 0.0
    """Frames that a second of its clock has, if these are counted, and not seconds."""
    drops: int = 0
    """Numbers of frames that its clock leaves out in most minutes."""

    def seconds(self, text: str | None) -> float | None:
        """Return a time expression in seconds, None for one that cannot be read."""
        if match := _CLOCK.fullmatch((text or "").strip()):
            hours, minutes, seconds, decimals, frames = match.groups()
            whole_s = clock_seconds("", hours, minutes, seconds, decimals)
            if not self.nominal:
                return whole_s + int(frames or 0) / self.frame
            passed = int(whole_s) // 60
            return (whole_s * self.nominal + int(frames or 0) - self.drops * (passed - passed // 10)) / self.frame
        if match := _OFFSET.fullmatch((text or "").strip()):
            metric = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "f": 1 / self.frame, "t": 1 / self.tick}
            return float(match[1]) * metric[match[2]]
        return None


_EVERY = Rates(30.0, 1.0)


def parse_ttml(text: str) -> list[SourceLine]:
    """Return the paragraphs of a TTML text, or the texts of YouTube's `srv1`, `srv2` and `srv3`.

    Raises:
        SubtitleError: The text is not XML, is nested too deep, or declares a document type: its
            entities could grow
            without a bound.
    """
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise SubtitleError("the text declares a document type, which no TTML file needs; save it without.")
    try:
        root = ElementTree.fromstring(re.sub(r"^<\?xml[^>]*\?>", "", text))
    except ElementTree.ParseError as error:
        raise SubtitleError(f"the text is not valid XML ({error}); copy or download the file again.") from error
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
        start_s, length_s = (_EVERY.seconds(f"{element.get(name, '')}{unit}") for name in (start, length))
        end_s = None if start_s is None or length_s is None else start_s + length_s
        # The texts of srv1 are escaped twice.
        lines.append(SourceLine(math.nan if start_s is None else start_s, end_s, plain_text(_text(element))))
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
    return value if 0 < value < math.inf else otherwise


def _paragraphs(
    element: ElementTree.Element, rates: Rates, from_s: float, until_s: float, depth: int, lines: list[SourceLine]
) -> float:
    """Add the lines in an element, and return when it ends.

    Its times count from `from_s`: the start of the element around it, or the end of the one before
    it where these play one after the other.
    """
    begin = element.get("begin")
    start_s = rates.seconds(begin) if begin else 0.0
    end_s, duration_s = rates.seconds(element.get("end")), rates.seconds(element.get("dur"))
    is_timed = start_s is not None
    starts = from_s + (start_s or 0.0)
    ends = min(
        until_s,
        from_s + end_s if end_s is not None else math.inf,
        starts + duration_s if duration_s is not None else math.inf,
    )
    name = _local(element.tag)
    if name == "span" or (name == "p" and (begin or not _all_in_timed_spans(element))):
        if text := collapsed(_text(element)):
            lines.append(SourceLine(starts if is_timed else math.nan, None if math.isinf(ends) else ends, text))
    elif name not in ("head", "metadata"):
        if depth >= DEEPEST:
            raise SubtitleError(f"its elements are nested more than {DEEPEST} deep; is it the right file?")
        is_sequence, last_s = element.get("timeContainer") == "seq", starts
        for child in element:
            child_end_s = _paragraphs(child, rates, last_s if is_sequence else starts, ends, depth + 1, lines)
            last_s = child_end_s if math.isfinite(child_end_s) else last_s
        return min(ends, last_s) if is_sequence else ends
    return ends


def _all_in_timed_spans(element: ElementTree.Element) -> bool:
    """Tell whether spans right in an element have times, and there are no words beside them."""
    spans = [child for child in element if _local(child.tag) == "span"]
    beside = [element.text, *(child.tail for child in element)]
    return bool(spans) and all(span.get("begin") for span in spans) and not any(map(str.strip, filter(None, beside)))


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
    return name.rpartition("}")[2] if isinstance(name, str) else ""
