"""Reads the words of a command line that are numbers, for `argparse`."""

from __future__ import annotations

import argparse
import math

from atlaskit.errors import InputError, printable
from atlaskit.video.subtitles.text import checked_time


def count(text: str) -> int:
    """Return a word of the command line as a whole number from 1."""
    if not (text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"must be a whole number from 1; got {printable(text, 40)}")
    return int(text)


def positive(text: str) -> float:
    """Return a word of the command line as a number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number above 0; got {printable(text, 40)}")
    return number


def seconds_of(text: str) -> float:
    """Return the seconds of a time as a person types it; for `argparse`."""
    try:
        return checked_time(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
