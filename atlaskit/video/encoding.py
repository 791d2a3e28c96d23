"""Bytes of a text file → its text, whatever encoding it was saved in.

Subtitle files come from everywhere, and few say how they are encoded. Unicode is recognised for certain; anything else
is guessed from its letters, and by charset_normalizer.
"""

from __future__ import annotations

from collections import Counter

SAMPLE_BYTES = 1 << 18
"""How much of a file is looked at to guess its encoding."""
BOMS = (  # UTF-32's first: the little-endian one begins with UTF-16's
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
    (b"\xef\xbb\xbf", "utf-8-sig"),
)
LATIN = (  # letters beyond ASCII of one language each, likeliest encoding first
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
KANA, HANGUL = frozenset(map(chr, range(0x3041, 0x30FF))), frozenset(map(chr, range(0xAC00, 0xD7A4)))
EAST = (  # how to test, signs that other scripts hardly ever give so, how much of a text they are, how to read
    ("cp932", KANA, 0.4, "cp932"),
    ("euc_jp", KANA, 0.4, "euc_jp"),
    ("euc_kr", HANGUL, 0.9, "cp949"),  # as cp949, any text with curly apostrophes would pass
)
PUNCTUATION = frozenset("‘’‚“”„…–—«»‹›¿¡°ºª€£§·•´\xa0。、？！，「」")
SCRIPTS = ["cp1252", "cp1250", "cp1251", "koi8_u", "cp866", "cp1253", "cp1255", "cp1256", "cp874"]
SCRIPTS += ["cp932", "euc_jp", "gb18030", "big5", "cp949"]
"""What charset_normalizer chooses from: without this list it prefers rare relatives, as cp1257 for cp1252."""


def read_text(data: bytes) -> str | None:
    """Return the text in a file's bytes, or None for what is not text in an encoding that is recognised."""
    text = _unicode(data)
    encoding = _guessed_encoding(data) if text is None else None
    return data.decode(encoding, "replace") if encoding else text


def _unicode(data: bytes) -> str | None:
    """Return the text if it is UTF-8, -16 or -32, however slightly damaged."""
    for bom, encoding in BOMS:
        if data.startswith(bom):
            return data.decode(encoding, "replace")
    # Without a mark UTF-16 shows in its digits and line ends: every second byte of them is zero.
    sample = data[:SAMPLE_BYTES]
    zeros = {"utf-16-be": sample[0::2].count(0), "utf-16-le": sample[1::2].count(0)}
    (most, encoding), (least, _) = sorted(((count, name) for name, count in zeros.items()), reverse=True)
    if most > len(sample) / 10 and least < most / 4:
        return data.decode(encoding, "replace")
    text = data.decode("utf-8", "replace")
    wrong = text.count("\ufffd")
    right = len(text) - len(data.translate(None, bytes(range(0x80, 0x100)))) - wrong
    # Text in another encoding is wrong nearly everywhere, damaged UTF-8 in few places.
    return text if wrong * 10 <= right else None


def _guessed_encoding(data: bytes) -> str | None:
    rows = b"\n".join(row for row in data.splitlines() if not row.isascii())
    sample = rows[:SAMPLE_BYTES]
    if len(rows) > SAMPLE_BYTES and b"\n" in sample:
        sample = sample[: sample.rfind(b"\n")]  # between rows, so that no character is cut
    # charset_normalizer takes a short Japanese or Korean text for something else, and confuses the Latin code pages
    # with one another: these are told apart by their letters.
    for test, signs, least, encoding in EAST:
        if _share_of_letters(sample, test, signs) > least:
            return encoding
    fits = [(_share_of_letters(sample, encoding, letters), encoding) for encoding, letters in LATIN]
    share, latin = max(fits, key=lambda fit: fit[0])
    if share > 0.9:
        return latin
    import charset_normalizer  # here, so that `import atlaskit` stays light

    best = charset_normalizer.from_bytes(sample, cp_isolation=SCRIPTS).best()
    if best is None:
        return None
    return latin if best.encoding in ("cp1252", "cp1250") else best.encoding


def _share_of_letters(sample: bytes, encoding: str, letters: str | frozenset[str]) -> float:
    """Return which part of the signs beyond ASCII are `letters`, punctuation aside."""
    try:
        counts = Counter(sample.decode(encoding).lower())
    except UnicodeDecodeError:
        return 0.0
    marks = {sign: count for sign, count in counts.items() if sign > "\x7f" and sign not in PUNCTUATION}
    known = sum(count for sign, count in marks.items() if sign in letters)
    return known / sum(marks.values()) if marks else 1.0
