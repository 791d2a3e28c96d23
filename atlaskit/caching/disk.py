"""`Store`: the entries of a cache on disk, in one table of SQLite and in files beside it (`Rows`).

diskcache stores rows in SQLite, and values of 32 kB and more in files beside the database, for many
threads and processes of one host. Only this module imports diskcache. `Rows` refuses pickles before
they are loaded (CVE-2025-69872), evicts nothing, and reads and deletes only files that diskcache
itself names.

`Store` turns every failure of SQLite and the file system into one sentence, and detects a database
that was deleted while in use. This module does not interpret the bytes.
"""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import diskcache
from diskcache.core import DBNAME, DEFAULT_SETTINGS, METADATA, MODE_BINARY, MODE_RAW

from atlaskit.caching.folder import ANOTHER, DATABASE, check_not_forked, open_folder
from atlaskit.errors import CacheError, InputError, reason

assert DBNAME == DATABASE, "diskcache names its database otherwise, so no cache would be found"
Busy = diskcache.Timeout
"""Raised when another program holds the database for too long, or the database is read-only."""
FILE = re.compile(r"[0-9a-f]{2}/[0-9a-f]{2}/[0-9a-f]{28}\.val")
"""Path of a value's file, relative to the folder."""
FIND = "SELECT mode, filename, value FROM Cache WHERE key = ? AND raw = 1"
"""SQL for the value of a key. In diskcache, `raw = 1` marks a key that is not a pickle."""
SCHEMA = {
    *(("table", name) for name in ("Settings", "Cache", "Lost")),
    *(("trigger", f"Settings_{name}") for name in ("count_insert", "count_delete")),
    *(("trigger", f"Settings_size_{name}") for name in ("insert", "update", "delete")),
    *(
        ("index", f"Cache_{name}")
        for name in ("key_raw", "expire_time", "store_time", "access_time")
    ),
    *(("index", f"sqlite_autoindex_{name}_1") for name in ("Settings", "Lost", "Cache")),
}
"""(type, name) of everything that a database of atlaskit may contain. The table Lost is from
earlier versions."""


class Tampered(Exception):
    """A row was not written by atlaskit, or has lost its file; its value was not loaded."""


class Unreadable(Exception):
    """A value's file exists but cannot be read this time."""


class Rows(diskcache.Cache):  # type: ignore[misc]  # diskcache ships no types
    """A diskcache of text keys and bytes that evicts nothing."""

    def __init__(self, folder: Path, *, is_shared: bool) -> None:
        """Open or create the database.

        Args:
            folder: Folder of the database and the files.
            is_shared: Whether the folder lies on a network file system, where neither a write-ahead
                log nor memory mapping works.
        """
        self._read_lock = threading.Lock()
        # Pass all settings: diskcache would take missing ones from the database.
        settings = DEFAULT_SETTINGS | {"cull_limit": 0, "eviction_policy": "none"}
        if is_shared:
            settings |= {"sqlite_journal_mode": "delete", "sqlite_mmap_size": 0}
        super().__init__(str(folder), disk=BytesDisk, **settings)
        path = str(folder / DATABASE)
        self._reader = sqlite3.connect(
            path, timeout=self._timeout, isolation_level=None, check_same_thread=False
        )
        # Read once now: SQLite opens the file at the first read, and later it may be deleted.
        self.find("")

    def query(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Execute an SQL statement; return its rows."""
        return list(self._sql(statement, values).fetchall())

    def find(self, key: str) -> Any:
        """Return the value of a key, None if its row or its file is missing.

        All threads share one connection: each round of a search starts new threads, and diskcache's
        `get` would open a connection for each.

        Raises:
            Tampered: The row was not written by atlaskit.
            Unreadable: The file cannot be read this time.
        """
        with self._read_lock:
            rows = self._reader.execute(FIND, (key,)).fetchall()
        if not rows:
            return None
        with suppress(FileNotFoundError):
            return self._disk.fetch(*rows[0], read=False)
        return None


class BytesDisk(diskcache.Disk):  # type: ignore[misc]  # diskcache ships no types
    """diskcache's values, for text keys and bytes only: a pickle is refused before it is loaded."""

    def put(self, key: object) -> tuple[str, bool]:
        """Return the stored form of a key."""
        if not isinstance(key, str):
            raise InputError(f"A cache key must be text; got {type(key).__name__}.")
        return key, True

    def get(self, key: object, raw: bool) -> object:
        """Return the key from its stored form."""
        if not raw:
            raise Tampered
        return key

    def store(self, value: object, read: bool, key: object = None) -> Any:
        """Write a value; return the columns of its row."""
        if not isinstance(value, bytes):
            raise InputError(f"The cache stores bytes; got {type(value).__name__}.")
        return super().store(value, read, key=key)

    def fetch(self, mode: int, filename: str | None, value: Any, read: bool) -> Any:
        """Return the value of a row."""
        if mode not in (MODE_RAW, MODE_BINARY) or (
            filename is not None and not self._is_own(filename)
        ):
            raise Tampered
        try:
            return super().fetch(mode, filename, value, read)
        except FileNotFoundError:
            raise  # diskcache treats it as a missing entry
        except OSError as error:
            raise Unreadable(reason(error)) from error

    def remove(self, file_path: str) -> None:
        """Delete the file of a row, if it is diskcache's."""
        if self._is_own(file_path):
            super().remove(file_path)

    def _is_own(self, filename: object) -> bool:
        """Return whether a row names a file as diskcache does.

        A tampered row could name any file of the machine.
        """
        if not isinstance(filename, str) or not FILE.fullmatch(filename.replace(os.sep, "/")):
            return False
        with suppress(OSError):
            return stat.S_ISREG((Path(self._directory) / filename).lstat().st_mode)
        return True  # the file does not exist


def check_schema(database: Path) -> None:
    """Raise an error if a database contains anything that atlaskit does not create.

    SQLite runs triggers, and diskcache applies settings, before any row is read.

    Raises:
        CacheError: The database contains an unknown table, trigger, view, index or setting.
    """
    if not database.exists():
        return
    with closing(sqlite3.connect(database)) as connection:
        present = set(connection.execute("SELECT type, name FROM sqlite_master"))
        has_settings = ("table", "Settings") in present
        if has_settings:
            settings = {name for (name,) in connection.execute("SELECT key FROM Settings")}
        else:
            settings = set()
    if not (present <= SCHEMA and settings <= DEFAULT_SETTINGS.keys() | METADATA.keys()):
        raise CacheError(
            f"{database} is another program's, or was tampered with: name another directory."
        )


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
                raise CacheError(
                    f"The cache {self.directory} was deleted while it was in use: open it again."
                )
            self._rows.set(key, value)

    def drop(self, key: str) -> bool:
        """Remove an entry; return whether it existed."""
        with self._cache_errors("written"):
            return bool(self._rows.delete(key))

    def entries(self) -> Iterator[Entry]:
        """Yield all entries. They are read in batches, so that writers never wait for long."""
        last_rowid = 0
        while True:
            with self._cache_errors("read"):
                rows = self._rows.query(
                    f"SELECT rowid, key, CAST(store_time AS REAL), {SIZE} FROM Cache"
                    " WHERE rowid > ? AND raw = 1 ORDER BY rowid LIMIT 1000",
                    (last_rowid,),
                )
            if not rows:
                return
            last_rowid = rows[-1][0]
            yield from (
                Entry(str(key), float(stored_s or 0), int(size or 0))
                for _, key, stored_s, size in rows
            )

    def remove_foreign(self) -> int:
        """Remove orphaned files, and rows with pickled keys, unloaded; return their number."""
        with self._cache_errors("written"), self._rows.transact():
            self._rows.query("DELETE FROM Cache WHERE NOT (raw = 1 AND TYPEOF(key) = 'text')")
            ((count,),) = self._rows.query("SELECT CHANGES()")
            named = {
                name
                for (name,) in self._rows.query(
                    "SELECT filename FROM Cache WHERE filename IS NOT NULL"
                )
            }
        return int(count) + self._remove_orphans(named)

    def _remove_orphans(self, named: set[str]) -> int:
        """Remove old files that no row names; return their number."""
        count = 0
        # `walk` tolerates folders that vanish meanwhile.
        for parent, _, names in os.walk(self.folder):
            for path in (Path(parent) / name for name in names if name.endswith(".val")):
                with suppress(FileNotFoundError):
                    is_old = time.time() - path.stat().st_mtime > ORPHAN_AGE_S
                    if is_old and path.relative_to(self.folder).as_posix() not in named:
                        path.unlink()
                        count += 1
        return count

    @contextmanager
    def _cache_errors(self, done: str) -> Iterator[None]:
        """Raise errors as CacheError; `done` is "opened", "read" or "written"."""
        check_not_forked(self.folder)
        try:
            yield
        except Busy as error:
            raise CacheError(
                f"The cache {self.directory} cannot be {done}: another program holds it, or it is "
                "read-only."
            ) from error
        except sqlite3.Error as error:
            advice = f"free some space, or name another directory ({ANOTHER})."
            if getattr(error, "sqlite_errorname", "") in ("SQLITE_CORRUPT", "SQLITE_NOTADB"):
                advice = (
                    "it is damaged, or no database of atlaskit. Delete it, or name another "
                    f"({ANOTHER})."
                )
            raise CacheError(
                f"The cache {self.directory} cannot be {done} ({error}): {advice}"
            ) from error
        except (OSError, Unreadable) as error:
            raise CacheError(
                f"The cache {self.directory} cannot be {done} ({reason(error)}): name another "
                f"({ANOTHER})."
            ) from error


def _identity(database: Path) -> tuple[int, int]:
    """Return a file's device and inode, which differ if it is replaced; zeros if there is none."""
    try:
        status = database.stat()
    except FileNotFoundError:
        return 0, 0
    return status.st_dev, status.st_ino
