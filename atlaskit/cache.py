"""A content-addressed store on disk: bytes and JSON by key. Knows nothing of grids or models.

Built on diskcache (SQLite and files, safe with many threads and processes of one host), with three changes that make
a stranger's cache safe to open and its own entries safe to trust:

* nothing is pickled, neither on writing nor on reading (diskcache's CVE-2025-69872);
* an entry carries the hash of its key and content, and one that does not match is dropped and counted as a miss;
* nothing is evicted: what was paid for stays until the user deletes it.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import diskcache
from diskcache.core import MODE_BINARY, MODE_RAW

from atlaskit.errors import CacheError

DIGEST_BYTES = 16
LOOK_S = 0.2
"""How long at most nobody looks whether a key is still waited for."""


class _RawDisk(diskcache.Disk):  # type: ignore[misc]  # diskcache ships no types
    """diskcache's files and rows, but only for text keys and bytes: a pickle is refused before it is loaded."""

    def put(self, key: object) -> tuple[str, bool]:
        if not isinstance(key, str):
            raise CacheError(f"A cache key is text, got {type(key).__name__}.")
        return key, True

    def get(self, key: object, raw: bool) -> object:
        if not raw:
            raise CacheError("The cache holds a pickled key, which is never loaded: delete the cache directory.")
        return key

    def store(self, value: object, read: bool, key: object = None) -> Any:
        if not isinstance(value, bytes):
            raise CacheError(f"The cache stores bytes, got {type(value).__name__}.")
        return super().store(value, read, key=key)

    def fetch(self, mode: int, filename: str | None, value: Any, read: bool) -> Any:
        if mode not in (MODE_RAW, MODE_BINARY):
            raise CacheError(
                "The cache holds a value that is not raw bytes (a pickle?), which is never loaded: delete it."
            )
        if filename is not None:
            self._inside(filename)
        return super().fetch(mode, filename, value, read)

    def remove(self, file_path: str) -> None:
        self._inside(file_path)
        super().remove(file_path)

    def _inside(self, filename: str) -> None:
        """Refuse a row whose file lies elsewhere: a tampered row could otherwise read or delete any file."""
        directory = Path(self._directory).resolve()
        if not (directory / filename).resolve().is_relative_to(directory):
            raise CacheError(f"The cache names a file outside its directory ({filename}): delete the cache directory.")


class Cache:
    """Bytes and JSON by key, kept in `directory` (made if it is not there, private to the user).

    A key begins with the kind of its entry (`view:…`, `reply:…`), by which `stats` counts.
    """

    def __init__(self, directory: str | Path = "cache") -> None:
        """Open the store; raise CacheError where the directory cannot be made or written."""
        self.directory = Path(directory).absolute()
        self._hits: Counter[str] = Counter()
        self._misses: Counter[str] = Counter()
        self._corrupt: Counter[str] = Counter()
        self._guard = threading.Lock()
        self._flights: dict[str, tuple[threading.Lock, int]] = {}
        self._process = os.getpid()
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._store = diskcache.Cache(
                str(self.directory), disk=_RawDisk, eviction_policy="none", cull_limit=0, statistics=0
            )
            self._store.set("probe:write", b"")
        except (OSError, sqlite3.Error) as error:
            raise CacheError(
                f"The cache directory {self.directory} cannot be written ({error}): name another with Cache(directory)."
            ) from error

    def get(self, key: str) -> bytes | None:
        """Return the bytes under a key, or None. An entry that was damaged is dropped, counted, and is None."""
        try:
            entry = self._store.get(key, retry=True)
        except (OSError, sqlite3.Error) as error:
            raise CacheError(
                f"The cache {self.directory} cannot be read ({error}): delete it, or name another."
            ) from error
        kind = key.partition(":")[0]
        if entry is not None and not _is_whole(key, entry):
            self._store.delete(key, retry=True)
            self._count(self._corrupt, kind)
            entry = None
        self._count(self._misses if entry is None else self._hits, kind)
        return None if entry is None else bytes(entry[DIGEST_BYTES:])

    def put(self, key: str, value: bytes) -> None:
        """Store bytes under a key; raise CacheError where they cannot be written."""
        try:
            self._store.set(key, _digest(key, value) + value, retry=True)
        except (OSError, sqlite3.Error) as error:
            raise CacheError(f"The cache {self.directory} cannot be written: {error}.") from error

    def get_json(self, key: str) -> Any | None:
        """Return the JSON value under a key, or None."""
        entry = self.get(key)
        return None if entry is None else json.loads(entry)

    def put_json(self, key: str, value: Any) -> None:
        """Store a JSON value under a key."""
        self.put(key, canonical_json(value).encode())

    def remember(self, key: str, make: Callable[[], bytes]) -> bytes:
        """Return the bytes under a key, made and stored first if they are not there.

        Threads that miss one key together make it once; a `make` that raises stores nothing.
        """
        with self.alone(key):
            value = self.get(key)
            if value is None:
                value = make()
                self.put(key, value)
            return value

    @contextmanager
    def alone(self, key: str, go_on: Callable[[], bool] = lambda: False) -> Iterator[None]:
        """Hold the key against the other threads of this process, or go on beside them when that is called for."""
        if self._process != os.getpid():  # forked: whoever held a lock is not here to let go of it
            self._guard, self._flights, self._process = threading.Lock(), {}, os.getpid()
        with self._guard:
            lock, users = self._flights.get(key, (threading.Lock(), 0))
            self._flights[key] = (lock, users + 1)
        is_alone = False
        try:
            is_alone = lock.acquire(blocking=False)
            while not is_alone and not go_on():
                is_alone = lock.acquire(timeout=LOOK_S)
            yield
        finally:
            if is_alone:
                lock.release()
            with self._guard:
                lock, users = self._flights[key]
                if users == 1:
                    del self._flights[key]
                else:
                    self._flights[key] = (lock, users - 1)

    def stats(self) -> dict[str, dict[str, int]]:
        """Return hits, misses and corrupt entries of this process by kind of entry."""
        with self._guard:
            kinds = sorted({*self._hits, *self._misses})
            return {
                kind: {
                    "hits": self._hits[kind],
                    "misses": self._misses[kind],
                    "corrupt": self._corrupt[kind],
                }
                for kind in kinds
            }

    def __repr__(self) -> str:
        return f"Cache({str(self.directory)!r})"

    def _count(self, counter: Counter[str], kind: str) -> None:
        with self._guard:
            counter[kind] += 1


def default_cache() -> Cache:
    """Return the cache in `./cache`, which everything uses that is not given another."""
    return _open_once(str(Path("cache").absolute()))


@lru_cache(maxsize=8)
def _open_once(directory: str) -> Cache:
    return Cache(directory)


def recipe_key(kind: str, version: int, **parts: Any) -> str:
    """Return the key of something made by a recipe: `kind:` and the hash of all it is made of.

    `version` is that of the code which makes it, so that a change of the code never serves what the old code made.
    """
    recipe = canonical_json({"kind": kind, "version": version, **parts})
    return f"{kind}:{hashlib.sha256(recipe.encode()).hexdigest()}"


def canonical_json(value: Any) -> str:
    """Return a value as JSON in its one canonical form: sorted names, no blanks, text as it is, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _is_whole(key: str, entry: object) -> bool:
    return isinstance(entry, bytes) and entry[:DIGEST_BYTES] == _digest(key, entry[DIGEST_BYTES:])


def _digest(key: str, value: bytes) -> bytes:
    return hashlib.blake2b(value, digest_size=DIGEST_BYTES, key=hashlib.sha256(key.encode()).digest()).digest()
