"""The store: nothing pickled, nothing corrupt served, nothing computed twice."""

from __future__ import annotations

import os
import pickle
import random
import shutil
import sqlite3
import stat
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import diskcache
import pytest

from atlaskit.caching.cache import DIGEST_BYTES, Cache, Transient, canonical_json, recipe_key
from atlaskit.caching.disk import Policy, network_file_system
from atlaskit.errors import CacheError, CacheWarning, InputError


def test_bytes_and_json_come_back(cache: Cache) -> None:
    for size in (0, 10, 100_000):
        cache.put(f"blob:{size}", b"x" * size)
        assert cache.get(f"blob:{size}") == b"x" * size
    cache.put_json("reply:1", {"ü": [1, 2.5, None]})
    assert cache.get_json("reply:1") == {"ü": [1, 2.5, None]}
    assert cache.get("blob:none") is None
    stats = cache.stats()
    digests = 3 * DIGEST_BYTES
    assert stats["blob"] == {
        "entries": 3, "bytes": 100_010 + digests, "hits": 3, "misses": 1, "corrupt": 0, "evicted": 0
    }  # fmt: skip
    assert (stats["reply"]["hits"], stats["reply"]["misses"]) == (1, 0)


def test_threads_that_only_read_open_no_connection(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    values = {f"blob:{size}": b"x" * size for size in (10, 100_000)}
    for key, value in values.items():
        cache.put(key, value)
    monkeypatch.setattr(sqlite3, "connect", lambda *_, **__: pytest.fail("opened a connection"))
    for _ in range(3):
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(cache.get, values)) == list(values.values())


def test_in_memory_it_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cache = Cache(None)
    assert cache.remember("view:1", lambda: b"made") == b"made"
    assert cache.remember("view:1", lambda: b"anew") == b"made"
    assert cache.stats()["view"]["entries"] == cache.stats()["view"]["hits"] == 1
    assert cache.verify() == {} and cache.prune() == {"view": (1, 4 + DIGEST_BYTES)}
    assert cache.get("view:1") is None
    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_entries_is_private_and_what_is_beside_it_is_left_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    cache = Cache(tmp_path)
    cache.put("view:1", b"x" * 50_000)
    assert stat.S_IMODE((tmp_path / "entries").stat().st_mode) == 0o700
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755
    (tmp_path / "entries").chmod(0o777)
    assert Cache(tmp_path).get("view:1") is not None
    assert stat.S_IMODE((tmp_path / "entries").stat().st_mode) == 0o700


def test_anothers_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Cache(tmp_path)
    monkeypatch.setattr("os.getuid", lambda: 12345)
    with pytest.raises(CacheError, match="belongs to another user"):
        Cache(tmp_path)


@pytest.mark.parametrize(
    ("mounts", "kind"),
    [
        ("disk / ext4 rw 0 0", None),
        ("disk / ext4 rw 0 0\nhost:/home HERE nfs4 rw 0 0", "nfs4"),
        ("host:/ / nfs rw 0 0\ndisk HERE xfs rw 0 0", None),
        ("disk HERE xfs rw 0 0\nshare HERE/my\\040cache cifs rw 0 0", "cifs"),
        ("disk / ext4 rw 0 0\nme@host:/ HERE/my\\040cache fuse.sshfs rw 0 0", "fuse.sshfs"),
        ("nonsense", None),
    ],
)
def test_a_network_file_system_is_told_by_where_it_is_mounted(tmp_path: Path, mounts: str, kind: str | None) -> None:
    (tmp_path / "my cache").mkdir()
    table = tmp_path / "mounts"
    table.write_text(mounts.replace("HERE", str(tmp_path)))
    assert network_file_system(tmp_path / "my cache", table) == kind
    assert network_file_system(tmp_path, tmp_path / "none") is None


def test_on_a_network_file_system_each_host_has_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atlaskit.caching.disk.network_file_system", lambda directory: "nfs4")
    for host in ("ada", "bob"):
        monkeypatch.setattr("platform.node", lambda host=host: host)
        with pytest.warns(CacheWarning, match=f"nfs4.*entries-of-{host}/"):
            cache = Cache(tmp_path)
        assert cache.get("view:1") is None
        cache.put("view:1", host.encode())
        assert Cache(tmp_path).get("view:1") == host.encode()  # and tells it only once
        with sqlite3.connect(tmp_path / f"entries-of-{host}" / "cache.db") as database:
            assert database.execute("PRAGMA journal_mode").fetchone() == ("delete",)


class Mark:
    """A payload that leaves a mark when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("size", [0, 100_000], ids=["in the database", "in a file"])
def test_a_planted_pickle_is_refused_without_being_loaded(tmp_path: Path, size: int) -> None:
    mark, cache = tmp_path / "mark", Cache(tmp_path / "cache")
    with diskcache.Cache(str(tmp_path / "cache" / "entries")) as plain:
        plain.set("view:1", (Mark(mark), "x" * size))
        plain.set((Mark(mark), "as a key"), b"x")
    with pytest.warns(CacheWarning, match="pickle.*never loaded"):
        assert cache.remember("view:1", lambda: b"made") == b"made"
    assert cache.get("view:1") == b"made" and cache.stats()["view"]["corrupt"] == 1
    assert cache.verify() == {"": 1}  # the key
    assert cache.verify() == {}
    assert not mark.exists()
    pickle.loads(pickle.dumps(Mark(mark)))
    assert mark.exists()  # the payload works: the refusal is what kept it from running


@pytest.mark.parametrize(
    "tampering",
    [
        "INSERT INTO Settings VALUES ('sqlite_temp_store_directory', '/')",
        "INSERT INTO Settings VALUES ('disk_evil', 1)",
        "CREATE TABLE Other (x)",
    ],
)
def test_a_database_that_holds_more_than_ours_is_refused(tmp_path: Path, tampering: str) -> None:
    Cache(tmp_path)
    with sqlite3.connect(tmp_path / "entries" / "cache.db") as database:
        database.execute(tampering)
    with pytest.raises(CacheError, match="tampered with"):
        Cache(tmp_path)


def test_a_database_with_other_settings_is_used_with_ours(tmp_path: Path) -> None:
    Cache(tmp_path).put("view:1", b"x")
    with sqlite3.connect(tmp_path / "entries" / "cache.db") as database:
        database.execute("UPDATE Settings SET value = 'least-frequently-used' WHERE key = 'eviction_policy'")
        database.execute("UPDATE Settings SET value = 1 WHERE key IN ('size_limit', 'cull_limit')")
    cache = Cache(tmp_path)
    cache.put("view:2", b"x" * 100_000)
    assert cache.get("view:1") == b"x" and cache.get("view:2") is not None


def test_a_database_with_views_or_triggers_of_others_is_refused(tmp_path: Path) -> None:
    Cache(tmp_path)
    with sqlite3.connect(tmp_path / "entries" / "cache.db") as database:
        database.execute("CREATE TRIGGER gone AFTER INSERT ON Cache BEGIN DELETE FROM Cache; END")
    with pytest.raises(CacheError, match="tampered with"):
        Cache(tmp_path)


def test_a_folder_that_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    for name in ("full", "linked"):
        (tmp_path / name).mkdir()
    (tmp_path / "full" / "entries").mkdir(mode=0o755)
    (tmp_path / "full" / "entries" / "diary.txt").write_text("Dear diary")
    (tmp_path / "elsewhere").mkdir(mode=0o755)
    (tmp_path / "linked" / "entries").symlink_to(tmp_path / "elsewhere")
    for name in ("full", "linked"):
        with pytest.raises(CacheError, match="is not atlaskit's"):
            Cache(tmp_path / name)
    with pytest.raises(CacheError, match="a variable of the shell"):
        Cache(tmp_path / "a$HOME")
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert stat.S_IMODE((tmp_path / "elsewhere").stat().st_mode) == 0o755


def test_an_entry_that_lost_its_file_is_dropped_counted_and_told(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("view:1", b"x" * 50_000)
    cache.put("view:2", b"x" * 50_000)
    for file in tmp_path.rglob("*.val"):
        file.unlink()
    with pytest.warns(CacheWarning, match="lost its file"):
        assert cache.get("view:1") is None
    with pytest.warns(CacheWarning, match="lost its file"):
        assert cache.verify() == {"view": 1}
    assert cache.verify() == {} and cache.stats()["view"]["corrupt"] == 2


def test_a_pipe_in_the_place_of_a_file_is_not_read(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("view:1", b"x" * 50_000)
    (file,) = tmp_path.rglob("*.val")
    file.unlink()
    os.mkfifo(file)
    with pytest.warns(CacheWarning, match="none of ours"):
        assert cache.get("view:1") is None


def test_a_file_that_cannot_be_read_just_now_is_no_miss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path)
    cache.put("reply:1", b"x" * 50_000)

    def too_many(*what: object, **more: object) -> None:
        raise OSError(24, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr("builtins.open", too_many)
        with pytest.raises(CacheError, match="Too many open files"):
            cache.get("reply:1")
    assert cache.get("reply:1") is not None


def test_a_row_that_names_a_file_elsewhere_is_dropped_and_the_file_is_not(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"s" * 50_000)
    cache = Cache(tmp_path / "cache")
    cache.put("view:1", b"x" * 50_000)
    with sqlite3.connect(tmp_path / "cache" / "entries" / "cache.db") as database:
        database.execute("UPDATE Cache SET filename = '../../secret' WHERE key = 'view:1'")
    with pytest.warns(CacheWarning, match="never loaded"):
        assert cache.get("view:1") is None
    assert secret.exists()


def test_a_damaged_entry_is_dropped_counted_told_and_made_again(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    cache.put("view:1", b"x" * 50_000)
    (file,) = (tmp_path / "cache").rglob("*.val")
    damaged = bytearray(file.read_bytes())
    damaged[25_000] ^= 1
    file.write_bytes(bytes(damaged))
    with pytest.warns(CacheWarning, match="'view'.*damaged"):
        assert cache.remember("view:1", lambda: b"anew") == b"anew"
    assert cache.get("view:1") == b"anew"
    assert cache.stats()["view"]["corrupt"] == 1
    assert Cache(tmp_path / "cache").stats()["view"]["corrupt"] == 1  # another process is told, too


def test_a_hundred_damaged_bytes_are_never_served(tmp_path: Path) -> None:
    rng = random.Random(0)
    truth = {f"view:{n}": rng.randbytes(rng.choice((20, 3_000, 60_000))) for n in range(60)}
    damaged: set[str] = set()
    for _ in range(100):  # one at a time
        cache = Cache(tmp_path / "cache")
        for key, value in truth.items():
            cache.remember(key, lambda value=value: value)
        key = rng.choice(sorted(truth))
        damage(tmp_path / "cache" / "entries", key, rng)
        damaged.add(key)
        made: list[str] = []
        with pytest.warns(CacheWarning):
            served = {each: cache.remember(each, partial(make, each, truth, made)) for each in truth}
        assert served == truth and made == [key]
    assert len(damaged) > 30 and cache.stats()["view"]["corrupt"] == 100


def make(key: str, truth: dict[str, bytes], made: list[str]) -> bytes:
    made.append(key)
    return truth[key]


def damage(folder: Path, key: str, rng: random.Random) -> None:
    """Change one byte of an entry, in the database or in its file."""
    with sqlite3.connect(folder / "cache.db") as database:
        filename, value = database.execute("SELECT filename, value FROM Cache WHERE key = ?", (key,)).fetchone()
        content = bytearray(value if filename is None else (folder / filename).read_bytes())
        content[rng.randrange(len(content))] ^= rng.randrange(1, 256)
        if filename is None:
            database.execute("UPDATE Cache SET value = ? WHERE key = ?", (bytes(content), key))
        else:
            (folder / filename).write_bytes(content)


def test_damage_anywhere_in_the_database_is_never_served(tmp_path: Path) -> None:
    rng = random.Random(1)
    truth = {f"reply:{n}": rng.randbytes(rng.choice((20, 3_000))) for n in range(200)}
    whole = Cache(tmp_path / "whole")
    for key, value in truth.items():
        whole.put(key, value)
    with sqlite3.connect(tmp_path / "whole" / "entries" / "cache.db") as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = (tmp_path / "whole" / "entries" / "cache.db").read_bytes()
    refused = 0
    for number in range(100):
        folder = tmp_path / str(number) / "entries"
        folder.mkdir(parents=True)
        changed = bytearray(content)
        changed[rng.randrange(len(changed))] ^= rng.randrange(1, 256)
        (folder / "cache.db").write_bytes(changed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CacheWarning)
            try:
                cache = Cache(folder.parent)
                assert all(cache.remember(key, lambda value=value: value) == value for key, value in truth.items())
            except CacheError as error:  # the database as such is damaged, and says so
                refused += 1
                assert "damaged" in str(error) or "tampered" in str(error)
    assert refused < 50


def test_an_entry_under_another_key_is_not_served(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    cache.put("view:1", b"one")
    with sqlite3.connect(tmp_path / "cache" / "entries" / "cache.db") as database:
        database.execute("UPDATE Cache SET key = 'view:2' WHERE key = 'view:1'")
    with pytest.warns(CacheWarning, match="damaged"):
        assert cache.get("view:2") is None


def test_nothing_is_evicted_without_a_limit(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    for number in range(40):
        cache.put(f"view:{number}", b"x" * 2**20)
    assert cache.stats()["view"]["entries"] == 40


@pytest.mark.parametrize("policy", ["least-recently-stored", "least-recently-used"])
def test_a_limit_is_kept_by_its_policy_counted_and_told(tmp_path: Path, policy: Policy) -> None:
    cache = Cache(tmp_path / "cache", size_limit=2**21, policy=policy)
    cache.put("reply:0", b"r" * 1000, paid=True)
    with pytest.warns(CacheWarning, match=rf"full \(2,097,152 bytes\): the {policy}"):
        for number in range(60):
            cache.put(f"view:{number}", b"x" * 100_000)
            cache.get("view:0")
    stats = cache.stats()
    assert stats["view"]["bytes"] < 2**21 and stats["view"]["evicted"] == 60 - stats["view"]["entries"] > 0
    assert cache.get("reply:0") is not None and stats["reply"]["evicted"] == 0  # though it is the oldest
    assert (cache.get("view:0") is not None) == (policy == "least-recently-used")
    assert cache.get("view:59") is not None
    assert Cache(tmp_path / "cache").stats()["view"]["evicted"] == stats["view"]["evicted"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"size_limit": 0}, "number of bytes"),
        ({"size_limit": 1e9}, "number of bytes"),
        ({"policy": "random"}, "policy"),
    ],
)
def test_a_wrong_limit_is_one_sentence(tmp_path: Path, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Cache(tmp_path, **options)


def test_what_dead_processes_left_is_removed_when_it_is_old(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("view:1", b"x" * 50_000)
    left = [tmp_path / "entries" / "ab" / "cd" / f"{age}.val" for age in ("new", "old")]
    left[0].parent.mkdir(parents=True)
    for path in left:
        path.write_bytes(b"half")
    os.utime(left[1], (0, 0))
    assert cache.verify() == {"": 1}
    assert [path.exists() for path in left] == [True, False]
    assert cache.get("view:1") is not None


def test_pruning_takes_what_is_meant_oldest_first(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    for number in range(10):
        cache.put(f"view:{number}", b"x" * 984)
    cache.put("reply:0", b"r" * 984)
    assert cache.prune(kinds={"view"}, older_than_s=3600) == {}
    assert cache.prune(is_wanted=lambda key: key != "view:9") == {"view": (1, 1000)}
    assert cache.prune(kinds={"view"}, to_bytes=4500) == {"view": (6, 6000)}
    assert sorted(entry.key for entry in cache.entries()) == ["reply:0", "view:6", "view:7", "view:8"]
    assert cache.prune(kinds={"reply"}) == {"reply": (1, 1000)}


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
    with pytest.raises(CacheError, match="cannot be opened"):
        Cache(tmp_path / "file" / "cache")


def test_a_database_that_is_none_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "entries").mkdir()
    (tmp_path / "entries" / "cache.db").write_bytes(b"this is no database" * 100)
    with pytest.raises(CacheError, match="damaged, or no database of atlaskit"):
        Cache(tmp_path)


def test_a_cache_that_was_deleted_while_in_use_is_one_sentence(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    cache.put("view:1", b"1")
    shutil.rmtree(tmp_path / "cache")
    with pytest.raises(CacheError, match="deleted while it was in use"):
        cache.remember("view:2", lambda: b"2")
    Cache(tmp_path / "cache").put("view:3", b"3")
    for write in (cache.put, lambda key, value: cache.remember(key, lambda: value)):
        with pytest.raises(CacheError, match="deleted while it was in use"):
            write("view:2", b"2")


def test_what_passes_is_given_and_not_kept(cache: Cache) -> None:
    assert cache.remember("view:1", lambda: Transient(b"for now")) == b"for now"
    assert cache.get("view:1") is None


def test_what_does_not_fit_is_made_again(cache: Cache) -> None:
    cache.put("view:1", b"planted")
    assert cache.remember("view:1", lambda: b"made", fits=lambda value: value != b"planted") == b"made"
    assert cache.get("view:1") == b"made"


def test_a_batch_makes_what_is_missing_once_each(cache: Cache) -> None:
    cache.put("tile:1", b"1")
    asked: list[list[int]] = []

    def make_some(places: list[int]) -> list[bytes]:
        asked.append(places)
        return [f"made {place}".encode() for place in places]

    keys = ["tile:0", "tile:1", "tile:2", "tile:0"]
    assert cache.remember_all(keys, make_some) == [b"made 0", b"1", b"made 2", b"made 0"]
    assert cache.remember_all(keys, make_some) == [b"made 0", b"1", b"made 2", b"made 0"]
    assert asked == [[0, 2]]


def test_who_wants_some_of_the_same_never_waits_for_each_other(cache: Cache) -> None:
    keys = [f"tile:{n}" for n in range(6)]

    def fetch(number: int) -> bool:
        rng = random.Random(number)
        wanted = [rng.choice(keys) + f":{rng.randrange(20)}" for _ in range(8)]
        made = cache.remember_all(wanted, lambda places: [wanted[place].encode() for place in places])
        return made == [key.encode() for key in wanted]

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(fetch, range(300)))


def test_one_who_must_not_wait_goes_on_beside(cache: Cache) -> None:
    holds, goes = threading.Event(), threading.Event()

    def slow() -> bytes:
        holds.set()
        assert goes.wait(10)
        return b"slow"

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(cache.remember, "reply:1", slow)
        assert holds.wait(10)
        assert cache.remember("reply:1", lambda: b"beside", go_on=lambda: True) == b"beside"
        goes.set()
        assert waiting.result() == b"slow"


def test_a_watched_cache_notes_what_is_found_or_stored_through_it(cache: Cache) -> None:
    cache.put("view:1", b"1")
    seen = cache.watched()
    seen.get("view:1")
    seen.remember("view:2", lambda: b"2")
    seen.put("view:3", b"3")
    seen.get("view:4")
    with pytest.raises(ZeroDivisionError):
        seen.remember("view:5", lambda: b"%d" % (1 / 0))
    assert seen.touched == {key: cache.digest(key) for key in ("view:1", "view:2", "view:3")}
    assert cache.touched is None
    assert cache.get("view:3") == b"3" and cache.stats() == seen.stats()


def test_keys_depend_on_every_part_and_on_no_order() -> None:
    key = recipe_key("view", 1, a=1, b=[1, 2])
    assert key == recipe_key("view", 1, b=[1, 2], a=1)
    others = [recipe_key("tile", 1, a=1, b=[1, 2]), recipe_key("view", 2, a=1, b=[1, 2]), recipe_key("view", 1, a=1)]
    assert key not in others and len(set(others)) == 3
    assert key.startswith("view:1:")
    with pytest.raises(ValueError, match="JSON"):
        canonical_json(float("nan"))
