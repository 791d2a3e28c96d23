"""Promise 11: nothing is unpickled, and no tampered entry is served."""

import os
import pickle
import sqlite3
from pathlib import Path

import diskcache
import pytest

from atlaskit.caching.cache import Cache
from atlaskit.errors import CacheError, CacheWarning


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
