"""The limits on input from outside, all in one place.

Input above its limit is refused with an error that names the limit, or is cut before it is
searched. So reading 10 MB takes at most two seconds and 200 MB of memory, whoever sent them. A
limit is in bytes, unless its description says otherwise.
"""

from __future__ import annotations

# Endpoints
ANSWER = 8_000_000
"""The body of an answer: an event stream needs some 250 bytes a token."""
JSON = 4_000_000
"""Characters of one text of JSON. Small objects take fifty times their text in memory."""
TEXT = 1_000_000
"""Characters of the text that a model wrote, which is searched for the answer."""
ERROR = 1_000_000
"""The body of an error: some servers send back what they refuse."""
WORDS = 4_000
"""The part of an error's message, and of its body, that is searched for the cause."""
HEADER = 1_000
"""The value of a header."""
NAME = 1_000
"""Characters of the name of a model, in a list or a reply."""
EVENTS = 200_000
"""Events of a stream or of a run; a count."""
READING_S = 0.05
"""The most seconds that parsing a body takes, apart from those of READING_S_PER_BYTE."""
READING_S_PER_BYTE = 4e-6
"""The most seconds that each byte of the body adds to READING_S."""

# Video files, and text files beside them
TEXT_FILE = 64 << 20
"""A text file. Ten hours of speech are 2 MB as SRT, 15 MB as JSON with times of words."""
ROWS = 200_000
"""Rows of a text file; a count."""
MARKS = 600_000
"""Opening brackets (`<`, `{`, `[`) in a text file; a count."""
LINE = 10_000
"""Characters of a line in a video file; the rest is cut."""
TAG = 1_000
"""Characters of a tag in a video file; the rest is cut."""
PATH = 1 << 16
"""A path."""
FILE_NAMES = 10_000
"""Names of a folder that are searched for a similar name; a count."""
PIXELS = 1 << 28
"""Pixels of an image; a count."""

# Tables, datasets, traces, recordings and pages
PARTS = 500_000
"""Lists and objects in JSON, each of which takes up to 200 bytes of memory, or rows of a Parquet
file; a count. The subtitles of ten hours have 20,000 lines, and an event of a run ten parts."""
NESTING = 32
"""Levels of lists and objects in JSON."""
NUMBER = 2.0**64
"""The largest number in a run, so that a product of several is finite."""
FILE = 128 << 20
"""A file of a run, a table or its settings card: ten hours with ten thousand calls are 30 MB."""
COMMAS = 10_000
"""Commas in a line of a CSV, or columns of a table, since a million take minutes; a count."""
TABLE_ROWS = 1_000_000
"""Rows of a CSV; a count."""
UNPACKED = 32 << 20
"""A Parquet file in memory."""
VALUES = 2_000_000
"""Values of a Parquet file; a count."""
ROW_TEXT = 100_000
"""Characters of one text in a dataset's row, which is searched for choices and names."""
ENTRY = 8 << 20
"""An entry of a recording; no reply and no subtitles of ten hours are larger."""
COMPRESSION = 50
"""Unpacked bytes for each packed byte of a recording; a run has ten."""
DECODER = 64 << 20
"""Memory to unpack a recording; a run takes 9 MiB."""
MESSAGE = 1_000_000
"""A message of a page to its server."""


def cut(text: str, most: int) -> str:
    """Return the beginning of a text that takes at most `most` bytes in UTF-8."""
    first = text[:most]  # each character takes at least one byte
    return first.encode("utf-8", "replace")[:most].decode(errors="ignore")


def too_long(subject: str, most: int) -> str:
    """Return a phrase for a thing above its limit, such as "a text that is too long (…)".

    Args:
        subject: The beginning of the phrase, such as "a text" or "it holds a table".
        most: The limit in bytes.
    """
    return f"{subject} that is too long (more than {most:,} bytes)"
