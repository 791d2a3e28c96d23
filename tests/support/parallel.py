"""Jobs in parallel threads and waiting, for tests that must fail rather than hang."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

HANG_S = 120.0
"""Seconds after which jobs that should take a few count as hanging."""


def run_all(jobs: Sequence[Callable[[], Any]], threads: int) -> list[Any]:
    """Run jobs in parallel and return their results in order; fail if one hangs."""
    pool = ThreadPoolExecutor(threads)
    futures = [pool.submit(job) for job in jobs]
    hanging = wait(futures, HANG_S).not_done
    pool.shutdown(wait=False, cancel_futures=True)
    assert not hanging, f"{len(hanging)} jobs hang, the first is number {min(map(futures.index, hanging))}"
    return [future.result() for future in futures]


def in_a_thread(job: Callable[[], Any]) -> Any:
    """Run a job that starts an event loop; the thread of a test has one once a browser is open."""
    return run_all([job], 1)[0]


def wait_until(is_so: Callable[[], object], within_s: float = 60.0) -> None:
    """Wait until something is so; fail if it takes too long."""
    until_s = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < until_s
        time.sleep(0.05)
