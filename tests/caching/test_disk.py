"""The store on disk: damage, deletion, and orphaned files."""

import os
import random
import shutil
import sqlite3
from pathlib import Path
from typing import Any

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


def test_sqlite_is_opened_as_python_3_15_demands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By diskcache too: all but the path is named. Python 3.13 warns of it, 3.15 refuses it."""
    opened: list[str] = []
    connect = sqlite3.connect

    def strict(database: str, /, **settings: Any) -> sqlite3.Connection:
        opened.append(str(database))
        return connect(database, **settings)

    monkeypatch.setattr(sqlite3, "connect", strict)
    cache = Cache(tmp_path / "cache")
    cache.put_json("reply:a", 1)
    assert Cache(tmp_path / "cache").get_json("reply:a") == 1 and len(opened) >= 4


def test_a_file_that_is_no_database_raises_a_cache_error(tmp_path: Path) -> None:
    (tmp_path / "entries").mkdir()
    (tmp_path / "entries" / "cache.db").write_bytes(b"this is no database" * 100)
    with pytest.raises(CacheError, match="damaged, or no database of atlaskit"):
        Cache(tmp_path)
