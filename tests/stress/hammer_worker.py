"""Tasks for the processes of test_hammer: each opens the cache, most of them in several threads."""

import hashlib
import multiprocessing
import os
import random
import sys
import threading
import time
import traceback
import warnings
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from support.parallel import wait_until

from atlaskit.caching.cache import Cache
from atlaskit.errors import CacheError, CacheWarning

THREADS = 8
LARGEST = 200_000
WINDOW, KEYS_A_SECOND = 400, 25
"""Number of keys in use at a time, and how many of them new keys replace in a second."""
OPERATIONS = {"get": 35, "put": 17, "remember": 35, "remember_all": 12, "stats": 1}
"""Relative frequencies of the operations; the names are methods of `Hammer`."""
PATIENCE_S = 30.0
"""Seconds after which a process that should have ended counts as hung."""


def value_of(key: str) -> bytes:
    """Return the only value of a key: empty, some bytes, or up to 200 kB, stored in a file."""
    name = hashlib.sha256(key.encode()).hexdigest()
    share = int(name[:8], 16) / 2**32
    size = 0 if share < 0.05 else int(LARGEST * share**4)
    return (name.encode() * (size // len(name) + 1))[:size]


@dataclass
class Report:
    """What a process did, returned when it ends."""

    operations: Counter[str] = field(default_factory=Counter)
    waited: int = 0
    """How often a key was missing, and made by another caller while this one waited."""
    stored: set[str] = field(default_factory=set)
    """Keys that must be in the cache from now on."""
    faults: list[str] = field(default_factory=list)
    """Tracebacks."""


class Hammer:
    """The cache as one process opened it, and the random operations that its threads call."""

    def __init__(self, directory: Path, log: Path, began_s: float) -> None:
        self.cache = Cache(directory)
        self.began_s = began_s
        self.report = Report()
        self._log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def run_until(self, until_s: float, seed: str) -> None:
        """Call random operations until a time; stop at the first error and report it."""
        rng = random.Random(seed)
        try:
            while time.monotonic() < until_s:
                (name,) = rng.choices(list(OPERATIONS), list(OPERATIONS.values()))
                getattr(self, name)(rng)
                self.report.operations[name] += 1
        except BaseException:
            self.report.faults.append(traceback.format_exc())

    def draw(self, rng: random.Random, kind: str) -> str:
        """Return a random key of the window, new ones more often, so that threads need the same."""
        newest = WINDOW + int((time.monotonic() - self.began_s) * KEYS_A_SECOND)
        return f"{kind}:1:{newest - int(WINDOW * rng.random() ** 3)}"

    def make(self, key: str, rng: random.Random) -> bytes:
        """Make a value, slowly, and log that it is made."""
        os.write(self._log, f"{key} {os.getpid()}\n".encode())  # one write, so that lines do not mix
        time.sleep(rng.uniform(0.001, 0.008))
        return value_of(key)

    def get(self, rng: random.Random) -> None:
        """Get a value, which must exist if this process has stored it."""
        key = self.draw(rng, rng.choice(["made", "put"]))
        was_stored = key in self.report.stored
        value = self.cache.get(key)
        assert value == value_of(key) or (value is None and not was_stored), key

    def put(self, rng: random.Random) -> None:
        """Store a value that other threads may be storing or reading."""
        key = self.draw(rng, "put")
        self.cache.put(key, value_of(key))
        self.report.stored.add(key)

    def remember(self, rng: random.Random) -> None:
        """Remember a key that other threads need too."""
        key = self.draw(rng, "made")
        own = list[str]()
        was_cached = self.cache.get(key) is not None

        def make() -> bytes:
            own.append(key)
            return self.make(key, rng)

        assert self.cache.remember(key, make) == value_of(key), key
        self.report.waited += not was_cached and not own
        self.report.stored.add(key)

    def remember_all(self, rng: random.Random) -> None:
        """Remember several keys in random order, some of them twice."""
        keys = [self.draw(rng, "made") for _ in range(rng.randint(1, 8))]
        keys += rng.choices(keys, k=rng.randint(0, 2))
        values = self.cache.remember_all(keys, lambda places: [self.make(keys[place], rng) for place in places])
        assert values == [value_of(key) for key in keys], keys
        self.report.stored.update(keys)

    def stats(self, rng: random.Random) -> None:
        """Count all entries; none is damaged."""
        for kind, counts in self.cache.stats().items():
            assert counts["corrupt"] == 0, (kind, counts)


def hammer(directory: Path, log: Path, number: int, processes: int, seconds: float) -> Report:
    """Use the cache from all threads for some seconds, once all processes have started."""
    warnings.simplefilter("error", CacheWarning)  # a damaged entry is a fault
    (log.parent / f"started{number}").touch()
    wait_until(lambda: len(list(log.parent.glob("started*"))) == processes, 10 * PATIENCE_S)
    began_s = max(path.stat().st_mtime for path in log.parent.glob("started*")) - time.time() + time.monotonic()
    hammer = Hammer(directory, log, began_s)
    until_s = time.monotonic() + seconds
    threads = [threading.Thread(target=hammer.run_until, args=(until_s, f"{number} {n}")) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return hammer.report


def hold(directory: Path, key: str, inside: Path) -> None:
    """Hold a key until this process is killed."""

    def make() -> bytes:
        inside.touch()
        time.sleep(600)
        return b"too late"

    Cache(directory).remember(key, make)


def take(directory: Path, key: str, waiting: Path, log: Path, out: Path) -> None:
    """Remember a key that another process holds; mark that this one waits, then write the value."""

    def make() -> bytes:
        with log.open("a") as file:
            file.write(f"{os.getpid()}\n")
        return b"made by a waiting process"

    out.write_bytes(Cache(directory).remember(key, make, go_on=lambda: bool(waiting.touch())))


def fork_beside_a_held_key(directory: Path) -> int | None:
    """Fork while a thread holds a key; return the exit code of a child that is refused it."""
    cache = Cache(directory)
    inside = threading.Event()
    release = threading.Event()

    def make() -> bytes:
        inside.set()
        release.wait(2 * PATIENCE_S)
        return b"the parent's"

    def ask() -> None:
        with suppress(CacheError):
            cache.remember("view:1:held", lambda: b"the child's")
            sys.exit("It was not refused.")

    holder = threading.Thread(target=cache.remember, args=("view:1:held", make))
    holder.start()
    inside.wait()
    child = multiprocessing.get_context("fork").Process(target=ask)
    child.start()
    child.join(PATIENCE_S)
    code = child.exitcode
    child.kill()
    release.set()
    holder.join()
    return code
