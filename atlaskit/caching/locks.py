"""Single flight: what several want at once, one of them makes, across the threads and processes of a host.

A key is held by a lock of this process, and by a byte of a lock file, at a place that the key's hash names. The kernel
lets go of that byte when a process dies, however it dies. Knows nothing of what is made.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from weakref import WeakSet

from atlaskit.errors import CacheError, reason

try:
    import fcntl
except ModuleNotFoundError:  # Windows: threads are held apart there, processes are not
    fcntl = None  # type: ignore[assignment]

LOOK_S = 0.2
"""How long at most nobody looks whether a key is still waited for."""
FIRST_NAP_S, LONGEST_NAP_S = 0.001, 0.05
"""How long to sleep between two looks at a key that another process holds."""


_all: WeakSet[KeyLocks] = WeakSet()


class KeyLocks:
    """Who holds which keys. All who use a directory in this process share one: see `flights_in`."""

    def __init__(self, path: Path | None) -> None:
        """Name the lock file, which is made when it is first needed; None is for threads alone."""
        self._path, self._file = path, -1
        self.clear()
        _all.add(self)

    def clear(self) -> None:
        """Forget who holds what: in a forked process, none of them is there.

        The file is not closed there: another thread may have been at it, and its number may be another's by now.
        """
        self._file, self._holders = -1, 0
        self._guard = threading.Lock()
        self._held: dict[str, tuple[threading.Lock, int]] = {}

    @contextmanager
    def alone(self, keys: Iterable[str], go_on: Callable[[], bool] = lambda: False) -> Iterator[None]:
        """Hold some keys against everyone else, or go on beside them when that is called for.

        Keys are taken in their order, so that two who want some of the same never wait for each other.
        """
        with ExitStack() as stack:
            for key in sorted(set(keys)):
                stack.enter_context(self._alone(key, go_on))
            yield

    @contextmanager
    def _alone(self, key: str, go_on: Callable[[], bool]) -> Iterator[None]:
        with self._guard:
            lock, users = self._held.get(key, (threading.Lock(), 0))
            self._held[key] = (lock, users + 1)
        holds = False
        try:
            holds = lock.acquire(blocking=False)
            while not holds and not go_on():
                holds = lock.acquire(timeout=LOOK_S)
            with self._among_processes(key, go_on) if holds else ExitStack():
                yield
        finally:
            if holds:
                lock.release()
            with self._guard:
                lock, users = self._held.pop(key, (lock, 1))  # it is gone where this was forked meanwhile
                if users > 1:
                    self._held[key] = (lock, users - 1)

    @contextmanager
    def _among_processes(self, key: str, go_on: Callable[[], bool]) -> Iterator[None]:
        if self._path is None or fcntl is None:
            yield
            return
        place, nap_s = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") >> 2, FIRST_NAP_S
        with self._opened(self._path) as file:
            while not (holds := _lock(file, place)) and not go_on():
                time.sleep(nap_s)
                nap_s = min(2 * nap_s, LONGEST_NAP_S)
            try:
                yield
            finally:
                if holds:
                    fcntl.lockf(file, fcntl.LOCK_UN, 1, place)

    @contextmanager
    def _opened(self, path: Path) -> Iterator[int]:
        """Give the lock file, one descriptor for all: to close any drops every lock that the process has on it."""
        with self._guard:
            if not self._holders:
                try:
                    self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                except OSError as error:
                    raise CacheError(
                        f"{path} cannot be opened ({reason(error)}): was the cache deleted while it was in use?"
                    ) from error
            self._holders += 1
        try:
            yield self._file
        finally:
            with self._guard:
                self._holders -= 1
                if not self._holders:
                    os.close(self._file)
                    self._file = -1


_flights: dict[Path, KeyLocks] = {}
_flights_lock = threading.Lock()


def flights_in(directory: Path) -> KeyLocks:
    """Return this process's flights in a directory."""
    with _flights_lock:
        place = directory.resolve()
        return _flights.setdefault(place, KeyLocks(place / "flights.lock"))


def _after_fork() -> None:
    global _flights_lock
    _flights_lock = threading.Lock()
    for flights in list(_all):
        flights.clear()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_after_fork)


def _lock(file: int, place: int) -> bool:
    """Lock a byte; tell whether it could be had at once."""
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
    except BlockingIOError:
        return False
    except OSError as error:
        raise CacheError(
            f"Keys cannot be locked in the cache's directory ({reason(error)}): name one on a local disk."
        ) from error
    return True
