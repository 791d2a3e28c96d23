"""A task for a process of test_hammer that forks while it has the cache open."""

import os
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

from stress.hammer_worker import PATIENCE_S, is_usable

from atlaskit.caching.cache import Cache
from atlaskit.errors import CacheError, CacheWarning

OK, FAILED, REFUSED = 0, 1, 3
"""Exit codes of a forked child: right values, wrong values, or a CacheError."""


def fork_beside_a_held_key(directory: Path) -> dict[str, str]:
    """Fork while a thread holds a key; return how the children and the parent got on."""
    cache, inside, release = Cache(directory), threading.Event(), threading.Event()

    def make() -> bytes:
        inside.set()
        release.wait(2 * PATIENCE_S)
        return b"the parent's"

    holder = threading.Thread(target=cache.remember, args=("view:1:held", make))
    holder.start()
    inside.wait()
    try:
        found = {
            "another key": in_a_fork(lambda: is_usable(cache, "child")),
            "the same key": in_a_fork(lambda: cache.remember("view:1:held", lambda: b"the child's") == b""),
            "a cache of its own": in_a_fork(lambda: is_warned_and_usable(directory)),
        }
    finally:
        release.set()
        holder.join()
    found["the parent"] = "ok" if cache.get("view:1:held") == b"the parent's" and is_usable(cache, "me") else "failed"
    return found


def is_warned_and_usable(directory: Path) -> bool:
    """Return whether a cache in the directory is one in memory, and says so."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CacheWarning)
        return is_usable(Cache(directory), "child") and len(caught) == 1


def in_a_fork(task: Callable[[], bool]) -> str:
    """Run a task in a forked child; return "ok", "refused", "failed" or "hung"."""
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
    until_s = time.monotonic() + PATIENCE_S
    while os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if time.monotonic() > until_s:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.002)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return {OK: "ok", REFUSED: "refused", -signal.SIGKILL: "hung"}.get(code, "failed")
