"""How much of what comes from outside is read: the one place with these limits.

What is longer than its limit is refused with an error that names the limit, or cut before it is
searched. So whatever a stranger sends, to read 10 MB takes at most two seconds and 200 MB. Bytes,
unless it says otherwise.
"""

from __future__ import annotations

# of an endpoint
ANSWER = 8_000_000
"""The body of an answer: an event stream needs some 250 bytes a token."""
JSON = 4_000_000
"""One text of JSON. Small objects take fifty times their text in memory."""
TEXT = 1_000_000
"""What a model wrote: the text that is searched for the answer."""
ERROR = 1_000_000
"""The body of an error: some servers send back what they refuse."""
WORDS = 4_000
"""An error's words, and its body, where they are searched for what they mean."""
HEADER = 1_000
"""The value of a header."""
NAME = 1_000
"""The name of a model, in a list or a reply."""
EVENTS = 200_000
"""Events of a stream or of a run; a count."""
READING_S, READING_S_PER_BYTE = 0.05, 4e-6
"""Most seconds to find the answer in a body: so much, and so much for each byte."""

# of video files, and of text files beside them
TEXT_FILE = 64 << 20
"""A text file. Ten hours of speech are 2 MB as SRT, 15 MB as JSON with times of words."""
ROWS, MARKS = 200_000, 600_000
"""Rows of a text file, and brackets that open something in it (`<`, `{`, `[`); counts."""
LINE, TAG, PATH = 10_000, 1_000, 1 << 16
"""Characters of a line and of a tag in a video file, which are cut there, and bytes of a path."""
FILE_NAMES = 10_000
"""Names of a folder that are searched for one that may be meant; a count."""
PIXELS = 1 << 28
"""Pixels of an image; a count."""

# of tables, datasets, traces, recordings and pages
PARTS, NESTING, NUMBER = 500_000, 32, 2.0**64
"""Lists and objects in JSON, each of which takes up to 200 bytes of memory, and their levels; the
largest number in a run, so that none grows endless when it is multiplied.

Ten hours have 20,000 lines, and an event of a run ten parts."""
FILE = 128 << 20
"""A file of a run, a table or its card: ten hours with ten thousand calls are 30 MB."""
COMMAS, TABLE_ROWS = 10_000, 1_000_000
"""Commas of a line of a CSV, since a million columns take minutes, and its rows; counts."""
UNPACKED, VALUES = 32 << 20, 2_000_000
"""A Parquet file as it is in memory, and its values; the second is a count."""
ROW_TEXT = 100_000
"""Characters of one text in a dataset's row: choices and names are searched in it."""
ENTRY = 8 << 20
"""An entry of a recording; no reply and no subtitles of ten hours are larger."""
COMPRESSION, DECODER = 50, 64 << 20
"""Unpacked to packed bytes of a recording (of a run: ten), and the memory to unpack (9 MiB)."""
MESSAGE = 1_000_000
"""A message of a page to its server."""


def cut(text: str, most: int) -> str:
    """Return the beginning of a text, at most so many bytes of it in UTF-8."""
    return text[:most].encode("utf-8", "replace")[:most].decode(errors="ignore")


def too_long(what: str, most: int) -> str:
    """Return what to say of a thing, with its article, that is larger than its limit."""
    return f"{what} that is too long (more than {most:,} bytes)"
