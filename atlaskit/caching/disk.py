"""diskcache, made safe to open and to trust: text keys and bytes only, no pickles, no file but its own, no silent loss.

diskcache keeps its rows in SQLite and what is larger than 32 kB in files beside it, for many threads and processes of
one host. What is changed here: nothing is pickled or unpickled (CVE-2025-69872), a row that was tampered with is told
from one that is not there, and what is evicted is counted. Knows nothing of what the bytes mean.
"""

from __future__ import annotations

import os
import platform
import re
import sqlite3
import stat
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import diskcache
from diskcache.core import DBNAME, DEFAULT_SETTINGS, METADATA, MODE_BINARY, MODE_RAW

from atlaskit.errors import CacheError, CacheWarning, InputError, reason

Policy = Literal["least-recently-stored", "least-recently-used"]
"""Which entries go first where a cache has a limit: those written longest ago, or those read longest ago."""

NETWORK = re.compile(
    r"nfs\d?|cifs|smb\d?|smbfs|afs|9p|ceph|lustre|gpfs|beegfs|glusterfs|wekafs|panfs|ocfs2|gfs2|vboxsf"
    r"|fuse\.(sshfs|s3fs|gcsfuse|juicefs|rclone|glusterfs|ceph.*)"
)
"""Kinds of file systems that several hosts share, on which SQLite cannot keep a database whole."""
LATE_S = 3600.0
"""Seconds after which a file that no row names was left behind by a process that died."""
PAID = "paid"
"""The tag of what was paid for: it is evicted last."""
FILE = re.compile(r"[0-9a-f]{2}/[0-9a-f]{2}/[0-9a-f]{28}\.val")
"""How the files beside the database are called."""
BYTES = "CAST(size AS INT) + COALESCE(LENGTH(value), 0)"
"""What an entry takes, in its file or in its row."""
OURS = {
    *(("table", name) for name in ("Settings", "Cache", "Lost")),
    *(("trigger", f"Settings_{name}") for name in ("count_insert", "count_delete")),
    *(("trigger", f"Settings_size_{name}") for name in ("insert", "update", "delete")),
    *(("index", f"Cache_{name}") for name in ("key_raw", "expire_time", "store_time", "access_time")),
    *(("index", f"sqlite_autoindex_{name}_1") for name in ("Settings", "Lost", "Cache")),
}
"""What there is in a database of ours."""


_opened: set[Path] = set()
_forked: set[Path] = set()
"""Folders that the process had open which this one was forked from."""

if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=lambda: _forked.update(_opened))


class Forked(CacheError):
    """A cache that cannot be used by this process, since it was open when the process was forked."""


class Tampered(Exception):
    """A row that is none of ours; its value was not loaded."""


class Unreadable(Exception):
    """A file of ours that cannot be read just now: not the same as one that is not there."""


class Entry(NamedTuple):
    """A row, without its value."""

    key: str
    stored_s: float
    """When it was written, in seconds since 1970."""
    size: int
    """Bytes that it takes."""


class Store:
    """Bytes by key in a directory, and the counts of what was lost."""

    def __init__(self, directory: Path, size_limit: int | None, policy: Policy) -> None:
        """Open or make it; raise CacheError for a directory that cannot be used, or is another program's."""
        if size_limit is not None and (type(size_limit) is not int or size_limit < 1):
            raise InputError(f"size_limit is a number of bytes, or None for no limit; got {size_limit!r:.80}.")
        if policy not in get_args(Policy):
            raise InputError(f"policy is one of {', '.join(get_args(Policy))}; got {policy!r:.80}.")
        self.directory = directory
        self.folder = directory
        with self._told("opened"):
            self.folder, is_shared = _own_folder(directory)
            _check_is_not_forked(self.folder)
            _opened.add(self.folder)
            self._database = self.folder / DBNAME
            _check_is_ours(self._database)
            self._cache = _Rows(
                str(self.folder),
                disk=_RawDisk,
                limit=size_limit,
                **DEFAULT_SETTINGS  # all of them, since those that a stranger's database holds would count
                | {"cull_limit": 0, "eviction_policy": policy if size_limit else "none"}
                | ({"sqlite_journal_mode": "delete", "sqlite_mmap_size": 0} if is_shared else {}),
            )
            with self._cache.transact():
                self._sql("CREATE TABLE IF NOT EXISTS Lost (kind TEXT, why TEXT, count INTEGER, UNIQUE (kind, why))")
            self._identity = _identity(self._database)

    def read(self, key: str) -> bytes | None:
        """Return the bytes under a key, None if there are none; raise Tampered for what is no bytes of ours."""
        with self._told("read"):
            value = self._cache.found(key)
            if value is None:
                if not self._sql("SELECT 1 FROM Cache WHERE key = ? AND raw = 1", (key,)):
                    return None
                # There is a row, but not its file: another may just have put a new one in its place.
                with self._cache.transact():  # which keeps everyone from doing so
                    value = self._cache.found(key)
        if not isinstance(value, bytes):
            raise Tampered
        return value

    def write(self, key: str, value: bytes, paid: bool) -> None:
        """Store bytes under a key."""
        with self._told("written"):
            if _identity(self._database) != self._identity:
                raise CacheError(f"The cache {self.directory} was deleted while it was in use: open it again.")
            self._cache.set(key, value, tag=PAID if paid else None)
        if self._cache.gone:
            self._tell_of_evicted()

    def drop(self, key: str, why: str = "") -> bool:
        """Remove an entry; tell whether it was there. With a reason, it is counted as lost."""
        with self._told("written"), self._cache.transact():
            if why:
                _lose(self._sql, key, why)
            return bool(self._cache.delete(key))

    def entries(self) -> Iterator[Entry]:
        """Yield what there is, a part at a time, so that nobody waits long for it."""
        last = 0
        while True:
            with self._told("read"):
                rows = self._sql(
                    f"SELECT rowid, key, CAST(store_time AS REAL), {BYTES} FROM Cache"
                    " WHERE rowid > ? AND raw = 1 ORDER BY rowid LIMIT 1000",
                    (last,),
                )
            if not rows:
                return
            last = rows[-1][0]
            yield from (Entry(str(key), float(stored_s or 0), int(size or 0)) for _, key, stored_s, size in rows)

    def strangers(self) -> int:
        """Remove rows whose keys are pickles, unread, and files that no row names; return how many there were."""
        with self._told("written"), self._cache.transact():
            (count,) = self._sql("SELECT COUNT(*) FROM Cache WHERE raw != 1 OR TYPEOF(key) != 'text'")[0]
            self._sql("DELETE FROM Cache WHERE raw != 1 OR TYPEOF(key) != 'text'")
            named = {name for (name,) in self._sql("SELECT filename FROM Cache WHERE filename IS NOT NULL")}
        for place, _, names_there in os.walk(self.folder):  # which does not mind what goes meanwhile
            for path in (Path(place) / name for name in names_there if name.endswith(".val")):
                with suppress(FileNotFoundError):
                    is_late = time.time() - path.stat().st_mtime > LATE_S
                    if is_late and path.relative_to(self.folder).as_posix() not in named:
                        path.unlink()
                        count += 1
        return int(count)

    def by_kind(self) -> dict[str, tuple[int, int]]:
        """Return (entries, bytes) of each kind."""
        with self._told("read"):
            rows = self._sql(
                f"SELECT SUBSTR(key, 1, INSTR(key, ':') - 1), COUNT(*), SUM({BYTES}) FROM Cache"
                " WHERE raw = 1 GROUP BY 1 ORDER BY 1"
            )
        return {str(kind): (int(count), int(size or 0)) for kind, count, size in rows}

    def lost(self) -> dict[tuple[str, str], int]:
        """Return how many entries of each (kind, why) were ever lost here, by any process."""
        with self._told("read"):
            return {(str(kind), str(why)): int(count) for kind, why, count in self._sql("SELECT * FROM Lost")}

    def _sql(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        return list(self._cache._sql(statement, values).fetchall())

    def _tell_of_evicted(self) -> None:
        self._cache.gone = 0
        warnings.warn(
            f"The cache {self.directory} is full ({self._cache.limit:,} bytes): the {self._cache.eviction_policy} "
            f"entries are being evicted, what was paid for last. Raise size_limit to keep them.",
            CacheWarning,
            stacklevel=2,
        )

    @contextmanager
    def _told(self, done: str) -> Iterator[None]:
        """Say in one sentence what could not be done."""
        _check_is_not_forked(self.folder)
        try:
            yield
        except diskcache.Timeout as error:
            raise CacheError(
                f"The cache {self.directory} cannot be {done}: another program holds it, or it is read-only."
            ) from error
        except sqlite3.Error as error:
            advice = "make room for it, or name another with Cache(directory)."
            if getattr(error, "sqlite_errorname", "") in ("SQLITE_CORRUPT", "SQLITE_NOTADB"):
                advice = "it is damaged, or no database of atlaskit. Delete it, or name another with Cache(directory)."
            raise CacheError(f"The cache {self.directory} cannot be {done} ({error}): {advice}") from error
        except (OSError, Unreadable) as error:
            raise CacheError(
                f"The cache {self.directory} cannot be {done} ({reason(error)}): name another with Cache(directory)."
            ) from error


class _Rows(diskcache.Cache):  # type: ignore[misc]  # diskcache ships no types
    """diskcache's rows, which it evicts by itself and without a word; here they are counted, and paid ones go last."""

    def __init__(self, directory: str, *, limit: int | None, **settings: Any) -> None:
        self.limit, self.gone = limit, 0
        self._reading = threading.Lock()
        super().__init__(directory, **settings)
        path = str(Path(directory) / DBNAME)
        self._reader = sqlite3.connect(path, self._timeout, isolation_level=None, check_same_thread=False)
        self.found("")  # now, since SQLite opens the file at the first read, when it may have been deleted

    def found(self, key: str) -> Any:
        """Do what `get` does, on one connection for all threads: each round has new ones, and each would open its own.

        Where a read is noted, it is a write, and goes the usual way.
        """
        if self.eviction_policy == "least-recently-used":
            return self.get(key)
        asked = "SELECT mode, filename, value FROM Cache WHERE key = ? AND raw = 1"
        with self._reading:
            rows = self._reader.execute(asked, (key,)).fetchall()
        try:
            return self._disk.fetch(*rows[0], False) if rows else None
        except FileNotFoundError:
            return None

    def volume(self) -> int:
        """Return the bytes that entries take: of the database, what is in use, so that to remove any makes room."""
        ((pages,),), ((free,),) = (self._sql(f"PRAGMA {name}").fetchall() for name in ("page_count", "freelist_count"))
        return int(self._page_size * (pages - free) + self.reset("size"))

    def _cull(
        self, now: float, sql: Callable[..., Any], cleanup: Callable[[str | None], object], limit: int | None = None
    ) -> None:
        """Evict until the limit is kept. Called within the transaction that writes an entry."""
        while self.limit is not None and self.volume() > self.limit:
            order = "store_time" if self.eviction_policy == "least-recently-stored" else "access_time"
            found = "SELECT rowid, key, filename FROM Cache WHERE {} ORDER BY {}, rowid LIMIT 1"
            rows = sql(found.format("tag IS NULL", order)).fetchall() or sql(found.format("TRUE", order)).fetchall()
            if not rows:
                return
            ((rowid, key, filename),) = rows
            sql("DELETE FROM Cache WHERE rowid = ?", (rowid,))
            _lose(sql, str(key), "evicted")
            cleanup(filename)
            self.gone += 1


class _RawDisk(diskcache.Disk):  # type: ignore[misc]  # diskcache ships no types
    """diskcache's files and values, but only for text keys and bytes: a pickle is refused before it is loaded."""

    def put(self, key: object) -> tuple[str, bool]:
        if not isinstance(key, str):
            raise InputError(f"A cache key is text, got {type(key).__name__}.")
        return key, True

    def get(self, key: object, raw: bool) -> object:
        if not raw:
            raise Tampered
        return key

    def store(self, value: object, read: bool, key: object = None) -> Any:
        if not isinstance(value, bytes):
            raise InputError(f"The cache stores bytes, got {type(value).__name__}.")
        return super().store(value, read, key=key)

    def fetch(self, mode: int, filename: str | None, value: Any, read: bool) -> Any:
        if mode not in (MODE_RAW, MODE_BINARY) or (filename is not None and not self._is_ours(filename)):
            raise Tampered
        try:
            return super().fetch(mode, filename, value, read)
        except FileNotFoundError:
            raise  # diskcache then says that there is no entry
        except OSError as error:
            raise Unreadable(reason(error)) from error

    def remove(self, file_path: str) -> None:
        if self._is_ours(file_path):
            super().remove(file_path)

    def _is_ours(self, filename: object) -> bool:
        """Tell whether a row names a file as ours are: a tampered one could otherwise have any file read or deleted."""
        if not isinstance(filename, str) or not FILE.fullmatch(filename.replace(os.sep, "/")):
            return False
        with suppress(OSError):
            return stat.S_ISREG((Path(self._directory) / filename).lstat().st_mode)
        return True  # it is not there


def kind_of(key: str) -> str:
    """Return the kind of entry that a key names."""
    return key.partition(":")[0]


def _lose(sql: Callable[..., Any], key: str, why: str) -> None:
    """Count an entry as lost."""
    statement = "INSERT INTO Lost VALUES (?, ?, 1) ON CONFLICT (kind, why) DO UPDATE SET count = count + 1"
    sql(statement, (kind_of(key), why))


def _check_is_not_forked(folder: Path) -> None:
    """Raise CacheError in a forked child for what its parent had open.

    SQLite cannot be forked: it would take its parent's locks for its own, and write into what the parent throws away.
    """
    if folder in _forked:
        raise Forked(
            f"The cache {folder.parent} was open when this process was forked, which SQLite does not bear: start "
            f'processes with multiprocessing.get_context("spawn"), or open the cache only in them.'
        )


def _check_is_ours(database: Path) -> None:
    """Raise CacheError for a database that holds more than ours do: what it names is used before any row is read."""
    if not database.exists():
        return
    with closing(sqlite3.connect(database)) as connection:
        there = set(connection.execute("SELECT type, name FROM sqlite_master"))
        is_ours = there <= OURS
        settings = set(connection.execute("SELECT key FROM Settings")) if ("table", "Settings") in there else set()
    known = {(name,) for name in DEFAULT_SETTINGS.keys() | METADATA.keys()}
    if not (is_ours and settings <= known):
        raise CacheError(f"{database} is another program's, or was tampered with: name another directory.")


def _own_folder(directory: Path) -> tuple[Path, bool]:
    """Return the private folder where this host keeps its entries, and whether hosts share what it lies on."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    shared = network_file_system(directory)
    folder = directory / ("entries" if shared is None else f"entries-of-{platform.node() or 'unnamed'}")
    if os.path.expandvars(folder) != str(folder):  # which diskcache would do
        raise CacheError(f"{directory} names a variable of the shell: name another directory.")
    if folder.is_symlink() or (folder.exists() and any(folder.iterdir()) and not (folder / DBNAME).exists()):
        raise CacheError(f"{folder} is not atlaskit's: name another directory with Cache(directory).")
    is_new = not folder.exists()
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.stat()
    if hasattr(os, "getuid") and os.getuid() not in (0, found.st_uid):
        raise CacheError(
            f"The cache {directory} belongs to another user, who could put anything in it: name one of your own with "
            f"Cache(directory); what is to be shared goes through `python -m atlaskit cache export`."
        )
    if found.st_mode & 0o077:
        folder.chmod(0o700)
    if shared and is_new:
        warnings.warn(
            f"{directory} lies on a network file system ({shared}), where hosts cannot share a database: this one "
            f"keeps its entries in {folder.name}/; `python -m atlaskit cache export` and `import` carry them over.",
            CacheWarning,
            stacklevel=2,
        )
    return folder, shared is not None


def _identity(database: Path) -> tuple[int, int]:
    """Return what tells a file from another that came in its place."""
    try:
        found = database.stat()
    except FileNotFoundError:
        return 0, 0
    return found.st_dev, found.st_ino


def network_file_system(directory: Path, mounts: Path = Path("/proc/self/mounts")) -> str | None:
    """Return the kind of the network file system that a directory lies on, None for a local one.

    Only Linux tells; elsewhere every directory counts as local.
    """
    try:
        lines = [line.split(" ") for line in mounts.read_text(encoding="utf-8", errors="replace").splitlines()]
    except OSError:
        return None
    place = directory.resolve()
    below = [(Path(_unescaped(line[1])), line[2]) for line in lines if len(line) > 2]
    kinds = [(len(at.parts), number, kind) for number, (at, kind) in enumerate(below) if place.is_relative_to(at)]
    kind = max(kinds)[2] if kinds else ""  # of several at one place, the last hides the others
    return kind if NETWORK.fullmatch(kind) else None


def _unescaped(mount: str) -> str:
    """Return a path as it is: the table of mounts writes a blank as \\040."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), mount)
