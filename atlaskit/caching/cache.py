"""`Cache`: stores bytes and JSON by key, computes each key once (`remember_all`), verifies entries,
counts losses.

A key is the hash of what an entry is made of (see `keys`), so nothing has to be invalidated. Three
guarantees hold. The cache returns what was stored: an entry carries a hash of its key and content,
and one that does not match is dropped, counted, reported and computed again. When several callers
need one key, exactly one computes it, across threads and processes. Nothing is evicted. This module
knows nothing of grids or models.
"""

from __future__ import annotations

import copy
import hashlib
import os
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from atlaskit.caching.disk import Entry, Store, Tampered
from atlaskit.caching.folder import Forked, default_place
from atlaskit.caching.keys import canonical_json, kind_of, read_json
from atlaskit.caching.locks import KeyLocks, locks_in
from atlaskit.errors import CacheWarning

DIGEST_BYTES = 16
"""Length in bytes of the hash that precedes the content of an entry."""


_counts_lock = threading.Lock()


def _after_fork() -> None:
    """Replace the lock in a forked process: a thread that held it does not exist there."""
    global _counts_lock
    _counts_lock = threading.Lock()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_after_fork)


class Transient(bytes):
    """Bytes that `remember` returns but does not store, since the next call may make others."""


class Cache:
    """Bytes and JSON by key, in a directory or in memory.

    A key starts with the kind of its entry and the version of the code that makes it: `view:2:…`.
    Many threads and processes of one host can use one directory. On a network file system each host
    gets a folder of its own.

    `Cache(None)` keeps its entries in memory for as long as the object exists. If a process opens a
    directory that its parent had open at the fork, the cache is in memory too, with a warning,
    because SQLite does not survive a fork.

    Examples:
        >>> cache = ak.Cache("cache")
        >>> cache.put_json("note", {"seen": True})
        >>> cache.get_json("note")
        {'seen': True}
    """

    def __init__(self, directory: str | Path | None = "auto") -> None:
        """Open the cache.

        Args:
            directory: Where the entries are stored, in a folder private to the user; it is created
                if needed. "auto" is the folder that `ATLASKIT_CACHE` names, or else the folder of
                the project, which notebooks and the command line share; `atlaskit cache` prints
                its path. None means in memory.

        Raises:
            CacheError: The directory cannot be created or written, or belongs to another user or
                program.
        """
        if directory == "auto":
            directory = default_place().directory
        self.directory = None if directory is None else Path(directory).absolute()
        self._store: Store | MemoryStore = MemoryStore()
        if self.directory is not None:
            try:
                self._store = Store(self.directory)
            except Forked as error:
                warnings.warn(
                    f"{error} Until then, this process caches in memory.",
                    CacheWarning,
                    stacklevel=2,
                )
        if isinstance(self._store, Store):
            self._locks = locks_in(self._store.folder)
        else:
            self._locks = KeyLocks(None)
        self._counts: dict[str, Counter[str]] = {
            "hits": Counter(),
            "misses": Counter(),
            "corrupt": Counter(),
        }
        self.touched: dict[str, str] | None = None
        """Digest (hexadecimal) of each key that was used; None except in a cache from `watched`."""
        self.is_refreshing = False
        """Whether runs ask the model again and replace its replies, as in a cache from
        `refreshing`."""

    def watched(self) -> Cache:
        """Return a second object for this cache that records the keys it uses in `touched`."""
        watched = copy.copy(self)
        watched.touched = {}
        return watched

    def refreshing(self) -> Cache:
        """Return a second object for this cache, with which a run asks the model again.

        Each request is made once. The new replies replace those that the cache holds.
        """
        refreshing = copy.copy(self)
        refreshing.is_refreshing = True
        return refreshing

    def get(self, key: str) -> bytes | None:
        """Return the bytes of a key, None if it has no entry.

        A damaged entry is dropped and counted, with a `CacheWarning`, and is None too.

        Raises:
            CacheError: The cache cannot be read.
        """
        value = self._find(key)
        self._count("misses" if value is None else "hits", key)
        return value

    def put(self, key: str, value: bytes) -> None:
        """Store bytes under a key.

        Args:
            key: The key.
            value: The bytes.

        Raises:
            CacheError: The cache cannot be written.
        """
        digest = _digest(key, value)
        self._store.write(key, digest + value)
        if self.touched is not None:
            self.touched[key] = digest.hex()

    def get_json(self, key: str) -> Any | None:
        """Return the JSON value of a key, None if it has no entry or one that is not JSON."""
        try:
            return read_json(self.get(key) or b"null")
        except ValueError:
            return None

    def put_json(self, key: str, value: Any) -> None:
        """Store a value as JSON under a key; see `put`."""
        self.put(key, canonical_json(value).encode())

    def remember(
        self,
        key: str,
        make: Callable[[], bytes],
        *,
        fits: Callable[[bytes], bool] = lambda value: True,
        go_on: Callable[[], bool] = lambda: False,
    ) -> bytes:
        """Return the bytes of a key; if it has no entry, make and store them.

        When several threads or processes need one key, exactly one makes it; the others wait.

        Args:
            key: The key.
            make: Returns the bytes. Nothing is stored if it raises, or returns `Transient` bytes.
            fits: Returns whether stored bytes are valid. Invalid bytes, which a cache from
                elsewhere may hold, are made again.
            go_on: Called while another caller makes the bytes. If it returns True, this caller
                stops waiting and makes them too.

        Raises:
            CacheError: The cache cannot be read or written.
        """
        (value,) = self.remember_all([key], lambda _: [make()], fits=fits, go_on=go_on)
        return value

    def remember_all(
        self,
        keys: Sequence[str],
        make: Callable[[list[int]], Sequence[bytes]],
        *,
        fits: Callable[[bytes], bool] = lambda value: True,
        go_on: Callable[[], bool] = lambda: False,
    ) -> list[bytes]:
        """Return the bytes of several keys; make and store those that are missing.

        Args:
            keys: The keys; duplicates are allowed.
            make: Gets the positions of the missing keys in `keys`; returns their bytes in order.
            fits: See `remember`.
            go_on: See `remember`.

        Raises:
            CacheError: The cache cannot be read or written.
        """
        found: dict[str, bytes] = {}

        def find_missing() -> list[str]:
            """Return the keys without a valid entry; add the other values to `found`."""
            missing = list[str]()
            for key in dict.fromkeys(keys):
                if key in found:
                    continue
                value = self._find(key)
                if value is None or not fits(value):
                    missing.append(key)
                    continue
                found[key] = value
                self._count("hits", key)
            return missing

        missing = find_missing()
        if missing:
            with self._locks.hold(missing, go_on):
                missing = find_missing()  # another caller may have made some of them
                for key in missing:
                    self._count("misses", key)
                values: Sequence[bytes] = []
                if missing:
                    values = make([keys.index(key) for key in missing])
                for key, value in zip(missing, values, strict=True):
                    found[key] = value
                    if not isinstance(value, Transient):
                        self.put(key, value)
        return [found[key] for key in keys]

    def stats(self) -> dict[str, dict[str, int]]:
        """Return statistics by kind of entry; `pd.DataFrame(cache.stats()).T` is their table.

        Returns:
            For each kind: the number of `entries`, their `bytes`, and how many `hits`, `misses`
            and `corrupt` entries this object has met.
        """
        totals = totals_by_kind(self._store.entries())
        with _counts_lock:
            counts = {name: dict(counter) for name, counter in self._counts.items()}
        kinds = set(totals)
        for counter in counts.values():
            kinds.update(counter)
        by_kind = dict[str, dict[str, int]]()
        for kind in sorted(kinds):
            entries, size = totals.get(kind, (0, 0))
            by_kind[kind] = {"entries": entries, "bytes": size}
            for name, counter in counts.items():
                by_kind[kind][name] = counter.get(kind, 0)
        return by_kind

    def entries(self) -> Iterator[Entry]:
        """Yield the key, the time of storage and the size of each entry."""
        return self._store.entries()

    def verify(self) -> dict[str, int]:
        """Read every entry; drop damaged ones, and files that processes left when they died.

        Returns:
            Number of dropped entries by kind. The kind "" counts rows and files that are no
            entries.
        """
        dropped: Counter[str] = Counter({"": self._store.remove_foreign()})
        for entry in self._store.entries():
            if self._find(entry.key) is None:
                dropped[kind_of(entry.key)] += 1
        return {kind: count for kind, count in dropped.items() if count}

    def prune(
        self,
        *,
        is_wanted: Callable[[str], bool] = lambda key: False,
        kinds: Collection[str] | None = None,
        older_than_s: float = 0.0,
        to_bytes: int | None = None,
    ) -> dict[str, tuple[int, int]]:
        """Remove entries, oldest first.

        Args:
            is_wanted: Returns whether the entry of a key is needed and must stay.
            kinds: Kinds of entries to remove; None means all.
            older_than_s: Minimum age of an entry to remove, in seconds.
            to_bytes: Stop when the remaining entries take no more than this; None means no stop.

        Returns:
            Number of removed entries and their bytes, by kind.
        """
        removed: list[Entry] = []
        before_s = time.time() - older_than_s
        entries = sorted(self._store.entries(), key=lambda entry: entry.stored_s)
        left = sum(entry.size for entry in entries)
        for entry in entries:
            if to_bytes is not None and left <= to_bytes:
                break
            is_of_kind = kinds is None or kind_of(entry.key) in kinds
            is_old = entry.stored_s <= before_s
            if not is_of_kind or not is_old or is_wanted(entry.key):
                continue
            if self._store.drop(entry.key):  # another process may have dropped the entry
                removed.append(entry)
                left -= entry.size
        return totals_by_kind(removed)

    def __repr__(self) -> str:
        if self.directory is None:
            return "Cache(None)"
        return f"Cache({str(self.directory)!r})"

    def digest(self, key: str) -> str | None:
        """Return the digest (hexadecimal) of a key's entry, None if there is none.

        This counts neither as a hit nor as a miss.
        """
        value = self._find(key)
        if value is None:
            return None
        return _digest(key, value).hex()

    def _find(self, key: str) -> bytes | None:
        """Return the bytes of a key without counting a hit or miss; drop a damaged entry."""
        try:
            entry = self._store.read(key)
            if entry is None:
                return None
            value = entry[DIGEST_BYTES:]
            if entry[:DIGEST_BYTES] == _digest(key, value):
                if self.touched is not None:
                    self.touched[key] = entry[:DIGEST_BYTES].hex()
                return value
            damage = "is damaged"
        except Tampered:
            damage = (
                "was not written by atlaskit (a pickle?) or has lost its file, and is never loaded"
            )
        self._store.drop(key)
        self._count("corrupt", key)
        warnings.warn(
            f"An entry of kind {kind_of(key)!r} in the cache {self.directory} {damage}: it was "
            "dropped, and is made again when it is needed. `python -m atlaskit cache verify` "
            "checks all entries.",
            CacheWarning,
            stacklevel=3,
        )
        return None

    def _count(self, name: str, key: str) -> None:
        with _counts_lock:
            self._counts[name][kind_of(key)] += 1


def default_cache() -> Cache:
    """Return the cache that is used if the caller gives none: see `default_place`."""
    return _open_once(str(default_place().directory.absolute()))


@lru_cache(maxsize=8)
def _open_once(directory: str) -> Cache:
    return Cache(directory)


def _digest(key: str, value: bytes) -> bytes:
    """Return the hash of a key and its value: an entry under another key does not match it."""
    return hashlib.blake2b(
        value, digest_size=DIGEST_BYTES, key=hashlib.sha256(key.encode()).digest()
    ).digest()


class MemoryStore:
    """Bytes by key in memory; the methods are those of `disk.Store`."""

    def __init__(self) -> None:
        self._values: dict[str, tuple[bytes, float]] = {}

    def read(self, key: str) -> bytes | None:
        """Return the bytes of a key, None if it has no entry."""
        return self._values.get(key, (None, 0.0))[0]

    def write(self, key: str, value: bytes) -> None:
        """Store bytes under a key."""
        self._values[key] = (value, time.time())

    def drop(self, key: str) -> bool:
        """Remove an entry; return whether it existed."""
        return self._values.pop(key, None) is not None

    def entries(self) -> Iterator[Entry]:
        """Yield all entries."""
        for key, (value, stored_s) in list(self._values.items()):
            yield Entry(key, stored_s, len(value))

    def remove_foreign(self) -> int:
        """Return 0: memory holds only entries."""
        return 0


def totals_by_kind(entries: Iterable[Entry]) -> dict[str, tuple[int, int]]:
    """Return (number of entries, bytes) of each kind."""
    totals: dict[str, tuple[int, int]] = {}
    for entry in entries:
        count, size = totals.get(kind_of(entry.key), (0, 0))
        totals[kind_of(entry.key)] = (count + 1, size + entry.size)
    return totals
