"""`on_threads` and `on_ray`: run cases in parallel, in this process or on a cluster.

An executor yields the index and the row of each case as it finishes. It knows nothing of methods,
models and the columns of rows.
"""

from __future__ import annotations

import os
import re
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from atlaskit.benchmarks.case import Case
from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import is_image
from atlaskit.errors import InputError, missing

Row: TypeAlias = dict[str, Any]
Job: TypeAlias = Callable[[Case, Cache], Row]
Engine = Literal["local", "ray"]
ENGINES: tuple[Engine, ...] = get_args(Engine)

MAX_RETRIES = 3
"""How often Ray restarts a question whose node was lost."""


def on_threads(
    cases: Sequence[Case], job: Job, parallel: int, cache: Cache, cancel: threading.Event
) -> Generator[tuple[int, Row]]:
    """Run the cases on a pool of threads.

    Args:
        cases: The cases to run.
        job: Makes the row of a case.
        parallel: Number of threads.
        cache: The cache that every job gets.
        cancel: Set when the caller stops early, so that the running jobs stop as well.

    Yields:
        The index of a case and its row, in the order in which they finish.
    """
    with ThreadPoolExecutor(parallel) as pool:
        index_of = {pool.submit(job, case, cache): index for index, case in enumerate(cases)}
        try:
            for done in as_completed(index_of):
                yield index_of[done], done.result()
        finally:  # after an interrupt, no further job starts
            cancel.set()
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
    """Run the cases as Ray tasks.

    Each node has its own cache, in `nodes/NAME` below the driver's. Replies, and all else that a
    replay needs, are stored in the driver's cache too as they arrive, and every node finds them
    there. So neither a lost node nor a later run on another cluster repeats a call.

    Args:
        cases: The cases to run.
        job: Makes the row of a case.
        parallel: Number of tasks at once.
        cache: The driver's cache, on disk.
        lost: Makes the row of a case that failed because its node was lost more than MAX_RETRIES
            times. It takes the case and the reason.
        address: The address of the cluster to join; None for the one that this process has joined,
            or else a local one.

    Yields:
        The index of a case and its row, in the order in which they finish.

    Raises:
        InputError: If Ray is not installed, the cluster cannot be joined, or the cache is in
            memory.
    """
    if cache.directory is None:
        raise InputError(
            'With engine="ray" the cache must be on disk; nodes cannot reach one in memory.'
        )
    with _cluster(address) as ray:
        driver_cache = _driver_cache(ray, cache.directory)
        task = ray.remote(max_retries=MAX_RETRIES, scheduling_strategy="SPREAD")(_run_on_node)
        shared_job = ray.put((job, cache.is_refreshing))
        nodes = cache.directory / "nodes"
        pending = deque(enumerate(cases))
        running: dict[Any, int] = {}
        try:
            while pending or running:
                while pending and len(running) < parallel:
                    index, case = pending.popleft()
                    task_id = task.remote(shared_job, case, driver_cache, nodes)
                    running[task_id] = index
                (done,), _ = ray.wait(list(running))
                index = running.pop(done)
                yield index, _row(ray, done, partial(lost, cases[index]))
        finally:
            for task_id in running:
                ray.cancel(task_id, force=True)
            ray.kill(driver_cache)


def _driver_cache(ray: Any, directory: Path) -> Any:
    """Start the actor that gives nodes access to the driver's cache, on the driver's node."""
    node_affinity = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
    strategy = node_affinity(ray.get_runtime_context().get_node_id(), soft=False)
    actor = ray.remote(num_cpus=0, max_concurrency=16, scheduling_strategy=strategy)(_DriverCache)
    return actor.remote(directory)


def _row(ray: Any, task_id: Any, lost: Callable[[str], Row]) -> Row:
    """Return the row of a finished task; raise the error of the job itself, if it had one."""
    try:
        row: Row = ray.get(task_id)
    except ray.exceptions.RayTaskError:
        raise
    except ray.exceptions.RayError as error:
        return lost(f"Its node was lost: {str(error).splitlines()[0]}")
    return row


@contextmanager
def _cluster(address: str | None) -> Iterator[Any]:
    """Yield Ray, connected to a cluster; leave it afterwards if it was joined here."""
    # Under `uv run`, Ray would send the working folder to each worker, and would refuse a
    # subfolder of a project.
    os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    try:
        import ray
        import ray.util.scheduling_strategies
    except ImportError as error:
        raise InputError(missing('engine="ray"', "ray>=2.40")) from error
    is_joined_here = not ray.is_initialized()
    if is_joined_here:
        # A local cluster gets no dashboard; a cluster that is joined has its own setting.
        dashboard = None if address else False
        try:
            ray.init(address=address, log_to_driver=False, include_dashboard=dashboard)
        except Exception as error:  # Ray raises a bare Exception if a node does not start
            name = f"The Ray cluster at {address:.200}" if address else "The Ray cluster"
            reason = str(error).splitlines()[0].rstrip(".")
            raise InputError(f"{name} cannot be joined: {reason}.") from error
    try:
        yield ray
    finally:
        if is_joined_here:
            ray.shutdown()


def _run_on_node(shared: tuple[Job, bool], case: Case, driver_cache: Any, nodes: Path) -> Row:
    """Run a job with the cache of this node, which is refreshing if the driver's is."""
    job, is_refreshing = shared
    cache = _NodeCache(nodes / _node_name(), driver_cache)
    return job(case, cache.refreshing() if is_refreshing else cache)


@lru_cache(maxsize=1)
def _node_name() -> str:
    """Return the name of the node that this process is on, as a valid folder name."""
    import ray

    node_id = ray.get_runtime_context().get_node_id()
    name = str(node_id)
    for node in ray.nodes():  # type: ignore[no-untyped-call]
        if node["NodeID"] == node_id:
            name = node["NodeName"]
    return re.sub(r"[^\w.-]", "_", name)


class _DriverCache:
    """The driver's cache as a Ray actor on the driver's machine."""

    def __init__(self, directory: Path) -> None:
        self._cache = Cache(directory)

    def get(self, key: str) -> bytes | None:
        """Return the bytes under a key, or None."""
        return self._cache.get(key)

    def put(self, key: str, value: bytes) -> None:
        """Store an entry that a node has paid for."""
        self._cache.put(key, value)


class _NodeCache(Cache):
    """A node's own cache, backed by the driver's for everything but images."""

    def __init__(self, directory: Path, driver_cache: Any) -> None:
        super().__init__(directory)
        self._driver_cache = driver_cache

    def put(self, key: str, value: bytes) -> None:
        """Store bytes under a key, here and in the driver's cache."""
        super().put(key, value)
        if not is_image(key):
            _result(self._driver_cache.put.remote(key, bytes(value)))

    def _find(self, key: str) -> bytes | None:
        value = super()._find(key)
        if value is None and not is_image(key):
            value = _result(self._driver_cache.get.remote(key))
            if value is not None:
                super().put(key, value)
        return value


def _result(reference: Any) -> Any:
    """Return the result of an actor's call, once it is there."""
    import ray

    return ray.get(reference)
