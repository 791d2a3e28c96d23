"""Parses clock times, as in a subtitle file (`01:02:03,450`) or typed by people, to seconds."""

from __future__ import annotations

import re

from atlaskit.errors import InputError

CLOCK = r"(-?)(?:(\d{1,6})\s?:\s?-?)?(\d{1,2})\s?:\s?-?(\d{1,2})(?:(?:\s?[.,]\s?-?|:(?=\d{3}(?!\d)))(\d{1,9}))?"
"""A regular expression for one time; its five groups are the arguments of `clock_seconds`."""
_NUMBER = r"(\d{1,9}(?:\.\d{1,9})?)"
_UNITS = re.compile(
    rf"(?:{_NUMBER} ?h(?:ours?|rs?)? ?)?(?:{_NUMBER} ?m(?:in(?:ute)?s?)? ?)?(?:{_NUMBER} ?s(?:ec(?:ond)?s?)?)?",
    re.ASCII | re.IGNORECASE,
)
_TYPED = re.compile(r"(?:(\d{1,6}):(?=\d{1,2}:))?(\d{1,6}):([0-5]?\d)(?:[.,](\d{1,9}))?", re.ASCII)
_PLAIN = re.compile(r"\d{1,9}(?:\.\d{1,9})?|\.\d{1,9}", re.ASCII)
_TIME = re.compile(rf"\s*{CLOCK}\s*", re.ASCII)


def clock_seconds(sign: str, hours: str | None, minutes: str, seconds: str, decimals: str | None) -> float:
    """Return a clock time in seconds, from the groups of `CLOCK`."""
    whole = (int(hours or 0) * 60 + int(minutes)) * 60 + int(seconds)
    value = float(f"{whole}.{decimals or 0}")
    return -value if sign else value


def parse_clock(text: str) -> float | None:
    """Return a clock time in seconds, or None for any other text."""
    match = _TIME.fullmatch(text)
    return clock_seconds(*match.groups()) if match else None


def parse_time(text: str) -> float | None:
    """Return a time that a person types in seconds, or None for any other text.

    It is a number of seconds (`65`, `65.5`), a clock time (`1:05`, `100:00`, `1:02:03.5`), or has
    units (`1h2m3.5s`, `90s`, `5 min`). No part behind a colon exceeds 59: `1:75` is none.
    """
    text = text.strip()
    if _PLAIN.fullmatch(text):
        return float(text)
    units = _UNITS.fullmatch(text)
    if units and any(units.groups()):
        hours, minutes, seconds = units.groups()
        return float(hours or 0) * 3600 + float(minutes or 0) * 60 + float(seconds or 0)
    typed = _TYPED.fullmatch(text)
    if typed is None or (typed[1] and int(typed[2]) > 59):
        return None
    return clock_seconds("", *typed.groups())


def checked_time(text: str) -> float:
    """Return the seconds of a time as a person types it; raise InputError for any other text."""
    seconds = parse_time(text)
    if seconds is None:
        raise InputError(f"{text!r:.80} is not a time: write 65, 65.5, 1:05, 1:02:03.5 or 1m5s.")
    return seconds
