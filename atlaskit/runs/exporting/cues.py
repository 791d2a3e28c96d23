"""WebVTT: each passage is a cue, whose identifier tells kind and label.

A player shows label and text. What a cue cannot hold as it is (an empty line, `<`, `&`) is a
character reference, so that the text is read back as it was.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from atlaskit.errors import InputError
from atlaskit.runs.exporting.passages import KINDS, Passage, as_kind, clean

EMPTY = "-"
"""What a cue without words shows: some players drop an empty one."""
_TIMES = re.compile(r"\s*(?:(\d{1,4}):)?(\d\d):(\d\d)\.(\d{3})\s+-->\s+(?:(\d{1,4}):)?(\d\d):(\d\d)\.(\d{3})(?:\s.*)?")
_OURS = re.compile(rf"({'|'.join(KINDS)})(?: (.*))?")
_TAG = re.compile(r"</?[a-zA-Z0-9:.][^<>]{0,1000}>|</?[a-zA-Z]?>")
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def write_vtt(passages: Sequence[Passage]) -> bytes:
    """Return passages as WebVTT."""
    return "\n".join(["WEBVTT\n", *map(_cue, passages)]).encode()


def _cue(passage: Passage) -> str:
    start_ms = round(passage.start_s * 1000)
    end_ms = max(start_ms + 1, round(passage.end_s * 1000))
    identifier = f"{passage.kind} {passage.label.translate(_ESCAPES)}".rstrip()
    words = passage.words
    payload = _escaped(words) if words not in ("", EMPTY) else EMPTY if not words else "&#45;"
    return f"{identifier}\n{_clock(start_ms)} --> {_clock(end_ms)}\n{payload}\n"


def _escaped(text: str) -> str:
    """Return a text without empty lines, which would end the cue."""
    escaped = text.translate(_ESCAPES)
    escaped = re.sub(r"(?<=\n)\n|^\n|\n$", "&#10;", escaped)
    return re.sub(r"\n(?=\s*(?:\n|$))", "&#10;", escaped)


def _clock(time_ms: int) -> str:
    seconds, ms = divmod(time_ms, 1000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{ms:03}"


def read_vtt(text: str) -> list[Passage]:
    """Return the cues of a WebVTT file; tags are dropped, and line ends stay.

    Raises:
        InputError: The text is no WebVTT.
    """
    if not text.lstrip("\ufeff").startswith("WEBVTT"):
        raise InputError("a WebVTT file begins with WEBVTT.")
    passages, rows = list[Passage](), text.split("\n")
    for number, row in enumerate(rows):
        if "-->" not in row or (match := _TIMES.fullmatch(row)) is None:
            continue
        payload = list[str]()
        for line in rows[number + 1 :]:
            if not line or "-->" in line:
                break
            payload.append(line)
        identifier = _OURS.fullmatch(rows[number - 1]) if number else None
        start_s, end_s = _seconds(match.groups()[:4]), _seconds(match.groups()[4:])
        passages.append(_passage(start_s, max(start_s, end_s), "\n".join(payload), identifier))
    return passages


def _passage(start_s: float, end_s: float, payload: str, identifier: re.Match[str] | None) -> Passage:
    words = clean(html.unescape(_TAG.sub("", payload)))
    if identifier is None:
        return Passage(start_s, end_s, words)
    label = html.unescape(identifier[2] or "")
    if payload == EMPTY:
        words = ""
    elif label:
        words = "" if words == label else words.removeprefix(f"{label}: ")
    return Passage(start_s, end_s, words, kind=as_kind(identifier[1]), label=label)


def _seconds(groups: Sequence[str | None]) -> float:
    hours, minutes, seconds, ms = (int(each or 0) for each in groups)
    return (hours * 3600 + minutes * 60 + seconds) + ms / 1000
