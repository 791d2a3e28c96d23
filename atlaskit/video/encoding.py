"""`decode_text`: finds the encoding of a text file.

What is UTF-8 without a fault, or nearly, is taken for that. chardet finds any other encoding, by a
byte order mark, by what the text declares, by its zero bytes or escape sequences, or by a guess
from its letters.
"""

from __future__ import annotations

import codecs
import re

UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
SAMPLE_BYTES = 1 << 18
"""Bytes of a file that are examined to guess its encoding."""
OTHER = re.compile(rb"[\0\x1b]")
"""Zeros as in UTF-16, escapes as in ISO 2022: such text is UTF-8 too, and mostly means another."""


def decode_text(data: bytes) -> str | None:
    """Return the text in a file's bytes, or None if they are not text in a known encoding."""
    encoding = encoding_of(data)
    return None if encoding is None else data.decode(encoding, "replace")


def encoding_of(data: bytes) -> str | None:
    """Return the encoding of a text; None if it is none that is known."""
    if data.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    text = data.decode("utf-8", "replace")
    invalid = text.count("\ufffd")
    valid = len(text) - len(data.translate(None, bytes(range(0x80, 0x100)))) - invalid
    if (not valid or data.startswith(UTF_16)) and OTHER.search(data[:SAMPLE_BYTES]) and (guessed := _guessed(data)):
        return guessed
    # Read as UTF-8, text in another encoding is invalid nearly everywhere, damaged UTF-8 in few
    # places. Rows in ASCII tell nothing but the first, which may declare the encoding.
    rows = (row for number, row in enumerate(data.splitlines()) if number == 0 or not row.isascii())
    return "utf-8" if invalid * 10 <= valid else _guessed(b"\n".join(rows))


def _guessed(sample: bytes) -> str | None:
    import chardet  # here, so that `import atlaskit` stays light

    eras = chardet.EncodingEra
    likely = eras.ALL & ~eras.LEGACY_MAC & ~eras.MAINFRAME
    found: str | None = chardet.detect(sample, encoding_era=likely, max_bytes=SAMPLE_BYTES)["encoding"]
    return found
