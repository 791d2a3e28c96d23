"""A content-addressed cache: bytes and JSON by key, on disk or in memory. Knows nothing of grids or models.

A key is the hash of what a thing is made of (`recipe_key`), so nobody ever has to say what is out of date. Three things
can be relied on: what comes out is what was put in (an entry carries the hash of its key and content; one that does not
match is dropped, counted, told, and made again); what several want at once is made once, across threads and processes;
nothing is evicted unless a limit was set, and then it is counted and told.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import threading
import time
import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from atlaskit.caching.disk import Entry, Forked, Policy, Store, Tampered, kind_of
from atlaskit.caching.locks import KeyLocks, flights_in
from atlaskit.errors import CacheWarning, InputError

DIGEST_BYTES = 16


_counting = threading.Lock()


def _after_fork() -> None:
    global _counting
    _counting = threading.Lock()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_after_fork)


class Transient(bytes):
    """Bytes that are given to whoever waits for them and are not kept: made again, they may come out otherwise."""


class Cache:
    """Bytes and JSON by key, kept in `directory` (made if it is not there), in a folder private to the user.

    A key begins with the kind of its entry and the version of the code that makes it (`view:2:…`).

    Nothing is evicted, unless `size_limit` (bytes) is set: then entries go by `policy`, those that were paid for
    (replies, and what little it takes to replay them) last. "least-recently-stored" is the quicker one;
    "least-recently-used" makes each read a write.

    Safe with many threads and processes of one host. On a network file system each host has a folder of its own.
    `Cache(None)` keeps everything in memory, and is gone with it; so does, with a warning, one that is opened in a
    forked process for a directory which was open before, since SQLite cannot be forked.
    """

    def __init__(
        self,
        directory: str | Path | None = "cache",
        *,
        size_limit: int | None = None,
        policy: Policy = "least-recently-stored",
    ) -> None:
        """Open the cache; raise CacheError where the directory cannot be made or written, or is not the user's."""
        self.directory = None if directory is None else Path(directory).absolute()
        if directory is None and size_limit is not None:
            raise InputError("A cache in memory has no limit: leave size_limit out, or name a directory.")
        self._store: Store | _Memory = _Memory()
        if self.directory is not None:
            try:
                self._store = Store(self.directory, size_limit, policy)
            except Forked as error:
                warnings.warn(f"{error} Until then, what it needs is kept in memory.", CacheWarning, stacklevel=2)
        self._flights = flights_in(self._store.folder) if isinstance(self._store, Store) else KeyLocks(None)
        self._counts: dict[str, Counter[str]] = {"hits": Counter(), "misses": Counter()}
        self.touched: dict[str, str] | None = None
        """What was found or stored through this cache, where that is watched (see `watched`): keys and digests."""
        _opened_last[:] = [weakref.ref(self)]

    def watched(self) -> Cache:
        """Return this cache as seen by one who notes in `touched` what is found or stored through it."""
        seen = copy.copy(self)
        seen.touched = {}
        return seen

    def get(self, key: str) -> bytes | None:
        """Return the bytes under a key, or None. A damaged entry is dropped, counted, told of, and is None."""
        value = self._look(key)
        self._count("misses" if value is None else "hits", key)
        return value

    def put(self, key: str, value: bytes, *, paid: bool = False) -> None:
        """Store bytes under a key; raise CacheError where they cannot be written. What was paid for is evicted last."""
        digest = _digest(key, value)
        self._store.write(key, digest + value, paid)
        if self.touched is not None:
            self.touched[key] = digest.hex()

    def get_json(self, key: str) -> Any | None:
        """Return the JSON value under a key, or None; also where a stranger's cache holds what is no JSON."""
        entry = self.get(key)
        try:
            return None if entry is None else json.loads(entry)
        except (ValueError, RecursionError):
            return None

    def put_json(self, key: str, value: Any, *, paid: bool = False) -> None:
        """Store a JSON value under a key."""
        self.put(key, canonical_json(value).encode(), paid=paid)

    def remember(
        self,
        key: str,
        make: Callable[[], bytes],
        *,
        fits: Callable[[bytes], bool] = lambda value: True,
        go_on: Callable[[], bool] = lambda: False,
        paid: bool = False,
    ) -> bytes:
        """Return the bytes under a key; where there are none, make and store them.

        Of threads and processes that miss a key together, one makes it and the others wait, unless `go_on` tells one
        of them not to. What is there and does not fit, as in a stranger's cache, is made again. A `make` that raises,
        or returns `Transient` bytes, stores nothing.
        """
        (value,) = self.remember_all([key], lambda _: [make()], fits=fits, go_on=go_on, paid=paid)
        return value

    def remember_all(
        self,
        keys: Sequence[str],
        make: Callable[[list[int]], Sequence[bytes]],
        *,
        fits: Callable[[bytes], bool] = lambda value: True,
        go_on: Callable[[], bool] = lambda: False,
        paid: bool = False,
    ) -> list[bytes]:
        """Return the bytes under some keys; `make` returns those of the places it is given, in order."""
        found: dict[str, bytes] = {}

        def look() -> list[str]:
            """Find what is there; return the keys of the rest."""
            for key in dict.fromkeys(keys):
                if key not in found and (value := self._look(key)) is not None and fits(value):
                    found[key] = value
                    self._count("hits", key)
            return [key for key in dict.fromkeys(keys) if key not in found]

        missing = look()
        if missing:
            with self._flights.alone(missing, go_on):
                missing = look()  # another may have made it
                for key in missing:
                    self._count("misses", key)
                made = make([keys.index(key) for key in missing]) if missing else []
                for key, value in zip(missing, made, strict=True):
                    found[key] = value
                    if not isinstance(value, Transient):
                        self.put(key, value, paid=paid)
        return [found[key] for key in keys]

    def stats(self) -> dict[str, dict[str, int]]:
        """Return for each kind of entry: how many there are and their bytes; hits and misses of this `Cache`; and how
        many were found corrupt or were evicted since the cache was made, by any process.

        As a table: `pd.DataFrame(cache.stats()).T`.
        """
        held, lost = self._store.by_kind(), self._store.lost()
        with _counting:
            counts = {name: dict(counter) for name, counter in self._counts.items()}
        kinds = sorted({*held, *counts["hits"], *counts["misses"], *(kind for kind, _ in lost)})
        return {
            kind: {
                "entries": held.get(kind, (0, 0))[0],
                "bytes": held.get(kind, (0, 0))[1],
                "hits": counts["hits"].get(kind, 0),
                "misses": counts["misses"].get(kind, 0),
                "corrupt": lost.get((kind, "corrupt"), 0),
                "evicted": lost.get((kind, "evicted"), 0),
            }
            for kind in kinds
        }

    def entries(self) -> Iterator[Entry]:
        """Yield the key, time and size of each entry."""
        return self._store.entries()

    def verify(self) -> dict[str, int]:
        """Read every entry; drop what is damaged, and what was left behind by processes that died.

        Returns how many entries of each kind were dropped; "" stands for what was no entry at all.
        """
        dropped: Counter[str] = Counter({"": self._store.strangers()})
        for entry in self._store.entries():
            if self._look(entry.key) is None:
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
        """Remove, oldest first, what is not wanted, of some kinds (all, if none are named), written some seconds ago.

        With `to_bytes`, only until no more than that is left. Returns (entries, bytes) of each kind.
        """
        removed: list[Entry] = []
        before_s, there = time.time() - older_than_s, sorted(self._store.entries(), key=lambda entry: entry.stored_s)
        left = sum(entry.size for entry in there)
        for entry in there:
            if to_bytes is not None and left <= to_bytes:
                break
            is_named = kinds is None or kind_of(entry.key) in kinds
            is_meant = is_named and entry.stored_s <= before_s and not is_wanted(entry.key)
            if is_meant and self._store.drop(entry.key):
                removed.append(entry)
                left -= entry.size
        return _tally(removed)

    def __repr__(self) -> str:
        return "Cache(None)" if self.directory is None else f"Cache({str(self.directory)!r})"

    def digest(self, key: str) -> str | None:
        """Return the hash of what is under a key, None where there is nothing. It is not counted."""
        value = self._look(key)
        return None if value is None else _digest(key, value).hex()

    def _look(self, key: str) -> bytes | None:
        """Return the bytes under a key, or None, uncounted; drop what is damaged."""
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
            damage = "is none of ours (a pickle?) or has lost its file, and is never loaded"
        self._store.drop(key, "corrupt")
        warnings.warn(
            f"An entry of kind {kind_of(key)!r} in the cache {self.directory} {damage}: it was dropped, and is made "
            f"again when it is needed. `python -m atlaskit cache verify` looks through all of them.",
            CacheWarning,
            stacklevel=3,
        )
        return None

    def _count(self, name: str, key: str) -> None:
        with _counting:
            self._counts[name][kind_of(key)] += 1


class _Memory:
    """What `Store` does, in memory and without a limit."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[bytes, float]] = {}

    def read(self, key: str) -> bytes | None:
        return self._held.get(key, (None, 0.0))[0]

    def write(self, key: str, value: bytes, paid: bool) -> None:
        self._held[key] = (value, time.time())

    def drop(self, key: str, why: str = "") -> bool:
        return self._held.pop(key, None) is not None

    def entries(self) -> Iterator[Entry]:
        yield from [Entry(key, stored_s, len(value)) for key, (value, stored_s) in list(self._held.items())]

    def strangers(self) -> int:
        return 0

    def by_kind(self) -> dict[str, tuple[int, int]]:
        return _tally(self.entries())

    def lost(self) -> dict[tuple[str, str], int]:
        return {}


def _tally(entries: Iterable[Entry]) -> dict[str, tuple[int, int]]:
    """Return (entries, bytes) of each kind."""
    kinds: dict[str, tuple[int, int]] = {}
    for entry in entries:
        count, size = kinds.get(kind_of(entry.key), (0, 0))
        kinds[kind_of(entry.key)] = (count + 1, size + entry.size)
    return kinds


_opened_last: list[weakref.ref[Cache]] = []


def cache_in_use() -> Cache:
    """Return the cache that was opened last, `./cache` where none is open: for what is only looked at, and is given
    none. So to look at a thing makes no folder beside the one that its user has."""
    return (_opened_last[0]() if _opened_last else None) or default_cache()


def default_cache() -> Cache:
    """Return the cache in `./cache`, which everything uses that is not given another."""
    return _open_once(str(Path("cache").absolute()))


@lru_cache(maxsize=8)
def _open_once(directory: str) -> Cache:
    return Cache(directory)


def recipe_key(kind: str, version: int, **parts: Any) -> str:
    """Return the key of something made by a recipe: its kind, the version of the code that makes it, and the hash of
    all that it is made of.

    With the version in it, what an older code made is never served.
    """
    recipe = canonical_json({"kind": kind, "version": version, **parts})
    return f"{kind}:{version}:{hashlib.sha256(recipe.encode()).hexdigest()}"


def canonical_json(value: Any) -> str:
    """Return a value as JSON in its one canonical form: sorted names, no blanks, text as it is, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _digest(key: str, value: bytes) -> bytes:
    return hashlib.blake2b(value, digest_size=DIGEST_BYTES, key=hashlib.sha256(key.encode()).digest()).digest()
