"""`export` and `import_` (`ak.cache`): pack the cache entries that a replay needs, and read them.

* `export` and `import_` choose the entries.
* `write_recording` and `read_recording` write the file format of recordings, and check it.

A recording is text, compressed by xz: a header with the version, then one line for each entry, an
object with the key as its one name (`xz -dc run.jsonl.xz`). Entries are sorted by kind and content,
since similar replies side by side compress to a tenth of the space.

A file may come from an untrusted source: everything is checked, the memory that reading takes is
limited, and nothing in the file can run code. What cannot be checked is whether the model really
gave the replies; for that, trust whoever made the file.
"""

from __future__ import annotations

import lzma
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from atlaskit import limits
from atlaskit.caching.cache import Cache, default_cache
from atlaskit.caching.files import open_regular, write_whole
from atlaskit.caching.keys import (
    KEY,
    canonical_json,
    is_image,
    is_key,
    is_outdated,
    is_recorded,
    is_valid,
    kind_of,
    known_kind,
)
from atlaskit.errors import CacheError, InputError, reason
from atlaskit.runs.events import Start
from atlaskit.runs.result import Result, Run, trace_of
from atlaskit.runs.trace import Trace, manifest_in, run_key
from atlaskit.video.records import ASKED, LINES, parse_lines

VERSION = 3
HEADER = canonical_json({"atlaskit_recording": VERSION}).encode()
LINE = re.compile(rb'\{"(%s)":(.+)\}' % KEY.pattern.encode(), re.DOTALL)
"""The line of an entry. The entry's bytes are kept exactly."""
READ_BYTES = 1 << 16
"""Bytes that are read and unpacked at a time."""


def write_recording(path: str | Path, entries: Iterable[tuple[str, bytes]]) -> None:
    """Write entries to a recording; a file appears only once it is complete.

    Args:
        path: The file; an existing one is replaced.
        entries: Keys and bytes, each key once.

    Raises:
        CacheError: If the file cannot be written, an entry is not one line of text, or
            `read_recording` would refuse the file.
    """
    lines = [HEADER]
    for _, value, key in sorted((kind_of(key), value, key) for key, value in entries):
        if b"\n" in value or not 0 < len(value) < limits.ENTRY:
            raise CacheError(
                f"The cache entry {key[:80]!r} is not one of atlaskit, so it cannot be packed."
            )
        lines.append(b'{"%s":%s}' % (key.encode(), value))
    text = b"\n".join([*lines, b""])
    content = lzma.compress(text)
    if len(text) > _most_bytes(len(content)):
        raise CacheError(
            f"{path} is not written: its entries are so alike that reading it would be refused."
        )
    try:
        write_whole(path, content)
    except OSError as error:
        raise CacheError(f"{path} cannot be written: {reason(error)}.") from error


def read_recording(path: str | Path) -> Iterator[tuple[str, bytes]]:
    """Yield the key and the bytes of each entry of a recording.

    Raises:
        CacheError: While iterating, if the file is not a recording that this version reads, or an
            entry is invalid.
    """
    try:
        lines = _lines(path)
        header = next(lines, b"")
        if header != HEADER:
            raise CacheError(
                f"{path} is not a recording of atlaskit of version {VERSION}, which this one "
                f"reads; it begins with {header[:80]!r}."
            )
        seen = set[str]()
        for line in lines:
            found = LINE.fullmatch(line)
            key = found[1].decode() if found else ""
            kind = known_kind(key)
            if found is None or kind is None or kind.check is None or kind.is_image:
                raise CacheError(f"{path} holds {line[:120]!r}…, which is no entry of a recording.")
            if int(key.split(":")[1]) != kind.version:
                raise CacheError(
                    f"{path} was made by another version of atlaskit ({key[:40]}…; this one makes "
                    f"version {kind.version}), so this one cannot replay it."
                )
            if key in seen:
                raise CacheError(
                    f"{path} holds an entry twice: it is damaged, or was tampered with."
                )
            seen.add(key)
            value = found[found.re.groups]
            if not is_valid(key, value):
                raise CacheError(
                    f"{path} holds {key[:80]!r}, whose content is not a valid {kind_of(key)}."
                )
            yield key, value
    except (OSError, ValueError, EOFError, lzma.LZMAError) as error:
        raise CacheError(f"{path} cannot be read as a recording: {reason(error)}.") from error


def _most_bytes(packed_bytes: int) -> int:
    """Return the most bytes to which a file of this size may unpack."""
    return max(limits.ENTRY, limits.COMPRESSION * packed_bytes)


def _lines(path: str | Path) -> Iterator[bytes]:
    """Yield the lines of a file; raise LZMAError, EOFError, OSError or CacheError if it is none."""
    decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=limits.DECODER)
    begun = b""
    with open_regular(path) as file:
        left_bytes = _most_bytes(os.fstat(file.fileno()).st_size)
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


__all__ = ["export", "import_"]


def export(
    path: str | Path,
    run: Run | Sequence[Run] | None = None,
    *,
    made_since_s: float | None = None,
    cache: Cache | None = None,
) -> Counter[str]:
    """Pack the cache entries that one or several runs need into one file.

    Args:
        path: The file to write.
        run: A run or several, each as its result, its trace or a saved file. Without one,
            everything is packed. Images never are: they can be drawn again.
        made_since_s: In place of `run`: pack what all runs made since this moment need, in seconds
            since the epoch; runs that found all their replies in the cache are made too.
        cache: The cache that the runs were made with.

    Returns:
        The number of packed entries by kind.

    Raises:
        InputError: If a file is neither a result nor a trace, no run was made since that moment, or
            `made_since_s` stands beside `run`.
        CacheError: If the cache lacks an entry that a run needs, or the file cannot be written.

    Examples:
        >>> counts = ak.cache.export("run.jsonl.xz", result)
        >>> counts["reply"] > 0
        True
    """
    cache = cache or default_cache()
    renewed = dict[str, bytes]()
    if made_since_s is not None:
        if run is not None:
            raise InputError("made_since_s packs what all runs since a moment need: leave run out.")
        keys = _keys_since(made_since_s, cache)
    elif run is None:
        keys = _all_keys(cache)
    else:
        runs = [run] if isinstance(run, Result | Trace | str | Path) else run
        keys, renewed = _keys_of_runs(runs, cache)
    entries = dict[str, bytes]()
    for key in sorted({*keys, *renewed}):
        value = renewed.get(key) or cache.get(key)
        if value is not None:
            entries[key] = value
    write_recording(path, entries.items())
    return Counter(map(kind_of, entries))


def import_(path: str | Path, *, cache: Cache | None = None) -> Counter[str]:
    """Merge a file that `export` wrote into a cache, after all of it is checked.

    An entry that the cache already holds stays as it is, except for the one that says which
    subtitles a video had when it was last used.

    Args:
        path: The file to read.
        cache: The cache to merge it into.

    Returns:
        The number of merged entries by kind.

    Raises:
        CacheError: If the file is not a recording, is damaged or holds an invalid entry; then
            nothing is merged.

    Examples:
        >>> counts = ak.cache.export("run.jsonl.xz", result)
        >>> ak.cache.import_("run.jsonl.xz", cache=ak.Cache("elsewhere")) == counts
        True
    """
    cache = cache or default_cache()
    for _ in read_recording(path):
        pass
    merged: Counter[str] = Counter()
    for key, value in read_recording(path):
        present = cache.get(key)
        if present is None or (kind_of(key) == "asked" and present != value):
            cache.put(key, value)
            merged[kind_of(key)] += 1
    return merged


def _all_keys(cache: Cache) -> set[str]:
    """Return the keys of all entries of this version that a recording can hold."""
    keys = set[str]()
    for entry in cache.entries():
        key = entry.key
        if is_key(key) and not is_outdated(key) and is_recorded(key) and not is_image(key):
            keys.add(key)
    return keys


def _keys_since(moment_s: float, cache: Cache) -> set[str]:
    """Return the keys that runs since a moment need, in seconds since the epoch.

    Their manifests are left out, since a replay makes them again. Raise InputError if there is no
    such run, and CacheError if an entry is missing or has changed.
    """
    runs = list[str]()
    asked = list[str]()
    for entry in cache.entries():
        if kind_of(entry.key) == "run" and entry.stored_s >= moment_s:
            runs.append(entry.key)
        elif kind_of(entry.key) == "asked":
            asked.append(entry.key)
    needed = list[tuple[str, str]]()
    has_run = False
    for key in runs:
        manifest = manifest_in(cache.get_json(key))
        if manifest is not None:
            has_run = True
            needed += manifest.items()
    if not has_run:
        raise InputError(f"{cache} holds no run that was made since that moment.")
    keys = _held(needed, cache)
    return keys | {key for key in asked if LINES.key(lines=str(cache.get_json(key))) in keys}


def _keys_of_runs(runs: Sequence[Run], cache: Cache) -> tuple[set[str], dict[str, bytes]]:
    """Return the keys that runs need, and the entries whose bytes in the cache are replaced."""
    keys = set[str]()
    renewed = dict[str, bytes]()
    for trace in map(trace_of, runs):
        needed = _needed_keys(trace, cache)
        renewed |= _asked_entry(trace, needed, cache)
        keys |= needed
    return keys, renewed


def _needed_keys(trace: Trace, cache: Cache) -> set[str]:
    """Return the keys that a run needs; raise CacheError if an entry is missing or has changed."""
    key = run_key(trace)
    manifest = manifest_in(cache.get_json(key))
    if manifest is None:
        raise CacheError(
            f"{cache} does not know this run; export it from the cache that it was made with."
        )
    return {key, *_held(manifest.items(), cache)}


def _held(needed: Iterable[tuple[str, str]], cache: Cache) -> set[str]:
    """Return the keys of entries; raise CacheError if one is missing or has another digest."""
    unique = set(needed)  # runs share most of their large entries
    missing = Counter(kind_of(entry) for entry, digest in unique if cache.digest(entry) != digest)
    if missing:
        counts = ", ".join(f"{count} of kind {kind!r}" for kind, count in sorted(missing.items()))
        raise CacheError(
            f"{cache} no longer holds all entries that this run needs ({counts}); run it again."
        )
    return {key for key, _ in unique}


def _asked_entry(trace: Trace, keys: set[str], cache: Cache) -> dict[str, bytes]:
    """Return the entry that names the subtitles of this run; a later run may have used others."""
    video = trace.of(Start)[0].settings.get("video")
    entry = dict[str, bytes]()
    for key in keys:
        track = parse_lines(cache.get(key) or b"") if kind_of(key) == "lines" else None
        if track is not None:
            entry[ASKED.key(video=video)] = canonical_json(track.fingerprint).encode()
    return entry


def __dir__() -> list[str]:
    """List the public names only."""
    return __all__
