"""Parses clock times, such as `01:02:03,450` in a subtitle file, to seconds."""

from __future__ import annotations

import re

CLOCK = r"(-?)(?:(\d{1,6})\s?:\s?)?(\d{1,2})\s?:\s?(\d{1,2})(?:(?:\s?[.,]\s?|:(?=\d{3}(?!\d)))(\d{1,9}))?"
"""A regular expression for one time; its five groups are the arguments of `clock_seconds`."""
_UNITS = re.compile(r"(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,9}(?:\.\d{1,9})?)s)?", re.ASCII | re.IGNORECASE)
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

    It is a number of seconds (`65`, `65.5`), a clock time (`1:05`, `1:02:03.5`), or has units
    (`1h2m3.5s`, `90s`).
    """
    text = text.strip()
    if _PLAIN.fullmatch(text):
        return float(text)
    units = _UNITS.fullmatch(text)
    if units and any(units.groups()):
        hours, minutes, seconds = units.groups()
        return int(hours or 0) * 3600 + int(minutes or 0) * 60 + float(seconds or 0)
    seconds_of_clock = parse_clock(text)
    return None if seconds_of_clock is None or seconds_of_clock < 0 or text.startswith("-") else seconds_of_clock
