"""`export` and `import_` (`ak.cache`): recordings, which hold the cache entries of a replay.

* `export` packs the entries that runs need into a recording; `import_` merges one into a cache.
* `write_recording` and `read_recording` write and check the file format.

A recording is JSON lines, compressed by xz (`xz -dc run.jsonl.xz`): a header with the version, then
a line `{"KEY":VALUE}` for each entry. Entries are sorted by kind and content, since similar replies
side by side compress to a tenth of the space.

A file may come from an untrusted source: everything is checked, the memory that reading takes is
limited, and nothing in the file can run code. It cannot be checked whether the model really gave
the replies: import recordings only from people whom you trust.
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
from atlaskit.video.records import ASKED, LINES, ORIGINAL, parse_lines

__all__ = ["export", "import_"]

VERSION = 3
HEADER = canonical_json({"atlaskit_recording": VERSION}).encode()
LINE = re.compile(rb'\{"(?P<key>%s)":(?P<value>.+)\}' % KEY.pattern.encode(), re.DOTALL)
"""The line of an entry; its value is not parsed, so that its bytes stay the same."""
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
            f"{path} is not written: it is compressed so far that reading it would be refused."
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
                f"{path} is not a recording of version {VERSION}, which this atlaskit reads; it "
                f"begins with {header[:80]!r}."
            )
        seen = set[str]()
        for line in lines:
            match = LINE.fullmatch(line)
            key = match["key"].decode() if match else ""
            kind = known_kind(key)
            if match is None or kind is None or kind.check is None or kind.is_image:
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
            value = match["value"]
            if not is_valid(key, value):
                raise CacheError(
                    f"{path} holds {key[:80]!r}, whose content is not a valid {kind_of(key)}."
                )
            yield key, value
    except (OSError, ValueError, EOFError, lzma.LZMAError) as error:
        raise CacheError(f"{path} cannot be read as a recording: {reason(error)}.") from error


def _most_bytes(packed_bytes: int) -> int:
    """Return the limit on the unpacked size of a file of this size."""
    return max(limits.ENTRY, limits.COMPRESSION * packed_bytes)


def _lines(path: str | Path) -> Iterator[bytes]:
    """Yield the lines of a compressed file.

    Raises:
        CacheError: The file, or one of its lines, is larger than a recording's may be.
        OSError, LZMAError, EOFError: The file cannot be read, is not xz, or is not one whole xz
            stream.
    """
    decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=limits.DECODER)
    last_line = b""
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
            *lines, last_line = (last_line + unpacked).split(b"\n")
            yield from lines
            if len(last_line) > limits.ENTRY:
                raise CacheError(f"{path} holds an entry larger than {limits.ENTRY:,} bytes.")
        if last_line or decoder.unused_data or file.read(1):
            raise EOFError("it goes on after its end")


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
            everything is packed. Images are never packed, since they can be drawn again.
        made_since_s: A moment, in seconds since the epoch, in place of `run`: pack what all runs
            made since then need. A run counts even if it found all its replies in the cache.
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
    """Check a file that `export` wrote, then merge it into a cache.

    An entry that the cache already holds stays as it is, except for the entry that names the
    subtitles with which a video was last used.

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
    """Return the keys that runs since a moment need.

    The manifests of the runs are left out, since a replay makes them again.

    Args:
        moment_s: The moment, in seconds since the epoch.
        cache: The cache that the runs were made with.

    Raises:
        InputError: There is no such run.
        CacheError: An entry is missing or has changed.
    """
    run_keys = list[str]()
    asked_keys = list[str]()
    for entry in cache.entries():
        if kind_of(entry.key) == "run" and entry.stored_s >= moment_s:
            run_keys.append(entry.key)
        elif kind_of(entry.key) == "asked":
            asked_keys.append(entry.key)
    digests = list[tuple[str, str]]()
    has_run = False
    for key in run_keys:
        manifest = manifest_in(cache.get_json(key))
        if manifest is not None:
            has_run = True
            digests += manifest.items()
    if not has_run:
        raise InputError(f"{cache} holds no run that was made since that moment.")
    keys = _unchanged(digests, cache)
    for key in asked_keys:
        subtitles = str(cache.get_json(key))
        if LINES.key(lines=subtitles) in keys:
            keys.add(key)
    return keys


def _keys_of_runs(runs: Sequence[Run], cache: Cache) -> tuple[set[str], dict[str, bytes]]:
    """Return the keys that runs need, and entries to pack instead of those in the cache."""
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
    return {key, *_unchanged(manifest.items(), cache)}


def _unchanged(digests: Iterable[tuple[str, str]], cache: Cache) -> set[str]:
    """Return the keys of pairs (key, digest).

    Raises:
        CacheError: The cache lacks an entry, or holds one with another digest.
    """
    unique = set(digests)  # runs share most of their large entries
    missing = Counter(kind_of(key) for key, digest in unique if cache.digest(key) != digest)
    if missing:
        counts = ", ".join(f"{count} of kind {kind!r}" for kind, count in sorted(missing.items()))
        raise CacheError(
            f"{cache} no longer holds all entries that this run needs ({counts}); run it again."
        )
    return {key for key, _ in unique}


def _asked_entry(trace: Trace, keys: set[str], cache: Cache) -> dict[str, bytes]:
    """Return the entry that names the subtitles of this run; {} if it had none.

    The cache may hold another entry under this key, of a later run with other subtitles. A run with
    rolling captions needs two tracks, and the entry names the one that is not the original.
    """
    video = trace.of(Start)[0].settings.get("video")
    originals = {cache.get_json(key) for key in keys if kind_of(key) == ORIGINAL.name}
    entry = dict[str, bytes]()
    for key in keys:
        if kind_of(key) != "lines":
            continue
        track = parse_lines(cache.get(key) or b"")
        if track is not None and track.fingerprint not in originals:
            entry[ASKED.key(video=video)] = canonical_json(track.fingerprint).encode()
    return entry


def __dir__() -> list[str]:
    """List the public names only."""
    return __all__
