"""Checks on the entries of a recording: which keys it can hold, and whether bytes fit a key.

A recording may come from an untrusted source. An entry is accepted only if it can be what its key
says; images are decoded once, JSON is parsed, and nothing in an entry can run code.
"""

from __future__ import annotations

import io
import json
import re

from PIL import Image

from atlaskit.caching.keys import IMAGES, VERSIONS, kind_of, lines_key, video_key
from atlaskit.models.cached import read_failure_entry, read_reply_entry
from atlaskit.models.transcription import read_transcript_entry
from atlaskit.video.activity import parse_activity
from atlaskit.video.fingerprint import playlist_fingerprint
from atlaskit.video.records import parse_facts, parse_lines

KEY = re.compile(r"([a-z]+):([1-9][0-9]{0,8}):([0-9a-f]{64})")
MAX_PIXELS = 2**28


def is_key(key: object) -> bool:
    """Return whether a value has the form of a key."""
    return isinstance(key, str) and KEY.fullmatch(key) is not None


def version_of(key: str) -> int:
    """Return the version of the code that made the entry of a key."""
    return int(key.split(":")[1])


def is_current(key: str) -> bool:
    """Return whether this version of atlaskit makes entries with such a key."""
    return VERSIONS.get(kind_of(key)) == version_of(key)


def manifest_in(value: object) -> dict[str, str] | None:
    """Return a run's manifest, its keys with their digests; None if a JSON value is not one."""
    if not isinstance(value, dict) or not all(is_key(key) and isinstance(digest, str) for key, digest in value.items()):
        return None
    return value


def is_valid(key: str, value: bytes) -> bool:
    """Return whether bytes can be the entry of a key."""
    kind = kind_of(key)
    if kind in IMAGES:
        return (kind == "tile" and not value) or _is_image(value)
    try:
        match kind:
            case "reply":
                read_reply_entry(value)
                return True
            case "failure":
                return read_failure_entry(value) is not None
            case "transcript":
                read_transcript_entry(value)
                return True
            case "video":
                facts = parse_facts(value)
                return facts is not None and (not facts.parts or key == video_key(playlist_fingerprint(facts.parts)))
            case "lines":
                lines = parse_lines(value)
                return lines is not None and key == lines_key(lines.fingerprint)
            case "run":
                return manifest_in(json.loads(value)) is not None
            case "asked" | "original":
                return re.fullmatch(rb'"[0-9a-f]{64}"', value) is not None
            case "answered":
                return isinstance(json.loads(value), str)
            case "readable":
                return value in (b"0", b"1")
            case "moments" | "clusters" | "hints":
                return isinstance(json.loads(value), list)
            case "activity":
                return parse_activity(value) is not None
            case "timing":  # whoever takes it checks more
                return isinstance(json.loads(value), dict)
            case _:  # "served" describes the machine that made it; "features" are made again
                return False
    except (ValueError, RecursionError):
        return False


def _is_image(value: bytes) -> bool:
    """Return whether bytes are a complete JPEG of at most MAX_PIXELS."""
    try:
        with Image.open(io.BytesIO(value), formats=["JPEG"]) as image:
            if image.width * image.height > MAX_PIXELS:
                return False
            image.load()
        return True
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return False
