"""The file format of recordings, and the checks on reading.

A recording is text, compressed by xz: a header with the version, then one line for each entry, an
object with the key as its one name (`xz -dc run.jsonl.xz`). Entries are sorted by kind and content,
because replies resemble each other, and a compressed reply alone takes ten times the space.

A file may come from an untrusted source: everything is checked, the memory that reading takes is
limited, and nothing in the file can run code. What cannot be checked is whether the model really
gave the replies; for that, trust whoever made the file.
"""

from __future__ import annotations

import lzma
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from atlaskit import limits
from atlaskit.caching.files import write_whole
from atlaskit.caching.keys import KEY, KINDS, canonical_json, is_recorded, is_valid, kind_of
from atlaskit.errors import CacheError, reason

VERSION = 3
HEADER = canonical_json({"atlaskit_recording": VERSION}).encode()
LINE = re.compile(rb'\{"(%s)":(.+)\}' % KEY.pattern.encode(), re.DOTALL)
"""The line of an entry. The entry's bytes are kept exactly."""
READ_BYTES = 1 << 16
"""Bytes that are read and unpacked at a time."""


def write(path: str | Path, entries: Iterable[tuple[str, bytes]]) -> None:
    """Write entries to a recording; a file appears only once it is complete.

    Args:
        path: The file; an existing one is replaced.
        entries: Keys and bytes, each key once.

    Raises:
        CacheError: If the file cannot be written, an entry is not one line of text, or `read` would
            refuse the file.
    """
    lines = [HEADER]
    for _, value, key in sorted((kind_of(key), value, key) for key, value in entries):
        if b"\n" in value or not 0 < len(value) < limits.ENTRY:
            raise CacheError(f"The cache entry {key[:80]!r} is not one of atlaskit, so it cannot be packed.")
        lines.append(b'{"%s":%s}' % (key.encode(), value))
    text = b"\n".join([*lines, b""])
    content = lzma.compress(text)
    if len(text) > _most_bytes(len(content)):
        raise CacheError(f"{path} is not written: its entries are so alike that reading it would be refused.")
    try:
        write_whole(path, content)
    except OSError as error:
        raise CacheError(f"{path} cannot be written: {reason(error)}.") from error


def read(path: str | Path) -> Iterator[tuple[str, bytes]]:
    """Yield the key and the bytes of each entry of a recording.

    Raises:
        CacheError: While iterating, if the file is not a recording that this version reads, or an
            entry is invalid.
    """
    try:
        lines = _lines(path)
        if (header := next(lines, b"")) != HEADER:
            raise CacheError(
                f"{path} is not a recording of atlaskit of version {VERSION}, which this one reads; it begins with "
                f"{header[:80]!r}."
            )
        seen = set[str]()
        for line in lines:
            found = LINE.fullmatch(line)
            key = found[1].decode() if found else ""
            if not found or not is_recorded(key) or KINDS[kind_of(key)].is_image:
                raise CacheError(f"{path} holds {line[:120]!r}…, which is no entry of a recording.")
            if int(key.split(":")[1]) != KINDS[kind_of(key)].version:
                raise CacheError(
                    f"{path} was made by another version of atlaskit ({key[:40]}…; this one makes version "
                    f"{KINDS[kind_of(key)].version}), so this one cannot replay it."
                )
            if key in seen:
                raise CacheError(f"{path} holds an entry twice: it is damaged, or was tampered with.")
            seen.add(key)
            value = found[found.re.groups]
            if not is_valid(key, value):
                raise CacheError(f"{path} holds {key[:80]!r}, whose content is not a valid {kind_of(key)}.")
            yield key, value
    except (OSError, ValueError, EOFError, lzma.LZMAError) as error:
        raise CacheError(f"{path} cannot be read as a recording: {reason(error)}.") from error


def _most_bytes(packed_bytes: int) -> int:
    """Return the most bytes that a file of some size may unpack to."""
    return max(limits.ENTRY, limits.COMPRESSION * packed_bytes)


def _lines(path: str | Path) -> Iterator[bytes]:
    """Yield the lines of a file; raise LZMAError, EOFError, OSError or CacheError if it is none."""
    decoder, begun = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=limits.DECODER), b""
    left_bytes = _most_bytes(Path(path).stat().st_size)
    with Path(path).open("rb") as file:
        while not decoder.eof:
            packed = file.read(READ_BYTES) if decoder.needs_input else b""
            if decoder.needs_input and not packed:
                raise EOFError("it ends too early")
            unpacked = decoder.decompress(packed, READ_BYTES)
            left_bytes -= len(unpacked)
            if left_bytes < 0:
                raise CacheError(f"{path} unpacks to more than any recording does.")
            *lines, begun = (begun + unpacked).split(b"\n")
            yield from lines
            if len(begun) > limits.ENTRY:
                raise CacheError(f"{path} holds an entry larger than {limits.ENTRY:,} bytes.")
        if begun or decoder.unused_data or file.read(1):
            raise EOFError("it goes on after its end")
