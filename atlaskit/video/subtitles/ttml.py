"""Parses TTML and DFXP (W3C Timed Text Markup Language)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple
from xml.etree import ElementTree

from atlaskit.errors import SubtitleError
from atlaskit.video.subtitles.clock import clock_seconds
from atlaskit.video.subtitles.markup import collapsed
from atlaskit.video.subtitles.track import SourceLine

_CLOCK = re.compile(r"(\d{1,6}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,9})|:(\d{1,4})(?:\.\d+)?)?", re.ASCII)
_OFFSET = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)(h|ms|m|s|f|t)", re.ASCII)
DEEPEST = 100
"""Most elements within one another."""


class Rates(NamedTuple):
    """How many frames and ticks a second of a document has."""

    frame: float
    tick: float

    def seconds(self, text: str | None) -> float | None:
        """Return a time expression in seconds, None for one that cannot be read."""
        if match := _CLOCK.fullmatch((text or "").strip()):
            hours, minutes, seconds, decimals, frames = match.groups()
            return clock_seconds("", hours, minutes, seconds, decimals) + int(frames or 0) / self.frame
        if match := _OFFSET.fullmatch((text or "").strip()):
            metric = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "f": 1 / self.frame, "t": 1 / self.tick}
            return float(match[1]) * metric[match[2]]
        return None


def parse_ttml(text: str) -> list[SourceLine]:
    """Return the paragraphs of a TTML text.

    Raises:
        SubtitleError: The text is not XML, or declares a document type: its entities could grow
            without a bound.
    """
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise SubtitleError("the text declares a document type, which no TTML file needs; save it without.")
    try:
        root = ElementTree.fromstring(re.sub(r"^<\?xml[^>]*\?>", "", text))
    except ElementTree.ParseError as error:
        raise SubtitleError(f"the text is not valid XML ({error}); copy or download the file again.") from error
    return list(_paragraphs(root, _rates(root), 0.0, math.inf, 0))


def _rates(root: ElementTree.Element) -> Rates:
    parameters = {_local(name): value for name, value in root.attrib.items()}
    frame = _positive(parameters.get("frameRate"), 30.0)
    multiplier = parameters.get("frameRateMultiplier", "1 1").replace(":", " ").split()
    if len(multiplier) == 2:
        frame *= _positive(multiplier[0], 1.0) / _positive(multiplier[1], 1.0)
    return Rates(frame, _positive(parameters.get("tickRate"), frame if "frameRate" in parameters else 1.0))


def _positive(text: str | None, otherwise: float) -> float:
    try:
        value = float(text or "")
    except ValueError:
        return otherwise
    return value if 0 < value < math.inf else otherwise


def _paragraphs(
    element: ElementTree.Element, rates: Rates, from_s: float, until_s: float, depth: int
) -> Iterator[SourceLine]:
    """Yield the lines in an element. Its times count from the start of the element around it."""
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
    spans = [child for child in element.iter() if _local(child.tag) == "span" and child.get("begin")]
    if name == "p" and not (spans and begin is None):
        text = collapsed(_text(element))
        yield SourceLine(starts if is_timed else math.nan, None if math.isinf(ends) else ends, text)
    elif name == "span" and begin:
        yield SourceLine(
            starts if is_timed else math.nan, None if math.isinf(ends) else ends, collapsed(_text(element))
        )
    elif name not in ("head", "metadata") and depth < DEEPEST:
        for child in element:
            yield from _paragraphs(child, rates, starts, ends, depth + 1)


def _text(element: ElementTree.Element) -> str:
    """Return the text in an element; a line break is a blank."""
    parts = [element.text or ""]
    for child in element:
        if _local(child.tag) != "metadata":
            parts.append(" " if _local(child.tag) == "br" else _text(child))
        parts.append(child.tail or "")
    return "".join(parts)


def _local(name: object) -> str:
    """Return a name without its namespace."""
    return name.rpartition("}")[2] if isinstance(name, str) else ""
