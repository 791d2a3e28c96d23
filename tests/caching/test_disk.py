"""The store on disk: damage, deletion, orphaned files, and what others planted.

Promise 11: nothing is unpickled, and no tampered entry is served.
"""

import os
import pickle
import random
import shutil
import sqlite3
from pathlib import Path

import diskcache
import pytest

from atlaskit.caching.cache import Cache
from atlaskit.errors import CacheError, CacheWarning


def test_an_entry_without_its_file_is_dropped_with_a_warning(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("view:1", b"x" * 50_000)
    cache.put("view:2", b"x" * 50_000)
    for file in tmp_path.rglob("*.val"):
        file.unlink()
    with pytest.warns(CacheWarning, match="lost its file"):
        assert cache.get("view:1") is None and cache.verify() == {"view": 1}
    assert cache.verify() == {} and cache.stats()["view"]["corrupt"] == 2


def test_a_file_that_cannot_be_opened_is_an_error_and_no_miss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path)
    cache.put("reply:1", b"x" * 50_000)

    def too_many(*args: object, **options: object) -> None:
        raise OSError(24, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr("builtins.open", too_many)
        with pytest.raises(CacheError, match="Too many open files"):
            cache.get("reply:1")
    assert cache.get("reply:1") is not None


def damage(folder: Path, key: str, rng: random.Random) -> None:
    """Change one byte of an entry's value, in the database or in its file."""
    with sqlite3.connect(folder / "cache.db") as database:
        filename, value = database.execute("SELECT filename, value FROM Cache WHERE key = ?", (key,)).fetchone()
        content = bytearray(value if filename is None else (folder / filename).read_bytes())
        content[rng.randrange(len(content))] ^= rng.randrange(1, 256)
        if filename is None:
            database.execute("UPDATE Cache SET value = ? WHERE key = ?", (bytes(content), key))
        else:
            (folder / filename).write_bytes(content)


def test_a_damaged_byte_is_never_served(tmp_path: Path) -> None:
    rng = random.Random(0)
    truth = {f"view:{n}": rng.randbytes(rng.choice((20, 3_000, 60_000))) for n in range(60)}
    cache = Cache(tmp_path)
    for key, value in truth.items():
        cache.put(key, value)
    damaged = rng.sample(sorted(truth), 20)
    for key in damaged:
        damage(tmp_path / "entries", key, rng)
    with pytest.warns(CacheWarning):
        served = {key: cache.remember(key, lambda: b"made") for key in truth}
    assert served == truth | dict.fromkeys(damaged, b"made")
    assert cache.stats()["view"]["corrupt"] == 20


def test_a_cache_deleted_while_in_use_raises_a_cache_error(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    cache.put("view:1", b"1")
    shutil.rmtree(tmp_path / "cache")
    with pytest.raises(CacheError, match="deleted while it was in use"):
        cache.remember("view:2", lambda: b"2")
    Cache(tmp_path / "cache").put("view:3", b"3")
    with pytest.raises(CacheError, match="deleted while it was in use"):
        cache.put("view:2", b"2")


def test_verify_removes_old_orphaned_files(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("view:1", b"x" * 50_000)
    orphans = [tmp_path / "entries" / "ab" / "cd" / f"{age}.val" for age in ("new", "old")]
    orphans[0].parent.mkdir(parents=True)
    for path in orphans:
        path.write_bytes(b"half")
    os.utime(orphans[1], (0, 0))
    assert cache.verify() == {"": 1}
    assert [path.exists() for path in orphans] == [True, False]
    assert cache.get("view:1") is not None


def test_a_file_that_is_no_database_raises_a_cache_error(tmp_path: Path) -> None:
    (tmp_path / "entries").mkdir()
    (tmp_path / "entries" / "cache.db").write_bytes(b"this is no database" * 100)
    with pytest.raises(CacheError, match="damaged, or no database of atlaskit"):
        Cache(tmp_path)


class Mark:
    """A payload that creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("size", [0, 100_000], ids=["in the database", "in a file"])
def test_a_planted_pickle_is_dropped_without_being_loaded(tmp_path: Path, size: int) -> None:
    mark, cache = tmp_path / "mark", Cache(tmp_path / "cache")
    with diskcache.Cache(str(tmp_path / "cache" / "entries")) as plain:
        plain.set("view:1", (Mark(mark), "x" * size))
        plain.set((Mark(mark), "as a key"), b"x")
    with pytest.warns(CacheWarning, match="pickle.*never loaded"):
        assert cache.remember("view:1", lambda: b"made") == b"made"
    assert cache.get("view:1") == b"made" and cache.stats()["view"]["corrupt"] == 1
    assert cache.verify() == {"": 1}  # the row whose key is a pickle
    assert cache.verify() == {}
    assert not mark.exists()
    pickle.loads(pickle.dumps(Mark(mark)))
    assert mark.exists()  # the payload works


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO Settings VALUES ('sqlite_temp_store_directory', '/')",
        "INSERT INTO Settings VALUES ('disk_evil', 1)",
        "CREATE TABLE Other (x)",
        "CREATE TRIGGER gone AFTER INSERT ON Cache BEGIN DELETE FROM Cache; END",
    ],
)
def test_a_database_with_unknown_settings_tables_or_triggers_is_refused(tmp_path: Path, statement: str) -> None:
    Cache(tmp_path)
    with sqlite3.connect(tmp_path / "entries" / "cache.db") as database:
        database.execute(statement)
    with pytest.raises(CacheError, match="tampered with"):
        Cache(tmp_path)


def test_settings_of_the_database_are_overridden(tmp_path: Path) -> None:
    Cache(tmp_path).put("view:1", b"x")
    with sqlite3.connect(tmp_path / "entries" / "cache.db") as database:
        database.execute("UPDATE Settings SET value = 'least-frequently-used' WHERE key = 'eviction_policy'")
        database.execute("UPDATE Settings SET value = 1 WHERE key IN ('size_limit', 'cull_limit')")
    cache = Cache(tmp_path)
    cache.put("view:2", b"x" * 100_000)
    assert cache.get("view:1") == b"x" and cache.get("view:2") is not None


@pytest.mark.parametrize(
    ("change", "warning"),
    [("filename = '../../secret'", "never loaded"), ("key = 'view:2'", "damaged")],
    ids=["a file elsewhere", "another key"],
)
def test_a_row_that_was_changed_is_dropped(tmp_path: Path, change: str, warning: str) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"s" * 50_000)
    cache = Cache(tmp_path / "cache")
    cache.put("view:1", b"x" * 50_000)
    with sqlite3.connect(tmp_path / "cache" / "entries" / "cache.db") as database:
        database.execute(f"UPDATE Cache SET {change} WHERE key = 'view:1'")
    with pytest.warns(CacheWarning, match=warning):
        assert cache.get("view:1") is cache.get("view:2") is None
    assert secret.exists(), "but not the file"


def test_a_pipe_in_place_of_a_file_is_not_read(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("view:1", b"x" * 50_000)
    (file,) = tmp_path.rglob("*.val")
    file.unlink()
    os.mkfifo(file)
    with pytest.warns(CacheWarning, match="not written by atlaskit"):
        assert cache.get("view:1") is None
