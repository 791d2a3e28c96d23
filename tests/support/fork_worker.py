"""Tasks for the processes of test_hammer that fork while they have the cache open."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from atlaskit.caching.cache import Cache
from atlaskit.errors import CacheError
from support.hammer_worker import PATIENCE_S, is_usable, take, wait_for

OK, FAILED, REFUSED = 0, 1, 3
"""Exit codes of a forked child: right values, wrong values, or a CacheError."""


def fork_beside_a_held_key(directory: Path | None, home: Path) -> dict[str, str]:
    """Fork while a thread holds a key; return how the children ended, and what others got."""
    cache, inside, release = Cache(directory), threading.Event(), threading.Event()
    waiting, log, out = (home / name for name in ("waiting", "log", "out"))

    def make() -> bytes:
        inside.set()
        release.wait(2 * PATIENCE_S)
        return b"the parent's"

    holder = threading.Thread(target=cache.remember, args=("view:1:held", make))
    holder.start()
    inside.wait()
    try:
        found = {"another key": end_of(forked(lambda: is_usable(cache, "child")))}
        child = forked(lambda: remember_held(cache, waiting) in (b"the child's", b"the parent's"))
        wait_for(lambda: waiting.exists() or has_ended(child))
        if directory is not None:  # children that open and close files release no key of the parent
            mark = home / "another waiting"
            other = multiprocessing.get_context("spawn").Process(
                target=take, args=(directory, "view:1:held", mark, log, out), daemon=True
            )
            other.start()
            wait_for(mark.exists)
            release.set()
            other.join(PATIENCE_S)
            found["another process"] = out.read_text()
        release.set()
        found["the same key"] = end_of(child)
    finally:
        release.set()
        holder.join()
    found["the parent"] = "ok" if cache.get("view:1:held") == b"the parent's" and is_usable(cache, "me") else "failed"
    return found


def remember_held(cache: Cache, waiting: Path) -> bytes:
    """Remember the held key; mark that this process waits."""
    return cache.remember("view:1:held", lambda: b"the child's", go_on=lambda: bool(waiting.touch()))


def fork_and_end(directory: Path, used: Path, ended: Path, stored: Path) -> None:
    """Fork a child that uses the cache before and after this process ends.

    Two caches are open at the fork. The child writes the keys that it could store into `stored`.
    """
    first, second, keys = Cache(directory), Cache(directory), list[str]()
    first.put("put:1:first", b"put")
    second.put("put:1:second", b"put")
    if os.fork() == 0:
        for key, mark in (("put:1:child", used), ("put:1:orphan", stored)):
            with suppress(CacheError):
                first.put(key, b"put")
                keys.append(key)
            draft = mark.with_suffix(".part")
            draft.write_text(" ".join(keys))
            draft.replace(mark)
            if mark == used:
                wait_for(ended.exists)
    else:
        wait_for(used.exists)
    os._exit(0)


def forked(task: Callable[[], bool]) -> int:
    """Run a task in a forked child; return its process id."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(OK if task() else FAILED)
        except CacheError:
            os._exit(REFUSED)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(FAILED)
    return child


def has_ended(child: int) -> bool:
    """Return whether a child has ended, without reaping it."""
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def end_of(child: int) -> str:
    """Return how a child ended: "ok", "refused", "failed", or "hung" if it had to be killed."""
    until_s = time.monotonic() + PATIENCE_S
    while not has_ended(child):
        if time.monotonic() > until_s:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.002)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return {OK: "ok", REFUSED: "refused", -signal.SIGKILL: "hung"}.get(code, "failed")
