"""`delay`: when an endpoint wants to be asked again, in whatever spelling it says so.

Seconds or milliseconds, "1m30s", "PT90S", a date of HTTP or ISO 8601, or a time since 1970; in
headers, in fields of the body, in the headers that a gateway repeats there, or in words.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from atlaskit import limits

RETRY = re.compile(r"(?:[\w-]+-)?retry-(?:after|in)(?:-\w+)?")
RESET = re.compile(r"(?=.*rate-?limit).*reset.*")
"""Headers that tell when a window of a limit begins anew. The same name with "remaining" and with
"limit" in place of "reset" tell what is left of it, and how much it is."""
WINDOW = re.compile(r"\b(?:t|reset)=(\d{1,12})")
"""The draft of a standard: `RateLimit: "default";r=0;t=30`, earlier `limit=9, reset=30`."""
MUCH_LEFT = 0.1
"""A window of which a larger share is left is not the one that was exceeded."""
FIELD = re.compile(
    r"(?:retry(?:after|delay|in|at)?|wait(?:time|for|until)?|(?:rate)?(?:limit)?resets?(?:at|in|after|time|timestamp)?"
    r"|estimatedtime|cooldown|backoff)(?:s|secs?|seconds?|ms|millis|milliseconds)?"
)
"""Fields of a body that hold a delay, in small letters alone."""
MILLISECONDS = re.compile(r"(?:Ms|[-_]ms|(?i:millis|milliseconds))$")
"""The end of a name whose value is in milliseconds."""
UNIT = r"milliseconds?|millis|ms|days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s"
COUNT = r"(?:\d{1,12}(?:\.\d{1,12})?\s{0,4}|\b(?:an?|one)\s)"
PART = re.compile(rf"({COUNT})({UNIT})(?![a-z])")
"""A number with its unit, in a delay."""
SPELT = rf"(?:{COUNT}(?:{UNIT})(?![a-z])\s{{0,4}}(?:,|and)?\s{{0,2}}){{1,4}}"
DURATION = re.compile(SPELT)
MOMENT = (
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?: ?Z| ?UTC|[+-]\d\d:?\d\d)?"
    r"|\w{3}, \d\d? \w{3} \d{4} \d\d:\d\d:\d\d GMT"
)
BARE = r"\d{1,12}(?:\.\d{1,12})?(?!\s{0,4}[\w.])"
"""A number without a unit, which counts as seconds where a word of `DELAY` leads to it."""
DELAY = re.compile(
    rf"(?:try again|retry|wait|available|reset\w{{0,20}}|retrydelay|until)\W{{1,4}}(?:\w{{1,20}}\W{{1,4}}){{0,3}}?"
    rf"({MOMENT}|{SPELT}|(?<=after ){BARE}|(?<=in ){BARE}|(?<=for ){BARE})",
    re.IGNORECASE,
)
UNITS_S = {"d": 86_400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
"""Seconds in a unit, by its first letter."""
EPOCH_S = 1e9
"""A number from here on is a time since 1970, not a delay."""


def delay(headers: Mapping[str, str], body: Any = None, text: str = "") -> float | None:
    """Return the seconds after which an endpoint wants to be asked again; None if it does not say.

    A header that says so counts before a field of the body, and that before its words.

    Args:
        headers: The answer's headers, with lower-case names.
        body: The parsed body.
        text: The error's words.
    """
    told = _told_by(headers)
    if told is None:
        told = next(filter(lambda each: each is not None, map(_of_field, fields_of(body))), None)
    if told is None and (found := DELAY.search(text)):
        told = _seconds(found[1])
    return told


def fields_of(body: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of all fields of a parsed body, of JSON in its texts too."""
    if isinstance(body, str) and body.lstrip()[:1] in ("{", "["):
        try:
            body = json.loads(body)
        except (ValueError, RecursionError):
            return
    if depth > 8:
        return
    if isinstance(body, dict):
        for name, value in body.items():
            yield str(name), value
            yield from fields_of(value, depth + 1)
    elif isinstance(body, list):
        for value in body[:20]:
            yield from fields_of(value, depth + 1)


def _told_by(headers: Mapping[str, str]) -> float | None:
    """Return the delay that headers tell, or the end of the windows that are used up."""
    for name in sorted(filter(RETRY.fullmatch, headers), key=lambda name: not name.endswith("ms")):
        if (seconds := _seconds(headers[name], name)) is not None:
            return seconds
    windows = list[float]()
    for name, value in headers.items():
        found = WINDOW.search(value[: limits.HEADER]) if name in ("ratelimit", "x-ratelimit") else None
        seconds = _seconds(found[1] if found else value, name) if found or RESET.fullmatch(name) else None
        left, most = (_number(headers.get(name.replace("reset", each), "")) for each in ("remaining", "limit"))
        if seconds is not None and (left or 0.0) <= MUCH_LEFT * (most or 1.0):
            windows.append(seconds)
    return max(windows, default=None)


def _of_field(field: tuple[str, Any]) -> float | None:
    name, value = field
    if name.lower().endswith("headers") and isinstance(value, dict):
        return _told_by({str(key).lower(): str(each) for key, each in value.items()})
    bare = re.sub("[^a-z]", "", name.lower())
    return _seconds(value, name) if FIELD.fullmatch(bare) else None


def _seconds(value: Any, name: str = "") -> float | None:
    """Return the seconds from now that a value tells: a number, a duration, a date or a time."""
    if isinstance(value, dict):  # Google's Duration
        value = value.get("seconds")
    text = str(value)[: limits.HEADER].strip() if isinstance(value, int | float | str) else ""
    number = _number(text)
    if number is None:
        return _spelt(text)
    if number < EPOCH_S:
        return number / 1000 if MILLISECONDS.search(name) else number
    while number >= 100 * EPOCH_S:  # in milliseconds, or finer
        number /= 1000
    return max(0.0, number - time.time())


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < math.inf else None


def _spelt(text: str) -> float | None:
    """Return the seconds from now that a text tells, such as "1m30s", "PT90S" or a date."""
    bare = text.lower().removeprefix("pt")
    if DURATION.fullmatch(bare):
        return sum(_amount(count) * _unit_s(unit) for count, unit in PART.findall(bare))
    try:
        until = datetime.fromisoformat(re.sub(" ?(utc|z)$", "+00:00", text.lower()).upper())
    except ValueError:
        try:
            until = parsedate_to_datetime(text)
        except (ValueError, IndexError, TypeError):
            return None
    try:
        until = until if until.tzinfo else until.replace(tzinfo=UTC)
        return max(0.0, until.timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def _amount(count: str) -> float:
    number = _number(count)
    return 1.0 if number is None else number  # "an hour"


def _unit_s(unit: str) -> float:
    return 0.001 if unit == "ms" or unit.startswith("milli") else UNITS_S[unit[0]]
