"""The cache returns what was stored, and computes each entry once.

Keys depend on the recipe alone; each kind of entry is declared once, by what makes it.
"""

import re
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.paths import ROOT

import atlaskit  # noqa: F401  (declares all kinds)
from atlaskit.caching.cache import DIGEST_BYTES, Cache
from atlaskit.caching.keys import KINDS, Kind, canonical_json, is_outdated, is_valid, recipe_key


def test_stored_bytes_and_json_are_returned(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    values = {f"blob:{size}": b"x" * size for size in (0, 10, 100_000)}
    for key, value in values.items():
        cache.put(key, value)
    with monkeypatch.context() as patch, ThreadPoolExecutor(4) as pool:
        patch.setattr(sqlite3, "connect", lambda *_, **__: pytest.fail("a reading thread opened a connection"))
        assert list(pool.map(cache.get, values)) == list(values.values())
    cache.put_json("reply:1", {"ü": [1, 2.5, None]})
    assert cache.get_json("reply:1") == {"ü": [1, 2.5, None]}
    assert cache.get("blob:none") is None
    size = 100_010 + 3 * DIGEST_BYTES
    assert cache.stats()["blob"] == {"entries": 3, "bytes": size, "hits": 3, "misses": 1, "corrupt": 0}


def test_a_cache_in_memory_behaves_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cache = Cache(None)
    assert cache.remember("view:1", lambda: b"made") == b"made"
    assert cache.remember("view:1", lambda: b"anew") == b"made"
    assert cache.stats()["view"]["entries"] == cache.stats()["view"]["hits"] == 1
    assert cache.verify() == {} and cache.prune() == {"view": (1, 4 + DIGEST_BYTES)}
    assert cache.get("view:1") is None
    assert list(tmp_path.iterdir()) == []


def test_threads_that_miss_one_key_make_it_once(cache: Cache) -> None:
    made = list[int]()
    barrier = threading.Barrier(8)

    def make() -> bytes:
        made.append(1)
        return b"value"

    def fetch(_: int) -> bytes:
        barrier.wait()
        return cache.remember("view:1", make)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(fetch, range(8))) == {b"value"}
    assert len(made) == 1


def test_go_on_computes_beside_the_holder_of_the_key(cache: Cache) -> None:
    started = threading.Event()
    release = threading.Event()

    def slow() -> bytes:
        started.set()
        assert release.wait(10)
        return b"slow"

    with ThreadPoolExecutor(1) as pool:
        holder = pool.submit(cache.remember, "reply:1", slow)
        assert started.wait(10)
        assert cache.remember("reply:1", lambda: b"beside", go_on=lambda: True) == b"beside"
        release.set()
        assert holder.result() == b"slow"


def test_a_batch_makes_each_missing_entry_once(cache: Cache) -> None:
    cache.put("tile:1", b"1")
    calls: list[list[int]] = []

    def make_some(positions: list[int]) -> list[bytes]:
        calls.append(positions)
        return [f"made {position}".encode() for position in positions]

    for _ in range(2):
        entries = cache.remember_all(["tile:0", "tile:1", "tile:2", "tile:0"], make_some)
        assert entries == [b"made 0", b"1", b"made 2", b"made 0"]
    assert calls == [[0, 2]]


def test_prune_removes_selected_entries_oldest_first(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    for number in range(10):
        cache.put(f"view:{number}", b"x" * 984)
    cache.put("reply:0", b"r" * 984)
    assert cache.prune(kinds={"view"}, older_than_s=3600) == {}
    assert cache.prune(is_wanted=lambda key: key != "view:9") == {"view": (1, 1000)}
    assert cache.prune(kinds={"view"}, to_bytes=4500) == {"view": (6, 6000)}
    assert sorted(entry.key for entry in cache.entries()) == ["reply:0", "view:6", "view:7", "view:8"]
    assert cache.prune(kinds={"reply"}) == {"reply": (1, 1000)}


def test_a_watched_cache_records_what_it_reads_and_stores(cache: Cache) -> None:
    cache.put("view:1", b"1")
    watched = cache.watched()
    watched.get("view:1")
    watched.remember("view:2", lambda: b"2")
    watched.put("view:3", b"3")
    watched.get("view:4")
    assert watched.touched == {key: cache.digest(key) for key in ("view:1", "view:2", "view:3")}
    assert cache.touched is None
    assert cache.get("view:3") == b"3" and cache.stats() == watched.stats()


def test_keys_depend_on_every_part_but_not_on_order() -> None:
    key = recipe_key("view", 1, a=1, b=[1, 2])
    assert key == recipe_key("view", 1, b=[1, 2], a=1)
    others = [recipe_key("tile", 1, a=1, b=[1, 2]), recipe_key("view", 2, a=1, b=[1, 2]), recipe_key("view", 1, a=1)]
    assert key not in others and len(set(others)) == 3
    assert key.startswith("view:1:")
    with pytest.raises(ValueError, match="JSON"):
        canonical_json(float("nan"))


@pytest.mark.parametrize("name", sorted(KINDS))
def test_no_kind_takes_any_bytes(name: str) -> None:
    kind = KINDS[name]
    key = kind.key(of="nothing")
    assert not is_outdated(key) and is_outdated(recipe_key(name, 0, of="nothing"))
    assert not is_outdated(name), "a key of the user's own"
    for entry in (b"\xff\xfe", b"[" * 100_000, b"{", b'"' + b"x" * 63):
        assert not is_valid(key, entry)
    assert not is_valid("unknown:1:" + "00" * 32, b"{}")
    for kind, entry in {"moments": b"[1e999]", "answered": rb'["\ud800"]', "timing": b'{"a":NaN}'}.items():
        assert not is_valid(recipe_key(kind, KINDS[kind].version), entry)


def test_all_kinds_are_known_once_the_kit_is_imported() -> None:
    """`cache prune` and recordings go by the kinds that are known."""
    declared = (re.findall(r'Kind\("(\w+)"', path.read_text("utf-8")) for path in Path(ROOT, "atlaskit").rglob("*.py"))
    names = [name for found in declared for name in found]
    assert sorted(names) == sorted(KINDS)
    with pytest.raises(AssertionError, match="twice"):
        Kind("reply", 1)
