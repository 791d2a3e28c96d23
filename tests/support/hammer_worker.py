"""What the processes of test_hammer do: each opens the cache by itself, and most let threads loose on it."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import random
import signal
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from atlaskit.caching.cache import Cache
from atlaskit.errors import CacheError, CacheWarning

THREADS = 8
LARGEST = 200_000
WINDOW, KEYS_A_SECOND = 400, 25
"""How many keys are in use at a time, and how many of them give way to new ones in a second."""
STRIKES = {"get": 30, "put": 12, "remember": 30, "remember_all": 12, "put_json": 5, "get_json": 8, "stats": 1}
"""How often each is drawn, beside the others."""
MANY = 8
PATIENCE_S = 30.0
"""After which a process that should have ended counts as one that never will."""
WELL, ILL, TOLD = 0, 1, 3
"""How a forked child ends: it used the cache; it did not get what it should; it was told that it cannot use it."""


def value_of(key: str) -> bytes:
    """Return the one value of a key: nothing, a few bytes, or up to 200 kB, which lie in a file."""
    name = hashlib.sha256(key.encode()).hexdigest()
    share = int(name[:8], 16) / 2**32
    size = 0 if share < 0.05 else int(LARGEST * share**4)
    return (name.encode() * (size // len(name) + 1))[:size]


def json_of(key: str) -> dict[str, Any]:
    """Return the one JSON value of a key."""
    return {"key": key, "numbers": list(range(len(value_of(key)) % 500))}


@dataclass
class Told:
    """What a process says when it is done."""

    strikes: Counter[str] = field(default_factory=Counter)
    waited: int = 0
    """How often a key was missing, and then made by another while this one waited."""
    stored: set[str] = field(default_factory=set)
    """Keys that are in the cache from then on: remembered here, or put."""
    faults: list[str] = field(default_factory=list)
    warned: list[str] = field(default_factory=list)


class Hammer:
    """A process's own view of the cache, and the threads that strike at it."""

    def __init__(self, directory: Path, log: Path, began_s: float) -> None:
        self.cache, self.began_s, self.told = Cache(directory), began_s, Told()
        self._log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def strike_until(self, until_s: float, seed: str) -> None:
        """Strike again and again; note what goes wrong, and stop at it."""
        rng = random.Random(seed)
        try:
            while time.monotonic() < until_s:
                (name,) = rng.choices(list(STRIKES), list(STRIKES.values()))
                getattr(self, name)(rng)
                self.told.strikes[name] += 1
        except BaseException:
            self.told.faults.append(traceback.format_exc())

    def draw(self, rng: random.Random, kind: str) -> str:
        """Return a key out of the window, more often a new one, which others are likely to want at the same time."""
        newest = WINDOW + int((time.monotonic() - self.began_s) * KEYS_A_SECOND)
        return f"{kind}:1:{newest - int(WINDOW * rng.random() ** 3)}"

    def make(self, key: str, rng: random.Random) -> bytes:
        """Make a value, slowly, and write down that it is made."""
        os.write(self._log, f"{key} {os.getpid()} {time.monotonic()}\n".encode())  # in one piece
        time.sleep(rng.uniform(0.001, 0.008))
        return value_of(key)

    def get(self, rng: random.Random) -> None:
        """Get what is there, and surely what was stored before."""
        key = self.draw(rng, rng.choice(["made", "put"]))
        is_there = key in self.told.stored
        value = self.cache.get(key)
        assert value == value_of(key) or (value is None and not is_there), said(key, value)

    def put(self, rng: random.Random) -> None:
        """Store what others may be storing, or reading, at the same time."""
        key = self.draw(rng, "put")
        self.cache.put(key, value_of(key), paid=rng.random() < 0.3)
        self.told.stored.add(key)

    def remember(self, rng: random.Random) -> None:
        """Want what others want too."""
        key, mine = self.draw(rng, "made"), list[str]()
        was_there = self.cache.get(key) is not None

        def make() -> bytes:
            mine.append(key)
            return self.make(key, rng)

        value = self.cache.remember(key, make, paid=rng.random() < 0.3)
        assert value == value_of(key), said(key, value)
        self.told.waited += not was_there and not mine
        self.told.stored.add(key)

    def remember_all(self, rng: random.Random) -> None:
        """Want several at once, in any order, some of which others want in another, and some twice."""
        keys = [self.draw(rng, "made") for _ in range(rng.randint(1, MANY))]
        keys += rng.choices(keys, k=rng.randint(0, 2))
        values = self.cache.remember_all(keys, lambda places: [self.make(keys[place], rng) for place in places])
        for key, value in zip(keys, values, strict=True):
            assert value == value_of(key), said(key, value)
        self.told.stored.update(keys)

    def put_json(self, rng: random.Random) -> None:
        """Store a JSON value."""
        key = self.draw(rng, "json")
        self.cache.put_json(key, json_of(key))
        self.told.stored.add(key)

    def get_json(self, rng: random.Random) -> None:
        """Get a JSON value, if it is there."""
        key = self.draw(rng, "json")
        is_there = key in self.told.stored
        value = self.cache.get_json(key)
        assert value == json_of(key) or (value is None and not is_there), f"{key} came as {value!r:.80}"

    def stats(self, rng: random.Random) -> None:
        """Count everything meanwhile."""
        for kind, counts in self.cache.stats().items():
            assert counts["corrupt"] == counts["evicted"] == 0, (kind, counts)


def said(key: str, value: bytes | None) -> str:
    """Say what came instead of a key's value."""
    came = "nothing" if value is None else f"{len(value)} bytes, {value[:64]!r}"
    return f"{key} is {len(value_of(key))} bytes, {value_of(key)[:64]!r}, and came as {came}"


def hammer(directory: Path, log: Path, number: int, processes: int, seconds: float) -> Told:
    """Hammer the cache with all threads, from when all processes are there."""
    warnings.simplefilter("error", CacheWarning)  # no entry may be damaged
    (log.parent / f"here{number}").touch()
    wait_for(lambda: len(list(log.parent.glob("here*"))) == processes, 10 * PATIENCE_S)
    began_s = max(path.stat().st_mtime for path in log.parent.glob("here*")) - time.time() + time.monotonic()
    hammer, until_s = Hammer(directory, log, began_s), time.monotonic() + seconds
    together([lambda thread=thread: hammer.strike_until(until_s, f"{number} {thread}") for thread in range(THREADS)])
    return hammer.told


def fill(directory: Path, number: int, policy: Any, size_limit: int, free: int, paid: int) -> Told:
    """Write more into a limited cache than it takes, a little of it paid for, and read some of it again."""
    told = Told()

    def write(thread: int) -> None:
        try:
            rng = random.Random(f"{number} {thread}")
            kinds = ["tile"] * free + ["reply"] * paid
            rng.shuffle(kinds)
            for place, kind in enumerate(kinds):
                key = f"{kind}:1:{number}.{thread}.{place}"
                size = 1000 if kind == "reply" else rng.choice([500, 5_000, 20_000, 60_000])
                cache.put(key, (key.encode() * size)[:size], paid=kind == "reply")
                told.strikes[kind] += 1
                earlier = f"{kind}:1:{number}.{thread}.{rng.randrange(place + 1)}"
                value = cache.get(earlier)
                assert value is None or value.startswith(earlier.encode()), said(earlier, value)
                held = sum(counts["bytes"] for counts in cache.stats().values())
                assert held <= size_limit, f"{held} bytes in a cache of {size_limit}"
        except BaseException:
            told.faults.append(traceback.format_exc())

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        cache = Cache(directory, size_limit=size_limit, policy=policy)
        together([lambda thread=thread: write(thread) for thread in range(2)])
    told.warned = [str(each.message) for each in warned if each.category is CacheWarning]
    return told


def hold(directory: Path, key: str, inside: Path) -> None:
    """Hold a key until someone ends this process."""

    def make() -> bytes:
        inside.touch()
        time.sleep(600)
        return b"too late"

    Cache(directory).remember(key, make)


def take(directory: Path, key: str, waiting: Path, log: Path, out: Path) -> None:
    """Want a key that another holds; leave a mark when it is waited for, and write what came of it."""

    def make() -> bytes:
        with log.open("a") as file:
            file.write(f"{os.getpid()}\n")
        return b"made by one who waited"

    out.write_bytes(Cache(directory).remember(key, make, go_on=lambda: bool(waiting.touch())))


def fork_beside_a_held_key(directory: Path | None, home: Path) -> dict[str, str]:
    """Fork while another thread holds a key; return how the children ended, and what another process then found."""
    cache, inside, let_go = Cache(directory), threading.Event(), threading.Event()
    waiting, log, out = (home / name for name in ("waiting", "log", "out"))

    def make() -> bytes:
        inside.set()
        let_go.wait(2 * PATIENCE_S)
        return b"the parent's"

    holder = threading.Thread(target=cache.remember, args=("view:1:held", make))
    holder.start()
    inside.wait()
    try:
        found = {"another key": end_of(forked(lambda: is_usable(cache, "child")))}
        child = forked(lambda: wanted(cache, waiting) in (b"the child's", b"the parent's"))
        wait_for(lambda: waiting.exists() or has_ended(child))
        if directory is not None:  # what children open and close lets go of none of the parent's keys
            mark = home / "another waiting"
            other = multiprocessing.get_context("spawn").Process(
                target=take, args=(directory, "view:1:held", mark, log, out), daemon=True
            )
            other.start()
            wait_for(mark.exists)
            let_go.set()
            other.join(PATIENCE_S)
            found["another process"] = out.read_text()
        let_go.set()
        found["the same key"] = end_of(child)
    finally:
        let_go.set()
        holder.join()
    found["the parent"] = "well" if cache.get("view:1:held") == b"the parent's" and is_usable(cache, "me") else "ill"
    return found


def fork_amid_use(directory: Path, times: int) -> list[str]:
    """Fork while other threads use the cache; return how the children ended."""
    cache, stop, ended = Cache(directory), threading.Event(), list[str]()

    def use(thread: int) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            key = f"made:{thread}:{number}"
            cache.remember(key, partial(value_of, key))
            cache.get(key)

    users = [threading.Thread(target=use, args=(thread,)) for thread in range(4)]
    for user in users:
        user.start()
    try:
        while len(ended) < times and "hung" not in ended:
            ended.append(end_of(forked(lambda: is_usable(cache, f"child {len(ended)}"))))
    finally:
        stop.set()
        for user in users:
            user.join()
    return ended


def wanted(cache: Cache, waiting: Path) -> bytes:
    """Want the held key, and leave a mark when it is waited for."""
    return cache.remember("view:1:held", lambda: b"the child's", go_on=lambda: bool(waiting.touch()))


def fork_and_end(directory: Path, used: Path, ended: Path, stored: Path) -> None:
    """Fork a child that uses the cache before and after this process ends; two caches were open before it.

    What the child did store, without an error, it writes down.
    """
    first, second, keys = Cache(directory), Cache(directory), list[str]()
    first.put("put:1:first", b"put")
    second.put("put:1:second", b"put")
    if os.fork() == 0:
        for key, done in (("put:1:child", used), ("put:1:orphan", stored)):
            with suppress(CacheError):
                first.put(key, b"put")
                keys.append(key)
            draft = done.with_suffix(".part")
            draft.write_text(" ".join(keys))
            draft.replace(done)
            if done == used:
                wait_for(ended.exists)
    else:
        wait_for(used.exists)
    os._exit(0)


def use(directory: Path) -> None:
    """Open the cache, use it, and end."""
    assert is_usable(Cache(directory), "user")


def is_usable(cache: Cache, name: str) -> bool:
    """Tell whether a cache takes and gives what it should."""
    cache.put(f"put:1:{name}", b"put")
    made = cache.remember(f"made:1:{name}", lambda: b"made")
    return (made, cache.get(f"put:1:{name}"), cache.get(f"made:1:{name}")) == (b"made", b"put", b"made")


def wait_for(has_come: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
    """Wait for something that surely comes."""
    until_s = time.monotonic() + patience_s
    while not has_come():
        assert time.monotonic() < until_s
        time.sleep(0.002)


def forked(task: Callable[[], bool]) -> int:
    """Do a task in a forked child; return its id."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(WELL if task() else ILL)
        except CacheError:
            os._exit(TOLD)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(ILL)
    return child


def has_ended(child: int) -> bool:
    """Tell whether a child has ended, and leave it to `end_of`."""
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def end_of(child: int) -> str:
    """Return how a child ended, after killing it where it does not end."""
    until_s = time.monotonic() + PATIENCE_S
    while not has_ended(child):
        if time.monotonic() > until_s:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.002)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return {WELL: "well", TOLD: "told", -signal.SIGKILL: "hung"}.get(code, "ill")


def together(tasks: list[Callable[[], None]]) -> None:
    """Do some tasks at the same time, in a thread each."""
    threads = [threading.Thread(target=task) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
