"""The store: nothing pickled, nothing corrupt served, nothing computed twice."""

from __future__ import annotations

import pickle
import sqlite3
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import diskcache
import pytest

from atlaskit.cache import Cache, canonical_json, recipe_key
from atlaskit.errors import CacheError


def test_bytes_and_json_come_back(cache: Cache) -> None:
    for size in (0, 10, 100_000):
        cache.put(f"blob:{size}", b"x" * size)
        assert cache.get(f"blob:{size}") == b"x" * size
    cache.put_json("reply:1", {"ü": [1, 2.5, None]})
    assert cache.get_json("reply:1") == {"ü": [1, 2.5, None]}
    assert cache.get("blob:none") is None
    assert cache.stats() == {
        "blob": {"hits": 3, "misses": 1, "corrupt": 0},
        "reply": {"hits": 1, "misses": 0, "corrupt": 0},
    }


def test_the_directory_is_private(tmp_path: Path) -> None:
    Cache(tmp_path / "private")
    assert stat.S_IMODE((tmp_path / "private").stat().st_mode) == 0o700


class Mark:
    """A payload that leaves a mark when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("size", [0, 100_000], ids=["in the database", "in a file"])
def test_a_planted_pickle_is_refused_without_being_loaded(tmp_path: Path, size: int) -> None:
    mark, directory = tmp_path / "mark", tmp_path / "cache"
    Cache(directory)
    diskcache.Cache(str(directory)).set("view:1", (Mark(mark), "x" * size))
    with pytest.raises(CacheError, match="never loaded"):
        Cache(directory).get("view:1")
    assert not mark.exists()
    pickle.loads(pickle.dumps(Mark(mark)))
    assert mark.exists()  # the payload works: the refusal is what kept it from running


def test_a_row_that_names_a_file_elsewhere_is_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"s" * 50_000)
    cache = Cache(tmp_path / "cache")
    cache.put("view:1", b"x" * 50_000)
    with sqlite3.connect(tmp_path / "cache" / "cache.db") as database:
        database.execute("UPDATE Cache SET filename = '../secret' WHERE key = 'view:1'")
    with pytest.raises(CacheError, match="outside its directory"):
        cache.get("view:1")
    assert secret.exists()


def test_a_damaged_entry_is_dropped_counted_and_made_again(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    cache.put("view:1", b"x" * 50_000)
    (file,) = (tmp_path / "cache").rglob("*.val")
    damaged = bytearray(file.read_bytes())
    damaged[25_000] ^= 1
    file.write_bytes(bytes(damaged))
    assert cache.remember("view:1", lambda: b"anew") == b"anew"
    assert cache.get("view:1") == b"anew"
    assert cache.stats()["view"]["corrupt"] == 1


def test_an_entry_under_another_key_is_not_served(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    cache.put("view:1", b"one")
    with sqlite3.connect(tmp_path / "cache" / "cache.db") as database:
        database.execute("UPDATE Cache SET key = 'view:2' WHERE key = 'view:1'")
    assert cache.get("view:2") is None


def test_a_failed_make_stores_nothing(cache: Cache) -> None:
    def fail() -> bytes:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        cache.remember("view:1", fail)
    assert cache.get("view:1") is None


def test_threads_that_miss_together_make_once(cache: Cache) -> None:
    made, gate = [], threading.Barrier(8)

    def make() -> bytes:
        made.append(1)
        return b"value"

    def fetch(_: int) -> bytes:
        gate.wait()
        return cache.remember("view:1", make)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(fetch, range(8))) == {b"value"}
    assert len(made) == 1


def test_a_directory_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CacheError, match="cannot be written"):
        Cache(tmp_path / "file" / "cache")


def test_a_directory_that_holds_something_else_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "cache.db").write_bytes(b"this is no database" * 100)
    with pytest.raises(CacheError, match="cannot be written"):
        Cache(tmp_path)


def test_keys_depend_on_every_part_and_on_no_order() -> None:
    key = recipe_key("view", 1, a=1, b=[1, 2])
    assert key == recipe_key("view", 1, b=[1, 2], a=1)
    others = [recipe_key("tile", 1, a=1, b=[1, 2]), recipe_key("view", 2, a=1, b=[1, 2]), recipe_key("view", 1, a=1)]
    assert key not in others and len(set(others)) == 3
    assert key.startswith("view:")
    with pytest.raises(ValueError, match="JSON"):
        canonical_json(float("nan"))
