"""`Store`: the entries of a cache on disk; puts every failure of SQLite or the file system into one
sentence.

It turns every failure of SQLite and the file system into one sentence, and detects a database that
was deleted while in use. This module knows nothing of what the bytes mean.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from atlaskit.caching.folder import check_not_forked, open_folder
from atlaskit.caching.rows import DATABASE, Busy, Rows, Tampered, Unreadable, check_schema
from atlaskit.errors import CacheError, reason

ORPHAN_AGE_S = 3600.0
"""Age in seconds at which a file without a row is removed: the process that wrote it has died."""
SIZE = "CAST(size AS INT) + COALESCE(LENGTH(value), 0)"
"""SQL for the size of an entry in bytes, in its file or in its row."""


class Entry(NamedTuple):
    """An entry without its value."""

    key: str
    stored_s: float
    """When it was stored, in seconds since 1970."""
    size: int
    """Size in bytes."""


class Store:
    """Bytes by key in a directory, for many threads and processes of one host."""

    def __init__(self, directory: Path) -> None:
        """Open or create the store.

        Args:
            directory: Directory of the cache.

        Raises:
            CacheError: The directory cannot be used, or belongs to another user or program.
        """
        self.directory = directory
        self.folder = directory
        with self._cache_errors("opened"):
            self.folder, is_shared = open_folder(directory, DATABASE)
            self._database = self.folder / DATABASE
            check_schema(self._database)
            self._rows = Rows(self.folder, is_shared=is_shared)
            self._identity = _identity(self._database)

    def read(self, key: str) -> bytes | None:
        """Return the bytes of a key, None if it has no entry.

        Raises:
            Tampered: The row was not written by atlaskit, or has lost its file.
            CacheError: The store cannot be read.
        """
        with self._cache_errors("read"):
            value = self._rows.find(key)
            if value is None:
                if not self._rows.query("SELECT 1 FROM Cache WHERE key = ? AND raw = 1", (key,)):
                    return None
                # The row exists, but its file did not: another writer may have just replaced both.
                with self._rows.transact():  # no other writer from here on
                    value = self._rows.find(key)
        if not isinstance(value, bytes):
            raise Tampered
        return value

    def write(self, key: str, value: bytes) -> None:
        """Store bytes under a key.

        Raises:
            CacheError: The store cannot be written, or was deleted while in use.
        """
        with self._cache_errors("written"):
            if _identity(self._database) != self._identity:
                raise CacheError(f"The cache {self.directory} was deleted while it was in use: open it again.")
            self._rows.set(key, value)

    def drop(self, key: str) -> bool:
        """Remove an entry; return whether it existed."""
        with self._cache_errors("written"):
            return bool(self._rows.delete(key))

    def entries(self) -> Iterator[Entry]:
        """Yield all entries. They are read in batches, so that writers never wait for long."""
        last = 0
        while True:
            with self._cache_errors("read"):
                rows = self._rows.query(
                    f"SELECT rowid, key, CAST(store_time AS REAL), {SIZE} FROM Cache"
                    " WHERE rowid > ? AND raw = 1 ORDER BY rowid LIMIT 1000",
                    (last,),
                )
            if not rows:
                return
            last = rows[-1][0]
            yield from (Entry(str(key), float(stored_s or 0), int(size or 0)) for _, key, stored_s, size in rows)

    def remove_foreign(self) -> int:
        """Remove rows whose keys are pickles, unloaded, and orphaned files; return their number."""
        with self._cache_errors("written"), self._rows.transact():
            self._rows.query("DELETE FROM Cache WHERE NOT (raw = 1 AND TYPEOF(key) = 'text')")
            ((count,),) = self._rows.query("SELECT CHANGES()")
            named = {name for (name,) in self._rows.query("SELECT filename FROM Cache WHERE filename IS NOT NULL")}
        return int(count) + self._remove_orphans(named)

    def _remove_orphans(self, named: set[str]) -> int:
        """Remove old files that no row names; return their number."""
        count = 0
        for parent, _, names in os.walk(self.folder):  # `walk` tolerates folders that vanish meanwhile
            for path in (Path(parent) / name for name in names if name.endswith(".val")):
                with suppress(FileNotFoundError):
                    is_old = time.time() - path.stat().st_mtime > ORPHAN_AGE_S
                    if is_old and path.relative_to(self.folder).as_posix() not in named:
                        path.unlink()
                        count += 1
        return count

    @contextmanager
    def _cache_errors(self, done: str) -> Iterator[None]:
        """Turn errors into a CacheError; `done` is "opened", "read" or "written"."""
        check_not_forked(self.folder)
        try:
            yield
        except Busy as error:
            raise CacheError(
                f"The cache {self.directory} cannot be {done}: another program holds it, or it is read-only."
            ) from error
        except sqlite3.Error as error:
            advice = "free some space, or name another directory with Cache(directory)."
            if getattr(error, "sqlite_errorname", "") in ("SQLITE_CORRUPT", "SQLITE_NOTADB"):
                advice = "it is damaged, or no database of atlaskit. Delete it, or name another with Cache(directory)."
            raise CacheError(f"The cache {self.directory} cannot be {done} ({error}): {advice}") from error
        except (OSError, Unreadable) as error:
            raise CacheError(
                f"The cache {self.directory} cannot be {done} ({reason(error)}): name another with Cache(directory)."
            ) from error


def _identity(database: Path) -> tuple[int, int]:
    """Return device and inode of a file, which differ for its replacement; zeros without a file."""
    try:
        status = database.stat()
    except FileNotFoundError:
        return 0, 0
    return status.st_dev, status.st_ino
