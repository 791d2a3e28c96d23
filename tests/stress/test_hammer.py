"""One cache, many processes with many threads: nothing is lost, mixed up or made twice.

This holds when processes are killed, and when they fork.
"""

import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from stress.hammer_worker import OPERATIONS, PATIENCE_S, fork_beside_a_held_key, hammer, hold, take, value_of
from support.parallel import wait_until

from atlaskit.caching.cache import Cache

PROCESSES = 8
SECONDS = float(os.environ.get("ATLASKIT_HAMMER_S", "4"))
"""Duration of the hammer test; the environment variable ATLASKIT_HAMMER_S sets it."""
SPAWN = multiprocessing.get_context("spawn")


@pytest.mark.long
def test_eight_processes_of_eight_threads_share_one_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "made.txt"
    cache = Cache(tmp_path / "cache")
    reports = in_processes(PROCESSES, hammer, lambda number: (tmp_path / "cache", log, number, PROCESSES, SECONDS))
    made = [line.split() for line in log.read_text().splitlines()]
    operations = sum((report.operations for report in reports), Counter[str]())
    stored = set[str]().union(*(report.stored for report in reports))
    assert [fault for report in reports for fault in report.faults] == []
    assert len({key for key, _ in made}) == len(made), "no key is made twice"
    assert {key for key, _ in made} == {key for key in stored if key.startswith("made:")}
    assert len({process for _, process in made}) == PROCESSES and operations.keys() == OPERATIONS.keys()
    assert sum(report.waited for report in reports) > 20, "too little contention to test anything"
    assert [key for key in stored if cache.get(key) != value_of(key)] == []
    stats = cache.stats()
    assert sum(counts["entries"] for counts in stats.values()) == len(stored)
    assert all(counts["corrupt"] == 0 for counts in stats.values())
    monkeypatch.setattr("atlaskit.caching.disk.ORPHAN_AGE_S", -60.0)  # files of any age count as orphans
    assert cache.verify() == {}


def test_a_killed_process_releases_its_key(tmp_path: Path) -> None:
    """If the process that makes an entry is killed, one waiting process makes it for all."""
    directory, inside, log = tmp_path / "cache", tmp_path / "inside", tmp_path / "made.txt"
    holder = SPAWN.Process(target=hold, args=(directory, "view:1:held", inside), daemon=True)
    holder.start()
    wait_until(inside.exists)
    waiting, out = ([tmp_path / f"{name}{number}" for number in range(3)] for name in ("waiting", "out"))
    takers = [
        SPAWN.Process(target=take, args=(directory, "view:1:held", mark, log, path), daemon=True)
        for mark, path in zip(waiting, out, strict=True)
    ]
    for taker in takers:
        taker.start()
    wait_until(lambda: all(mark.exists() for mark in waiting))
    assert holder.is_alive() and not log.exists() and not any(path.exists() for path in out)
    holder.kill()
    holder.join()
    for taker in takers:
        taker.join(PATIENCE_S)
    assert [holder.exitcode, *(taker.exitcode for taker in takers)] == [-signal.SIGKILL, 0, 0, 0]
    assert {path.read_bytes() for path in out} == {b"made by a waiting process"}
    assert len(log.read_text().splitlines()) == 1
    assert Cache(directory).get("view:1:held") == b"made by a waiting process"


def test_a_child_forked_while_a_key_is_held_neither_hangs_nor_writes(tmp_path: Path) -> None:
    """SQLite does not survive a fork: the child would take its parent's locks for its own."""
    assert in_processes(1, fork_beside_a_held_key, lambda _: (tmp_path / "cache",)) == [0]
    assert Cache(tmp_path / "cache").get("view:1:held") == b"the parent's"


def in_processes(count: int, task: Callable[..., Any], arguments: Callable[[int], tuple[Any, ...]]) -> list[Any]:
    """Run a task in some new processes at the same time; return what each returns."""
    with ProcessPoolExecutor(count, mp_context=SPAWN) as pool:
        return [future.result() for future in [pool.submit(task, *arguments(number)) for number in range(count)]]
