"""Parses clock times, such as `01:02:03,450` in a subtitle file, to seconds."""

from __future__ import annotations

import re

CLOCK = r"(-?)(?:(\d{1,6})\s?:\s?)?(\d{1,2})\s?:\s?(\d{1,2})(?:(?:\s?[.,]\s?|:(?=\d{3}(?!\d)))(\d{1,9}))?"
"""A regular expression for one time; its five groups are the arguments of `clock_seconds`."""
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
