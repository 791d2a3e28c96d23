"""`export` and `import_` (`ak.cache`): pack the cache entries that a replay needs, merge such a
file.

`export` and `import_` decide which entries go where; `recording` knows the file format and checks
what is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from atlaskit.caching.cache import Cache, default_cache
from atlaskit.caching.keys import IMAGES, asked_key, canonical_json, is_outdated, kind_of, run_key
from atlaskit.errors import CacheError, InputError
from atlaskit.runs import recording
from atlaskit.runs.result import Result, Run, trace_of
from atlaskit.runs.trace import Trace
from atlaskit.video.records import parse_lines

NOT_IN_MANIFESTS = IMAGES | {"asked", "habits"}
"""Kinds that a manifest leaves out: images can be rendered again, `export` renews an "asked" entry,
and habits are about one machine."""


def save_manifest(trace: Trace, cache: Cache) -> None:
    """Store the manifest of a run: the entries that it read or wrote, without images.

    `export` needs it to tell which entries a replay of the run reads.

    Args:
        trace: The trace of the run.
        cache: The watched cache that the run was made with.
    """
    key, touched = _run_key(trace), cache.touched or {}
    manifest = {entry: digest for entry, digest in touched.items() if kind_of(entry) not in NOT_IN_MANIFESTS}
    if manifest != recording.manifest_in(cache.get_json(key)):
        cache.put_json(key, manifest, paid=True)


def export(
    path: str | Path, run: Run | Sequence[Run] | None = None, *, images: bool = False, cache: Cache | None = None
) -> Counter[str]:
    """Pack the cache entries that one or several runs need into one file.

    Args:
        path: The file to write.
        run: A run or several, each as its result, its trace or a saved file. Without one,
            everything but images is packed.
        images: Whether to pack the images that the runs showed, if the cache holds them; without a
            run, all images.
        cache: The cache that the runs were made with.

    Returns:
        The number of packed entries by kind.

    Raises:
        InputError: If a file is neither a result nor a trace.
        CacheError: If the cache lacks an entry that a run needs, or the file cannot be written.
    """
    cache = cache or default_cache()
    if run is None:
        keys, renewed = _all_keys(cache, images), dict[str, bytes]()
    else:
        keys, renewed = _keys_of_runs([run] if isinstance(run, Result | Trace | str | Path) else run, cache, images)
    packed: Counter[str] = Counter()

    def entries() -> Iterator[tuple[str, bytes]]:
        for key in sorted({*keys, *renewed}):
            if (value := renewed.get(key) or cache.get(key)) is not None:
                packed[kind_of(key)] += 1
                yield key, value

    recording.write(path, entries())
    return packed


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
    """
    cache = cache or default_cache()
    with recording.opened(path) as file:
        for _ in recording.checked_entries(file, path):
            pass
        return _merge(recording.checked_entries(file, path), cache)


def _merge(entries: Iterator[tuple[str, bytes]], cache: Cache) -> Counter[str]:
    merged: Counter[str] = Counter()
    for key, value in entries:
        present = cache.get(key)
        if present is None or (kind_of(key) == "asked" and present != value):
            cache.put(key, value, paid=kind_of(key) not in IMAGES)
            merged[kind_of(key)] += 1
    return merged


def _all_keys(cache: Cache, images: bool) -> set[str]:
    """Return the keys of all current entries that a recording can hold."""
    left_out = {"served", "habits", "timing", *(() if images else IMAGES)}  # what belongs to this machine
    keys = (entry.key for entry in cache.entries() if kind_of(entry.key) not in left_out)
    return {key for key in keys if recording.is_key(key) and not is_outdated(key)}


def _keys_of_runs(runs: Sequence[Run], cache: Cache, images: bool) -> tuple[set[str], dict[str, bytes]]:
    """Return the keys that runs need, and the entries whose bytes in the cache are replaced."""
    keys, renewed = set[str](), dict[str, bytes]()
    for trace in map(trace_of, runs):
        needed = _needed_keys(trace, cache)
        renewed |= _asked_entry(trace, needed, cache)
        keys |= needed | (_image_keys(trace) if images else set())
    return keys, renewed


def _needed_keys(trace: Trace, cache: Cache) -> set[str]:
    """Return the keys that a run needs; raise CacheError if an entry is missing or has changed."""
    key = _run_key(trace)
    manifest = recording.manifest_in(cache.get_json(key))
    if manifest is None:
        raise CacheError(f"{cache} does not know this run; export it from the cache that it was made with.")
    missing = Counter(kind_of(entry) for entry, digest in manifest.items() if cache.digest(entry) != digest)
    if missing:
        counts = ", ".join(f"{count} of kind {kind!r}" for kind, count in sorted(missing.items()))
        raise CacheError(f"{cache} no longer holds all entries that this run needs ({counts}); run it again.")
    return {key, *manifest}


def _asked_entry(trace: Trace, keys: set[str], cache: Cache) -> dict[str, bytes]:
    """Return the entry with this run's subtitles of the video; a later run may have used others."""
    video = trace.of("start")[0]["settings"].get("video")
    tracks = [parse_lines(cache.get(key) or b"") for key in keys if kind_of(key) == "lines"]
    return {asked_key(video): canonical_json(track.fingerprint).encode() for track in tracks if track is not None}


def _image_keys(trace: Trace) -> set[str]:
    """Return the keys of the images that a run showed."""
    recorded = ((event.data or {}).get(name) for event in trace for name in ("view", "shown", "sheet"))
    return {str(image["key"]) for image in recorded if image}


def _run_key(trace: Trace) -> str:
    starts = trace.of("start")
    if len(starts) != 1:
        raise InputError(f"The trace of a run must have exactly one start; this one has {len(starts)}.")
    return run_key(trace.to_json())
