"""`Timeline`: results come in logical time, whatever the calls take."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlaskit.agents.logical_time import Job, Timeline


def make_calls(count: int, delay_s: Callable[[], float]) -> Callable[[Job], int]:
    """Return a job of so many calls, each of which takes a time of its own."""

    def run(job: Job) -> int:
        made = 0
        while made < count and job.begin_call():
            time.sleep(delay_s())
            made += 1
        return made

    return run


@settings(max_examples=25)
@given(
    lengths=st.lists(st.integers(0, 5), min_size=1, max_size=8),
    followers=st.lists(st.integers(0, 3), max_size=4),
    threads=st.integers(1, 8),
    seed=st.integers(0, 99),
)
def test_the_order_is_that_of_calls_and_not_of_time(
    lengths: list[int], followers: list[int], threads: int, seed: int
) -> None:
    """Each job that ends starts the next follower, as a free worker gets the next region."""

    def order(delay_s: Callable[[], float], threads: int) -> list[tuple[int, list[int]]]:
        waiting, ended = list(followers), []
        with ThreadPoolExecutor(threads) as pool:
            timeline = Timeline(pool)
            for length in lengths:
                timeline.start(make_calls(length, delay_s))
            while timeline.running:
                jobs = timeline.next()
                ended.append((timeline.now, [job.order for job in jobs]))
                for _ in jobs[: len(waiting)]:
                    timeline.start(make_calls(waiting.pop(0), delay_s))
        return ended

    rng = random.Random(seed)
    expected = order(lambda: 0.0, 8)
    assert order(lambda: rng.random() * 0.002, threads) == expected
    times = [now for now, _ in expected]
    assert times == sorted(times), "logical time never goes back"


def test_a_result_waits_for_no_job_that_ends_later() -> None:
    """Otherwise the slowest worker would hold up all others, as in a round."""
    is_released = threading.Event()

    def slow(job: Job) -> str:
        assert job.begin_call() and job.begin_call()
        is_released.wait(30)
        return "slow"

    with ThreadPoolExecutor(2) as pool:
        timeline = Timeline(pool)
        timeline.start(slow)
        timeline.start(make_calls(1, lambda: 0.0))
        (first,) = timeline.next()
        assert (first.result, timeline.now) == (1, 1)
        is_released.set()
        (second,) = timeline.next()
        assert (second.result, timeline.now) == ("slow", 2)


def test_a_closed_timeline_lets_no_job_begin_a_call() -> None:
    has_begun = threading.Event()

    def endless(job: Job) -> int:
        made = 0
        while job.begin_call():
            made += 1
            has_begun.set()
            time.sleep(0.001)
        return made

    with ThreadPoolExecutor(2) as pool:
        timeline = Timeline(pool)
        timeline.start(endless)
        timeline.start(make_calls(2, lambda: 0.0))
        timeline.next()
        has_begun.wait(30)
        (left,) = timeline.close()
        assert left.result == left.begun >= timeline.now - left.start == 2


def test_an_error_of_a_job_is_raised_where_its_result_is_read() -> None:
    def broken(job: Job) -> None:
        job.begin_call()
        raise ValueError("broken")

    with ThreadPoolExecutor(1) as pool:
        timeline = Timeline(pool)
        timeline.start(broken)
        (job,) = timeline.next()
        with pytest.raises(ValueError, match="broken"):
            _ = job.result
