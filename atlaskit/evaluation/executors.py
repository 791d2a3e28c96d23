"""Where the questions of an evaluation are asked: by threads of this process, or by Ray on the nodes of a cluster.

An engine goes through the cases, some at once, and yields each one's place and row as it is done. Knows nothing of
methods, models and rows.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from atlaskit.benchmarks.case import Case
from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import IMAGES, kind_of
from atlaskit.errors import InputError

Row: TypeAlias = dict[str, Any]
Job: TypeAlias = Callable[[Case, Cache], Row]
Engine = Literal["local", "ray"]
ENGINES: tuple[Engine, ...] = get_args(Engine)

TRIES_AGAIN = 3
"""How often Ray begins a question anew whose node was lost."""


def on_threads(
    cases: Sequence[Case], job: Job, parallel: int, cache: Cache, stop: threading.Event
) -> Generator[tuple[int, Row]]:
    """Go through the cases by so many threads; `stop` tells the jobs that are under way that nobody waits any more."""
    with ThreadPoolExecutor(parallel) as pool:
        places = {pool.submit(job, case, cache): place for place, case in enumerate(cases)}
        try:
            for done in as_completed(places):
                yield places[done], done.result()
        finally:  # an interrupt: what was not begun is not begun
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)


def on_ray(
    cases: Sequence[Case],
    job: Job,
    parallel: int,
    cache: Cache,
    *,
    lost: Callable[[Case, str], Row],
    address: str | None = None,
) -> Generator[tuple[int, Row]]:
    """Go through the cases by so many Ray tasks, on the cluster that this process is in, that at `address`, or one of
    this machine alone.

    Each node has a cache of its own, in `nodes/NAME` below the driver's. Replies, and all else that a replay needs, go
    to the driver's as they come, and are found there by every node: nothing is asked again because a node was lost, or
    another cluster goes on. `lost` makes the row of a question that was lost with its nodes again and again. Raises
    InputError where there is no Ray, or no such cluster, and for a cache in memory, which nodes cannot reach.
    """
    if cache.directory is None:
        raise InputError('With engine="ray" the cache must be on disk, since nodes cannot reach one in memory.')
    with _cluster(address) as ray:
        pinned = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        here = pinned(ray.get_runtime_context().get_node_id(), soft=False)
        asked = {"num_cpus": 0, "max_concurrency": 16, "scheduling_strategy": here}
        home = ray.remote(**asked)(_DriverCache).remote(cache.directory)
        task = ray.remote(max_retries=TRIES_AGAIN, scheduling_strategy="SPREAD")(_at_node)
        sent, waiting = ray.put(job), list(enumerate(cases))[::-1]
        under_way: dict[Any, int] = {}
        try:
            while waiting or under_way:
                while waiting and len(under_way) < parallel:
                    place, case = waiting.pop()
                    under_way[task.remote(sent, case, home, cache.directory / "nodes")] = place
                (done,), _ = ray.wait(list(under_way))
                place = under_way.pop(done)
                try:
                    row = ray.get(done)
                except ray.exceptions.RayTaskError:
                    raise  # the job's own
                except ray.exceptions.RayError as error:
                    row = lost(cases[place], f"It was lost with its node: {str(error).splitlines()[0]}")
                yield place, row
        finally:
            for task_id in under_way:
                ray.cancel(task_id, force=True)
            ray.kill(home)


@contextmanager
def _cluster(address: str | None) -> Iterator[Any]:
    """Give Ray, in a cluster; one that was joined here is left."""
    try:
        import ray
        import ray.util.scheduling_strategies
    except ImportError as error:
        raise InputError("engine=\"ray\" needs Ray: pip install 'atlaskit[ray]'.") from error
    is_ours = not ray.is_initialized()
    if is_ours:
        try:
            ray.init(address=address, log_to_driver=False, include_dashboard=None if address else False)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise InputError(f"Ray cannot be joined at {address!r:.200}: {str(error).splitlines()[0]}.") from error
    try:
        yield ray
    finally:
        if is_ours:
            ray.shutdown()


def _at_node(job: Job, case: Case, home: Any, nodes: Path) -> Row:
    """Do a job on a node, with the node's own cache."""
    return job(case, _NodeCache(nodes / _node_name(), home))


@lru_cache(maxsize=1)
def _node_name() -> str:
    """Return the name of the node that this process is on, as a name of a folder."""
    import ray

    here = ray.get_runtime_context().get_node_id()
    listed: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    name = next((node["NodeName"] for node in listed if node["NodeID"] == here), here)
    return re.sub(r"[^\w.-]", "_", name)


class _DriverCache:
    """The driver's cache, for the nodes; lives on the driver's machine."""

    def __init__(self, directory: Path) -> None:
        self._cache = Cache(directory)

    def get(self, key: str) -> bytes | None:
        """Return what is there under a key."""
        return self._cache.get(key)

    def put(self, key: str, value: bytes) -> None:
        """Keep what a node has paid for."""
        self._cache.put(key, value, paid=True)


class _NodeCache(Cache):
    """A node's own cache: what it lacks it looks up at home, and what it comes to know it tells there, but for images,
    which it makes anew."""

    def __init__(self, directory: Path, home: Any) -> None:
        super().__init__(directory)
        self._home = home

    def put(self, key: str, value: bytes, *, paid: bool = False) -> None:
        """Store bytes under a key, here and at home."""
        super().put(key, value, paid=paid)
        if kind_of(key) not in IMAGES:
            _got(self._home.put.remote(key, bytes(value)))

    def _find(self, key: str) -> bytes | None:
        value = super()._find(key)
        if value is None and kind_of(key) not in IMAGES:
            value = _got(self._home.get.remote(key))
            if value is not None:
                super().put(key, value, paid=True)
        return value


def _got(told: Any) -> Any:
    import ray

    return ray.get(told)
