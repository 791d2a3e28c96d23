"""Removes tags, entities, ASS comments and drawings: subtitle markup to plain text."""

from __future__ import annotations

import html
import re

from atlaskit import limits

# Only known tags are removed, since a lecturer may say `x <y and z> w`. No expression may match
# past the next opening character: on a hostile line of a million of them it would take quadratic
# time.
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
    r"""Return the text of an ASS event without markup and drawings (`{\p1}m 0 0 l 9 0{\p0}`)."""
    text = text[: limits.LINE]
    if "{" in text or "\\" in text:
        text = re.sub(r"\\[Nnh]", " ", _BRACES.sub("", _DRAWING.sub("", text)))
    return collapsed(text)


def collapsed(text: str) -> str:
    """Collapse whitespace, drop control characters, and replace lone surrogates (possible in JSON).

    A lone surrogate cannot be encoded, so no file could store it.
    """
    if text.isprintable():  # most are, and a file may have many
        return " ".join(text.split())
    text = " ".join(_CONTROL.sub("", text).split())
    return text.encode("utf-8", "replace").decode("utf-8")
