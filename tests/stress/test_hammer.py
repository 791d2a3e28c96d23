"""One cache, many processes of many threads: nothing lost, nothing mixed, nothing made twice, whoever dies or forks."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.hammer_worker import (
    LARGEST,
    PATIENCE_S,
    STRIKES,
    THREADS,
    fill,
    fork_amid_use,
    fork_and_end,
    fork_beside_a_held_key,
    hammer,
    hold,
    json_of,
    take,
    use,
    value_of,
    wait_for,
)

from atlaskit.caching.cache import Cache
from atlaskit.errors import CacheWarning

PROCESSES = 8
SECONDS = float(os.environ.get("ATLASKIT_HAMMER_S", "8"))
"""How long they hammer, all at the same time; ATLASKIT_HAMMER_S=60 has them do so for a minute."""
FORKS = 80
SPAWN = multiprocessing.get_context("spawn")
FORKED = "told"
"""How a child ends that was forked off a process that had the cache open: "told", or "well" if it could use it."""


def test_eight_processes_of_eight_threads_hammer_one_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory, log = tmp_path / "cache", tmp_path / "made.txt"
    told = in_processes(PROCESSES, hammer, lambda number: (directory, log, number, PROCESSES, SECONDS))
    made = Counter(line.split()[0] for line in log.read_text().splitlines())
    makers = {line.split()[1] for line in log.read_text().splitlines()}
    strikes, waited = sum((each.strikes for each in told), Counter[str]()), sum(each.waited for each in told)
    stored = set[str]().union(*(each.stored for each in told))
    print(
        f"{PROCESSES} × {THREADS} for {SECONDS:g} s: {strikes.total():,} operations ({dict(strikes)}), {len(made):,} "
        f"keys made, {waited:,} times another was waited for, {len(stored):,} entries"
    )
    assert [fault for each in told for fault in each.faults] == []
    assert {key: times for key, times in made.items() if times > 1} == {}, "what several want at once is made once"
    assert made.keys() == {key for key in stored if key.startswith("made:")}
    assert len(makers) == PROCESSES and waited > 20 and strikes.keys() == STRIKES.keys(), "or it would show nothing"

    cache = Cache(directory)
    assert [key for key in stored if not is_as_it_should_be(cache, key)] == []
    stats = cache.stats()
    assert sum(counts["entries"] for counts in stats.values()) == len(stored)
    assert all(counts["corrupt"] == counts["evicted"] == 0 for counts in stats.values())
    monkeypatch.setattr(
        "atlaskit.caching.disk.ORPHAN_AGE_S", -60.0
    )  # a file that no row names was left behind, however new it is
    assert cache.verify() == {}


def test_what_is_overwritten_is_there_all_the_while(tmp_path: Path) -> None:
    """Entries of more than 32 kB lie in files, each in its own, so the old one goes while others may be reading it."""
    cache, other, value, done = Cache(tmp_path), Cache(tmp_path), b"x" * LARGEST, threading.Event()
    cache.put("blob:1:1", value)

    def overwrite() -> None:
        while not done.is_set():
            other.put("blob:1:1", value)

    writer = threading.Thread(target=overwrite)
    writer.start()
    try:
        seen = [cache.get("blob:1:1") for _ in range(2000)]
        dropped = [cache.verify() for _ in range(50)]
    finally:
        done.set()
        writer.join()
    assert seen.count(value) == len(seen)
    assert dropped == [{}] * len(dropped)


def test_a_key_goes_with_the_process_that_holds_it(tmp_path: Path) -> None:
    """Killed in the middle of making something: one of those who wait for it makes it, and the others take that."""
    directory, inside, log = tmp_path / "cache", tmp_path / "inside", tmp_path / "made.txt"
    holder = SPAWN.Process(target=hold, args=(directory, "view:1:held", inside), daemon=True)
    holder.start()
    wait_for(inside.exists)
    waiting, out = ([tmp_path / f"{name}{number}" for number in range(3)] for name in ("waiting", "out"))
    takers = [
        SPAWN.Process(target=take, args=(directory, "view:1:held", mark, log, path), daemon=True)
        for mark, path in zip(waiting, out, strict=True)
    ]
    for taker in takers:
        taker.start()
    wait_for(lambda: all(mark.exists() for mark in waiting))
    assert holder.is_alive() and not log.exists() and not any(path.exists() for path in out)
    holder.kill()
    holder.join()
    for taker in takers:
        taker.join(PATIENCE_S)
    assert [holder.exitcode, *(taker.exitcode for taker in takers)] == [-signal.SIGKILL, 0, 0, 0]
    assert {path.read_bytes() for path in out} == {b"made by one who waited"}
    assert len(log.read_text().splitlines()) == 1
    assert Cache(directory).get("view:1:held") == b"made by one who waited"


def test_a_child_forked_while_a_key_is_held_does_not_wait_for_ever(tmp_path: Path) -> None:
    """Nor does it let go of the key: who wants it still waits for the parent."""
    (found,) = in_processes(1, fork_beside_a_held_key, lambda _: (tmp_path / "cache", tmp_path))
    assert found == {
        "another key": FORKED,
        "the same key": FORKED,
        "another process": "the parent's",
        "the parent": "well",
    }


def test_a_forked_child_waits_for_no_key_that_is_held_in_its_parents_memory(tmp_path: Path) -> None:
    (found,) = in_processes(1, fork_beside_a_held_key, lambda _: (None, tmp_path))
    assert found == {"another key": "well", "the same key": "well", "the parent": "well"}


def test_children_forked_amid_use_do_not_wait_for_ever(tmp_path: Path) -> None:
    """Whatever the threads that are not there any more were at, in SQLite or with the keys."""
    (ended,) = in_processes(1, fork_amid_use, lambda _: (tmp_path / "cache", FORKS))
    assert Counter(ended) == {FORKED: FORKS}
    assert Cache(tmp_path / "cache").verify() == {}


def test_what_a_forked_child_stores_is_not_lost(tmp_path: Path) -> None:
    """SQLite's locks are its parent's: a child that went on with them would write into a file that is thrown away."""
    directory, used, ended, stored = (tmp_path / name for name in ("cache", "used", "ended", "stored"))
    parent = SPAWN.Process(target=fork_and_end, args=(directory, used, ended, stored))
    parent.start()
    parent.join()
    in_processes(1, use, lambda _: (directory,))  # alone, and so SQLite tidies up when it goes
    ended.touch()
    wait_for(stored.exists)
    held = {entry.key for entry in Cache(directory).entries()}
    assert held >= {"put:1:first", "put:1:second", "put:1:user", *stored.read_text().split()}


@pytest.mark.parametrize("policy", ["least-recently-stored", "least-recently-used"])
def test_a_limit_holds_for_all_processes_together(tmp_path: Path, policy: Any) -> None:
    directory, limit, free, paid = tmp_path / "cache", 4_000_000, 120, 40
    told = in_processes(4, fill, lambda number: (directory, number, policy, limit, free, paid))
    assert [fault for each in told for fault in each.faults] == []
    cache = Cache(directory, size_limit=limit, policy=policy)
    stats, written = cache.stats(), sum((each.strikes for each in told), Counter[str]())
    print(f"{policy}: {stats}")
    assert written == {"tile": 8 * free, "reply": 8 * paid}
    for kind, counts in stats.items():
        assert counts["entries"] + counts["evicted"] == written[kind], "each was counted, whoever evicted it"
        assert counts["corrupt"] == 0
    assert stats["reply"]["evicted"] == 0 < stats["tile"]["evicted"], "what was paid for goes last"
    assert 0.7 * limit < sum(counts["bytes"] for counts in stats.values()) <= limit, "and no more goes than must"
    assert sum(path.stat().st_size for path in directory.rglob("*.val")) <= limit
    warned = [message for each in told for message in each.warned]
    assert warned and all("is full" in message for message in warned)
    assert cache.verify() == {}


@pytest.mark.parametrize("size", [5_000, 50_000], ids=["in the database", "in files"])
def test_no_more_is_evicted_than_must_be_and_what_was_paid_for_last(tmp_path: Path, size: int) -> None:
    limit = 40 * size + 100_000  # the database takes some by itself
    cache = Cache(tmp_path, size_limit=limit)
    for number in range(20):
        cache.put(f"reply:1:{number}", b"p" * size, paid=True)
    with pytest.warns(CacheWarning, match="is full"):
        for number in range(60):
            cache.put(f"tile:1:{number}", b"f" * size)
    stats = cache.stats()
    assert (stats["reply"]["entries"], stats["reply"]["evicted"]) == (20, 0)
    assert stats["tile"]["entries"] >= 15, "as many as there is room for"
    assert cache.get("tile:1:59") == b"f" * size and cache.get("tile:1:0") is None
    with pytest.warns(CacheWarning, match="what was paid for last"):
        for number in range(20, 60):
            before = cache.stats()
            cache.put(f"reply:1:{number}", b"p" * size, paid=True)
            stats = cache.stats()
            if stats["reply"]["evicted"] > before["reply"]["evicted"]:
                assert stats["tile"]["entries"] == 0 and before["tile"]["entries"] <= 1
    assert stats["reply"]["evicted"] > 0 and stats["reply"]["entries"] >= 35
    assert cache.get("reply:1:59") == b"p" * size and cache.get("reply:1:0") is None


def in_processes(count: int, task: Callable[..., Any], arguments: Callable[[int], tuple[Any, ...]]) -> list[Any]:
    """Do a task in some new processes at the same time; return what each of them tells."""
    with ProcessPoolExecutor(count, mp_context=SPAWN) as pool:
        return [done.result() for done in [pool.submit(task, *arguments(number)) for number in range(count)]]


def is_as_it_should_be(cache: Cache, key: str) -> bool:
    """Tell whether a key's value is in the cache."""
    return cache.get_json(key) == json_of(key) if key.startswith("json:") else cache.get(key) == value_of(key)
