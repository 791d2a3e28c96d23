"""`KeyLocks`: locks a key, so that exactly one thread of one process computes its value.

A `threading.Lock` keeps out the other threads of this process. A locked byte of a lock file, at an
offset that the key's hash gives, keeps out the other processes of the host; the kernel releases
this byte when the process dies. This module knows nothing about the values that callers compute.
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
except ModuleNotFoundError:  # Windows: locks hold between threads only
    fcntl = None  # type: ignore[assignment]

POLL_S = 0.2
"""Seconds between two calls of `go_on` while another thread holds the key."""
MIN_SLEEP_S = 0.001
"""Seconds to sleep after the first failed attempt to lock a key that another process holds."""
MAX_SLEEP_S = 0.05
"""Each sleep is twice as long as the sleep before it, up to this many seconds."""

_all: WeakSet[KeyLocks] = WeakSet()


class KeyLocks:
    """Locks by key. All users of a directory in this process share one object: see `locks_in`."""

    def __init__(self, path: Path | None) -> None:
        """Make the locks, all of them free.

        Args:
            path: Lock file, created on first use. None means locks between threads only.
        """
        self._path = path
        self._file = -1
        self.clear()
        _all.add(self)

    def clear(self) -> None:
        """Forget all holders. A forked process calls this, since their threads do not exist in it.

        The lock file is not closed, because its descriptor may belong to another file by now.
        """
        self._file = -1
        self._holders = 0
        self._guard = threading.Lock()
        self._held: dict[str, tuple[threading.Lock, int]] = {}

    @contextmanager
    def hold(
        self, keys: Iterable[str], go_on: Callable[[], bool] = lambda: False
    ) -> Iterator[None]:
        """Hold some keys against all other threads and processes.

        Args:
            keys: The keys. They are locked in sorted order, so that two callers never wait for each
                other.
            go_on: Called while a key is not free; True means to go on without that key.

        Raises:
            CacheError: The lock file cannot be opened or locked.
        """
        with ExitStack() as stack:
            for key in sorted(set(keys)):
                stack.enter_context(self._hold_one(key, go_on))
            yield

    @contextmanager
    def _hold_one(self, key: str, go_on: Callable[[], bool]) -> Iterator[None]:
        with self._guard:
            lock, users = self._held.get(key, (threading.Lock(), 0))
            self._held[key] = (lock, users + 1)
        holds = False
        try:
            holds = lock.acquire(blocking=False)
            while not holds and not go_on():
                holds = lock.acquire(timeout=POLL_S)
            if holds:
                with self._hold_in_file(key, go_on):
                    yield
            else:  # the caller goes on without the key
                yield
        finally:
            if holds:
                lock.release()
            with self._guard:
                lock, users = self._held.pop(key, (lock, 1))  # none are left after a fork
                if users > 1:
                    self._held[key] = (lock, users - 1)

    @contextmanager
    def _hold_in_file(self, key: str, go_on: Callable[[], bool]) -> Iterator[None]:
        if self._path is None or fcntl is None:
            yield
            return
        digest = hashlib.sha256(key.encode()).digest()
        offset = int.from_bytes(digest[:8], "big") >> 2  # file offsets have at most 63 bits
        sleep_s = MIN_SLEEP_S
        with self._lock_file(self._path) as file:
            holds = _lock(file, offset)
            while not holds and not go_on():
                time.sleep(sleep_s)
                sleep_s = min(2 * sleep_s, MAX_SLEEP_S)
                holds = _lock(file, offset)
            try:
                yield
            finally:
                if holds:
                    fcntl.lockf(file, fcntl.LOCK_UN, 1, offset)

    @contextmanager
    def _lock_file(self, path: Path) -> Iterator[int]:
        """Yield the descriptor of the lock file. All threads share it, and the last closes it.

        A process that closes any descriptor of a file loses all of its locks on that file.
        """
        with self._guard:
            if not self._holders:
                try:
                    self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                except OSError as error:
                    raise CacheError(
                        f"{path} cannot be opened ({reason(error)}): was the cache deleted while "
                        "it was in use?"
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


_locks: dict[Path, KeyLocks] = {}
_locks_guard = threading.Lock()


def locks_in(directory: Path) -> KeyLocks:
    """Return this process's locks for a directory."""
    with _locks_guard:
        path = directory.resolve()
        return _locks.setdefault(path, KeyLocks(path / "flights.lock"))


def _after_fork() -> None:
    global _locks_guard
    _locks_guard = threading.Lock()
    for locks in list(_all):
        locks.clear()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_after_fork)


def _lock(file: int, offset: int) -> bool:
    """Try to lock a byte of a file; return whether it was free."""
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, offset)
    except BlockingIOError:
        return False
    except OSError as error:
        raise CacheError(
            f"Keys cannot be locked in the directory of the cache ({reason(error)}): name one on "
            "a local disk."
        ) from error
    return True
