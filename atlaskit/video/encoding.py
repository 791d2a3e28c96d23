"""`decode_text`: finds the encoding of a text file (byte order mark, UTF-8, what it declares, or a
guess from its letters).

Unicode encodings are recognised with certainty. Few subtitle files declare theirs; any other is
guessed from the letters of the text, and by charset_normalizer.
"""

from __future__ import annotations

import re
from collections import Counter
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
LATIN = (  # the letters beyond ASCII of one language each, most likely encoding first
    ("cp1252", "àâæçèéêëîïôœùûüÿ"),  # French
    ("cp1252", "äöüßé"),  # German
    ("cp1252", "áéíñóúü"),  # Spanish
    ("cp1252", "àáâãçéêíóôõú"),  # Portuguese
    ("cp1252", "àèéìîòóùú"),  # Italian
    ("cp1252", "åäöéæø"),  # Swedish, Danish, Norwegian, Finnish
    ("cp1252", "éëïèóöáê"),  # Dutch
    ("cp1250", "ąćęłńóśźż"),  # Polish
    ("cp1250", "áčďéěíňóřšťúůýž"),  # Czech
    ("cp1250", "áäčďéíĺľňóôŕšťúýž"),  # Slovak
    ("cp1250", "áéíóöőúüű"),  # Hungarian
    ("cp1250", "ăâîşţ"),  # Romanian
    ("cp1250", "čćđšž"),  # Croatian, Slovene
    ("cp1254", "çğıöşüâîû"),  # Turkish
    ("iso8859_2", "ąćęłńóśźż"),
    ("iso8859_2", "áčďéěíňóřšťúůýž"),
    ("iso8859_2", "áéíóöőúüű"),
)
KANA = frozenset(map(chr, range(0x3041, 0x30FF)))
HANGUL = frozenset(map(chr, range(0xAC00, 0xD7A4)))
EAST_ASIAN = (  # encoding to test, characters that few other texts decode to, their least share, encoding to use
    ("cp932", KANA, 0.4, "cp932"),
    ("euc_jp", KANA, 0.4, "euc_jp"),
    ("euc_kr", HANGUL, 0.9, "cp949"),  # a test with cp949 would accept any text with curly apostrophes
)
PUNCTUATION = frozenset("‘’‚“”„…–—«»‹›¿¡°ºª€£§·•´\xa0。、？！，「」")
CANDIDATES = ["cp1252", "cp1250", "cp1251", "koi8_u", "cp866", "cp1253", "cp1255", "cp1256", "cp874"]
CANDIDATES += ["cp932", "euc_jp", "gb18030", "big5", "cp949"]
"""What charset_normalizer chooses from. Without this list it prefers rare relatives, such as cp1257
to cp1252."""


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
    rows = b"\n".join(row for row in data.splitlines() if not row.isascii())
    sample = rows[:SAMPLE_BYTES]
    if len(rows) > SAMPLE_BYTES and b"\n" in sample:
        sample = sample[: sample.rfind(b"\n")]  # cut between rows, so that every character is whole
    # charset_normalizer does not recognise short Japanese or Korean texts, and confuses the Latin
    # code pages with one another. Their letters distinguish them.
    for test, letters, least_share, encoding in EAST_ASIAN:
        if _share_of_letters(sample, test, letters) > least_share:
            return encoding
    shares = [(_share_of_letters(sample, encoding, alphabet), encoding) for encoding, alphabet in LATIN]
    share, latin = max(shares, key=lambda pair: pair[0])
    if share > 0.9:
        return latin
    import charset_normalizer  # here, so that `import atlaskit` stays light

    best = charset_normalizer.from_bytes(sample, cp_isolation=CANDIDATES).best()
    if best is None:
        return None
    return latin if best.encoding in ("cp1252", "cp1250") else best.encoding


def _share_of_letters(sample: bytes, encoding: str, letters: str | frozenset[str]) -> float:
    """Return the share of `letters` among the characters beyond ASCII that are not punctuation."""
    try:
        counts = Counter(sample.decode(encoding).lower())
    except UnicodeDecodeError:
        return 0.0
    beyond_ascii = {char: count for char, count in counts.items() if char > "\x7f" and char not in PUNCTUATION}
    known = sum(count for char, count in beyond_ascii.items() if char in letters)
    return known / sum(beyond_ascii.values()) if beyond_ascii else 1.0
