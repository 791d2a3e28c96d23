"""`decode_text`: finds the encoding of a text file (byte order mark, UTF-8, what it declares, or a
guess from its letters).

Unicode encodings are recognised with certainty. Few subtitle files declare theirs; any other is
guessed by chardet.
"""

from __future__ import annotations

import re
from contextlib import suppress

SAMPLE_BYTES = 1 << 18
"""Bytes of a file that are examined to guess its encoding."""
BOMS = (  # UTF-32 comes first: its little-endian mark begins with that of UTF-16
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
    (b"\xef\xbb\xbf", "utf-8-sig"),
)
SWITCHING = ("iso2022_jp_2", "iso2022_kr")
"""Encodings that switch between alphabets by escape sequences."""
DECLARED = re.compile(rb"(?:encoding|charset)\s*=\s*[\"']?([A-Za-z][\w.:-]{1,40})")
DECLARED_WITHIN = 2000
"""What a text says of its own encoding, and within how many bytes."""


def decode_text(data: bytes) -> str | None:
    """Return the text in a file's bytes, or None if they are not text in a known encoding."""
    encoding = encoding_of(data)
    return None if encoding is None else data.decode(encoding, "replace")


def encoding_of(data: bytes) -> str | None:
    """Return the encoding of a text; None if it is none that is known."""
    for bom, encoding in BOMS:
        if data.startswith(bom):
            return encoding
    # UTF-16 without a mark shows in digits and line ends: every second byte of them is zero.
    sample = data[:SAMPLE_BYTES]
    zeros = {"utf-16-be": sample[0::2].count(0), "utf-16-le": sample[1::2].count(0)}
    (most, encoding), (least, _) = sorted(((count, name) for name, count in zeros.items()), reverse=True)
    if most > len(sample) / 10 and least < most / 4:
        return encoding
    declared = DECLARED.search(data[:DECLARED_WITHIN])
    switching = SWITCHING if data.isascii() and b"\x1b" in data else ()
    named = [str(declared[1], "ascii")] if declared else []
    for name in (*switching, "utf-8", *named):
        with suppress(LookupError, UnicodeDecodeError):
            data.decode(name)
            return str(name)
    text = data.decode("utf-8", "replace")
    invalid = text.count("\ufffd")
    valid = len(text) - len(data.translate(None, bytes(range(0x80, 0x100)))) - invalid
    # Read as UTF-8, text in another encoding is invalid nearly everywhere, damaged UTF-8 in few
    # places.
    return "utf-8" if invalid * 10 <= valid else _guess_encoding(data)


def _guess_encoding(data: bytes) -> str | None:
    import chardet  # here, so that `import atlaskit` stays light

    # Rows in ASCII tell nothing, and there are many: numbers and times.
    rows = b"\n".join(row for row in data.splitlines() if not row.isascii())
    eras = chardet.EncodingEra
    likely = eras.MODERN_WEB | eras.LEGACY_ISO | eras.DOS
    found: str | None = chardet.detect(rows, encoding_era=likely, max_bytes=SAMPLE_BYTES)["encoding"]
    return found
