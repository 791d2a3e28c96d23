"""Converts bytes to text, times to seconds, and markup to plain words, for all subtitle formats.

* Encodings: `decode_text`. Text that is UTF-8 with at most a few faults is read as UTF-8. The
  package chardet finds any other encoding: by a byte order mark, by a declaration in the text, by
  zero bytes or escape sequences, or by a guess from the letters.
* Times: `parse_clock` for the times in files (`01:02:03,450`), `parse_time` for times that people
  type.
* Markup: `plain_text` and `plain_ass_text` remove tags, entities, comments and drawings.
"""

from __future__ import annotations

import codecs
import html
import re

from atlaskit import limits
from atlaskit.errors import InputError

UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
SAMPLE_BYTES = 1 << 18
"""Bytes of a file that are examined to guess its encoding."""
UNLIKELY_IN_UTF_8 = re.compile(rb"[\0\x1b]")
"""Zero bytes as in UTF-16, or escapes as in ISO 2022. They are valid in UTF-8, but rare."""


def decode_text(data: bytes) -> str | None:
    """Return the text in a file's bytes, or None if they are not text in a known encoding."""
    encoding = encoding_of(data)
    if encoding is None:
        return None
    return data.decode(encoding, "replace")


def encoding_of(data: bytes) -> str | None:
    """Return Python's name of the encoding of a text; None if it is unknown."""
    if data.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    text = data.decode("utf-8", "replace")
    invalid = text.count("\ufffd")
    ascii_bytes = len(data.translate(None, bytes(range(0x80, 0x100))))
    valid = len(text) - ascii_bytes - invalid  # characters beyond ASCII
    may_be_other = not valid or data.startswith(UTF_16)
    if may_be_other and UNLIKELY_IN_UTF_8.search(data[:SAMPLE_BYTES]):
        encoding = _likely_encoding(data)
        if encoding:
            return encoding
    # Text in another encoding is invalid as UTF-8 at nearly all characters beyond ASCII, and
    # damaged UTF-8 at few of them.
    if invalid * 10 <= valid:
        return "utf-8"
    # Rows in ASCII do not help to find the encoding, except the first, which may declare it.
    rows = (row for number, row in enumerate(data.splitlines()) if number == 0 or not row.isascii())
    return _likely_encoding(b"\n".join(rows))


def _likely_encoding(sample: bytes) -> str | None:
    import chardet  # here, so that `import atlaskit` stays light

    eras = chardet.EncodingEra
    likely = eras.ALL & ~eras.LEGACY_MAC & ~eras.MAINFRAME
    found: str | None = chardet.detect(sample, encoding_era=likely, max_bytes=SAMPLE_BYTES)[
        "encoding"
    ]
    return found


CLOCK = (
    r"(-?)(?:(\d{1,6})\s?:\s?-?)?(\d{1,2})\s?:\s?-?(\d{1,2})"
    r"(?:(?:\s?[.,]\s?-?|:(?=\d{3}(?!\d)))(\d{1,9}))?"
)
"""A regular expression for a clock time; its five groups are the arguments of `clock_seconds`."""
_NUMBER = r"(\d{1,9}(?:\.\d{1,9})?)"
_UNITS = re.compile(
    rf"(?:{_NUMBER} ?h(?:ours?|rs?)? ?)?"
    rf"(?:{_NUMBER} ?m(?:in(?:ute)?s?)? ?)?"
    rf"(?:{_NUMBER} ?s(?:ec(?:ond)?s?)?)?",
    re.ASCII | re.IGNORECASE,
)
_TYPED = re.compile(r"(?:(\d{1,6}):(?=\d{1,2}:))?(\d{1,6}):([0-5]?\d)(?:[.,](\d{1,9}))?", re.ASCII)
_PLAIN = re.compile(r"\d{1,9}(?:\.\d{1,9})?|\.\d{1,9}", re.ASCII)
_TIME = re.compile(rf"\s*{CLOCK}\s*", re.ASCII)


def clock_seconds(
    sign: str, hours: str | None, minutes: str, seconds: str, decimals: str | None
) -> float:
    """Return a clock time in seconds, from the groups of `CLOCK`."""
    whole = (int(hours or 0) * 60 + int(minutes)) * 60 + int(seconds)
    value = float(f"{whole}.{decimals or 0}")
    if sign:
        return -value
    return value


def parse_clock(text: str) -> float | None:
    """Return a clock time in seconds, or None for any other text."""
    match = _TIME.fullmatch(text)
    if match:
        return clock_seconds(*match.groups())
    return None


def parse_time(text: str) -> float | None:
    """Return the seconds of a time as a person types it, or None for any other text.

    The time is a number of seconds (`65`, `65.5`), a clock time (`1:05`, `100:00`, `1:02:03.5`), or
    has units (`1h2m3.5s`, `90s`, `5 min`). No part after a colon exceeds 59: `1:75` is no time.
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


# Only known tags are removed, since a lecturer may say `x <y and z> w`. No expression for a tag or
# for braces matches past the next `<` or `{`. Otherwise a hostile line with a million of these
# would take quadratic time.
_TAG = re.compile(
    r"</?(?:[bisu]|em|strong|ruby|rt|rp)(?:\.[^<>]*|\s*)>"
    r"|</?(?:c|v|lang|font|span|p|a|div)(?:[\s.][^<>]*)?>"
    r"|<(?:\d+:)?\d\d:\d\d\.\d{3}>",  # the time of one word in a WebVTT karaoke line
    re.IGNORECASE,
)
_OVERRIDE = re.compile(r"\{\\[^{}]*\}")
_BRACES = re.compile(r"\{[^{}]*\}")
_DRAWING = re.compile(r"\{[^{}]*\\p[1-9][^{}]*\}(?:[^{]|\{(?![^{}]*\\p0))*")
"""A drawing, up to the mark that ends it."""
_BREAK = re.compile(r"(?i:<br\s{0,9}/?>)|\\[Nh]")
_ENTITY = re.compile(r"&(?:#\w{1,8}|\w{1,32});")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff]+")


def plain_text(text: str) -> str:
    """Return a line of SRT, WebVTT or a similar format without its markup, cut to limits.LINE."""
    text = _BREAK.sub(" ", _OVERRIDE.sub("", text[: limits.LINE]))
    text = _ENTITY.sub(lambda match: html.unescape(match[0]), _TAG.sub("", text))
    return collapsed(text)


def plain_ass_text(text: str) -> str:
    r"""Return the text of an ASS event without markup and drawings (`{\p1}m 0 0 l 9 0{\p0}`).

    A brace after a backslash is text, not markup. The text is cut to limits.LINE.
    """
    text = text[: limits.LINE]
    if "{" in text or "\\" in text:
        # Two control characters stand for braces after a backslash while the markup is removed.
        text = text.replace("\0", "").replace("\1", "").replace(r"\{", "\0").replace(r"\}", "\1")
        text = re.sub(r"\\[Nnh]", " ", _BRACES.sub("", _DRAWING.sub("", text)))
        text = text.replace("\0", "{").replace("\1", "}")
    return collapsed(text)


def collapsed(text: str) -> str:
    """Collapse whitespace, drop control characters, and replace lone surrogates (possible in JSON).

    A lone surrogate cannot be encoded, so no file could store it.
    """
    if text.isprintable():  # a shorter way for most texts, since a file may have many
        return " ".join(text.split())
    text = " ".join(_CONTROL.sub("", text).split())
    return text.encode("utf-8", "replace").decode("utf-8")
