"""A run in one file: what it takes to make it again without a model, and merging such a file into another cache.

A recording is a ZIP file with one member an entry, `kind/version/hash.json` or `.jpg`, which anything can open and
read. Untrusted: it may come from a stranger. It is checked whole before anything of it is taken, and holds nothing that
could run. What a model is said to have replied in it is believed: who made it answers for that.
"""

from __future__ import annotations

import io
import json
import re
import secrets
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from PIL import Image

from atlaskit.caching.cache import Cache, default_cache
from atlaskit.caching.keys import (
    IMAGES,
    VERSIONS,
    asked_key,
    canonical_json,
    is_outdated,
    kind_of,
    lines_key,
    run_key,
    video_key,
)
from atlaskit.errors import CacheError, InputError, reason
from atlaskit.models.cached import read_failure_entry, read_reply_entry
from atlaskit.runs.result import RESULT_VERSION, Result
from atlaskit.runs.trace import Trace, parsed
from atlaskit.video.fingerprint import playlist_fingerprint
from atlaskit.video.records import parse_facts, parse_lines

RECORDING_VERSION = 1
HEAD = "atlaskit.json"
MEMBER = re.compile(r"([a-z]+)/([1-9][0-9]{0,8})/([0-9a-f]{64})\.(json|jpg)")
LARGEST_BYTES = {"jpg": 64 << 20, "json": 16 << 20}
"""A larger entry is refused: no image of ours is so large, and no reply, nor the subtitles of ten hours."""
MOST_UNPACKED = 100
"""A recording that unpacks to more than so many times its size is refused."""
MOST_PIXELS = 2**28
LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""The time of every member, so that the same entries make the same file."""

Run: TypeAlias = "Result | Trace | str | Path"
"""A run: its result, its trace, or the file that one of them was saved to."""


def note(trace: Trace, cache: Cache) -> None:
    """Keep the list of what a run found or stored in a watched cache, so that it can be exported; without images."""
    key, found = _key_of(trace), cache.touched or {}
    needed = {each: digest for each, digest in found.items() if kind_of(each) not in IMAGES | {"asked"}}
    if needed != _list_in(cache.get_json(key)):
        cache.put_json(key, needed, paid=True)


def export(
    path: str | Path, run: Run | Sequence[Run] | None = None, *, images: bool = False, cache: Cache | None = None
) -> Counter[str]:
    """Pack what one or several runs need (if none is named: everything but images) into one file.

    With `images`, the pictures that the runs showed and the cache holds are packed too; without a run, all images.
    Returns how many entries of each kind were packed. Raises InputError for a run that is none, CacheError where the
    cache does not hold all that a run needs, or the file cannot be written.
    """
    cache = cache or default_cache()
    needed: dict[str, bytes] = {}  # what is packed otherwise than it lies in the cache
    if run is None:
        left_out = {"served"} if images else {"served", *IMAGES}
        there = [entry.key for entry in cache.entries() if kind_of(entry.key) not in left_out]
        keys = {key for key in there if MEMBER.fullmatch(_member(key)) and not is_outdated(key)}
    else:
        runs = [run] if isinstance(run, Result | Trace | str | Path) else list(run)
        keys = set()
        for trace in map(trace_of, runs):
            its_keys = _needed(trace, cache)
            needed |= _asked(trace, its_keys, cache)
            keys |= its_keys | ({str(seen["key"]) for seen in _seen_in(trace)} if images else set())
    packed: Counter[str] = Counter()
    draft = Path(path).parent / f".recording-{secrets.token_hex(8)}.part"
    try:
        with zipfile.ZipFile(draft, "x") as file:
            _add(file, HEAD, canonical_json({"atlaskit_recording": RECORDING_VERSION}).encode())
            for key in sorted({*keys, *needed}):
                if (value := needed.get(key) or cache.get(key)) is not None:
                    _add(file, _member(key), value)
                    packed[kind_of(key)] += 1
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise CacheError(f"{path} cannot be written: {reason(error)}.") from error
    return packed


def import_(path: str | Path, *, cache: Cache | None = None) -> Counter[str]:
    """Merge what `export` packed into a cache, after all of it was checked; return how many entries of each kind came.

    What the cache has already stays as it is, but for which subtitles a video had when it was last asked about. Raises
    CacheError with one sentence for a file that is no recording, is damaged, or holds an entry that could not be one;
    then nothing of it was merged.
    """
    cache = cache or default_cache()
    try:
        with zipfile.ZipFile(path) as file:
            for _, _ in _checked(file, path):
                pass
            return _merged(_checked(file, path), cache)
    except (OSError, ValueError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
        raise CacheError(f"{path} cannot be read as a recording: {reason(error)}.") from error


def _merged(entries: Iterator[tuple[str, bytes]], cache: Cache) -> Counter[str]:
    came: Counter[str] = Counter()
    for key, value in entries:
        there = cache.get(key)
        if there is None or (kind_of(key) == "asked" and there != value):
            cache.put(key, value, paid=kind_of(key) not in IMAGES)
            came[kind_of(key)] += 1
    return came


def _needed(trace: Trace, cache: Cache) -> set[str]:
    """Return the keys of what a run needs; raise CacheError where they are not all there as they were."""
    key = _key_of(trace)
    needed = _list_in(cache.get_json(key))
    if needed is None:
        raise CacheError(f"{cache} does not know this run: export it from the cache that it was made with.")
    gone = Counter(kind_of(each) for each, digest in needed.items() if cache.digest(each) != digest)
    if gone:
        told = ", ".join(f"{count} of kind {kind!r}" for kind, count in sorted(gone.items()))
        raise CacheError(f"{cache} does not hold all that this run needs any more ({told}): ask the question again.")
    return {key, *needed}


def _asked(trace: Trace, keys: set[str], cache: Cache) -> dict[str, bytes]:
    """Return the entry that says which subtitles a run's video had then; it may have been asked with others since."""
    video = trace.of("start")[0]["settings"].get("video")
    said = [parse_lines(cache.get(key) or b"") for key in keys if kind_of(key) == "lines"]
    return {asked_key(video): canonical_json(lines.fingerprint).encode() for lines in said if lines is not None}


def _seen_in(trace: Trace) -> Iterator[dict[str, object]]:
    """Yield what names a picture in the events of a run."""
    for event in trace:
        yield from (seen for name in ("view", "shown", "sheet") if (seen := (event.data or {}).get(name)))


def trace_of(run: Run) -> Trace:
    """Return the trace of a run; raise InputError with one sentence for a file that holds none."""
    if isinstance(run, Trace):
        return run
    if isinstance(run, Result):
        return run.trace
    try:
        first = Path(run).read_bytes().split(b"\n", 1)[0]
    except (OSError, ValueError) as error:
        raise InputError(f"{run} cannot be read: {reason(error)}.") from error
    head = parsed(str(run), first)
    if isinstance(head, dict) and head.get("atlaskit_result") == RESULT_VERSION:
        return Trace.of_rows(str(run), head.get("trace"))
    return Trace.load(run)


def _key_of(trace: Trace) -> str:
    starts = trace.of("start")
    if len(starts) != 1:
        raise InputError(f"The trace of a run begins once, and this one has {len(starts)} starts.")
    return run_key(trace.to_json())


def _list_in(kept: object) -> dict[str, str] | None:
    """Return the keys and digests that a run's list holds, None for a JSON value that is no such list."""
    if not isinstance(kept, dict) or not all(
        MEMBER.fullmatch(_member(key)) and isinstance(digest, str) for key, digest in kept.items()
    ):
        return None
    return kept


def _member(key: str) -> str:
    """Return the name of an entry's member."""
    return f"{key.replace(':', '/')}.{'jpg' if kind_of(key) in IMAGES else 'json'}"


def _add(file: zipfile.ZipFile, name: str, value: bytes) -> None:
    packing = zipfile.ZIP_STORED if name.endswith(".jpg") else zipfile.ZIP_DEFLATED
    member = zipfile.ZipInfo(name, LONG_AGO)
    member.external_attr = 0o600 << 16
    file.writestr(member, value, packing)


def _checked(file: zipfile.ZipFile, path: str | Path) -> Iterator[tuple[str, bytes]]:
    """Yield the entries of a recording; raise CacheError for what cannot be one."""
    names = file.namelist()
    if names[:1] != [HEAD]:
        raise CacheError(f"{path} is not a recording of atlaskit: it does not begin with {HEAD}.")
    if any(info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for info in file.infolist()):
        raise CacheError(f"{path} is packed otherwise than recordings are: it was not made by atlaskit.")
    head = _read(file, HEAD, path)
    if head != canonical_json({"atlaskit_recording": RECORDING_VERSION}).encode():
        raise CacheError(f"{path} is a recording of another version ({head[:80]!r}); this is {RECORDING_VERSION}.")
    if len(set(names)) < len(names):
        raise CacheError(f"{path} holds an entry twice: it is damaged, or was tampered with.")
    unpacked, packed = sum(info.file_size for info in file.infolist()), Path(path).stat().st_size
    if unpacked > MOST_UNPACKED * packed:
        raise CacheError(f"{path} would unpack from {packed:,} to {unpacked:,} bytes, which no recording does.")
    for name in names[1:]:
        found = MEMBER.fullmatch(name)
        key = ":".join(found.groups()[:3]) if found else ""
        if not found or found[1] not in VERSIONS or _member(key) != name:
            raise CacheError(f"{path} holds {name[:120]!r}, which is no entry of a recording.")
        if int(found[2]) != VERSIONS[found[1]]:
            raise CacheError(
                f"{path} was made by another version of atlaskit ({name[:40]}…, and this one makes version "
                f"{VERSIONS[found[1]]}): it cannot be replayed with this one."
            )
        value = _read(file, name, path)
        if not _is_possible(key, value):
            raise CacheError(f"{path} holds {name[:120]!r}, whose content is no {found[1]}.")
        yield key, value


def _read(file: zipfile.ZipFile, name: str, path: str | Path) -> bytes:
    """Read a member, whose checksum is checked on the way; raise CacheError for one that is too large."""
    most = LARGEST_BYTES[name.rpartition(".")[2]]
    with file.open(name) as member:
        value = member.read(most + 1)
    if len(value) > most:
        raise CacheError(f"{path} holds {name[:120]!r}, which is larger than {most:,} bytes.")
    return value


def _is_possible(key: str, value: bytes) -> bool:
    """Tell whether bytes could be the entry of a key."""
    kind = kind_of(key)
    try:
        match kind:
            case "reply":
                read_reply_entry(value)
                return True
            case "tile" | "view" | "sheet" | "still":
                return (kind == "tile" and not value) or _is_image(value)
            case "failure":
                return read_failure_entry(value) is not None
            case "video":
                facts = parse_facts(value)
                return facts is not None and (not facts.parts or key == video_key(playlist_fingerprint(facts.parts)))
            case "lines":
                lines = parse_lines(value)
                return lines is not None and key == lines_key(lines.fingerprint)
            case "run":
                return _list_in(json.loads(value)) is not None
            case "asked":
                return re.fullmatch(rb'"[0-9a-f]{64}"', value) is not None
            case "readable":
                return value in (b"0", b"1")
            case "moments":
                return isinstance(json.loads(value), list)
            case _:  # "served" is this machine's own
                return False
    except (ValueError, RecursionError):
        return False


def _is_image(jpeg: bytes) -> bool:
    """Tell whether these bytes are a JPEG, of a size that ours have, that decodes to its end."""
    try:
        with Image.open(io.BytesIO(jpeg), formats=["JPEG"]) as image:
            if image.width * image.height > MOST_PIXELS:
                return False
            image.load()
        return True
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return False
