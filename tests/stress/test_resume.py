"""A run that is killed and started again gives the same result and repeats no cached call."""

import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from stress.resume_worker import WORKERS, run_job
from support.asking import OF_THE_RUN

from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import kind_of
from atlaskit.evaluation import tables
from atlaskit.evaluation.tables import merged

KILLS = int(os.environ.get("ATLASKIT_KILLS", "6"))
"""Number of kills for each of two models; the environment variable ATLASKIT_KILLS sets it."""
IN_FLIGHT = WORKERS + 1
"""Maximum number of calls in flight: one for each worker, and the probe of the next round."""
PATIENCE_S = 60.0
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["stress.resume_worker"])  # so that jobs start at once
NUMBERS = count()
JOB = {"question": 4, "min_rounds": 5, "calls": 40}
PART = {"calls": 30, "parallel": 2}
KillAt = Callable[[Path, Path], None]
"""Waits for the moment to kill, given the paths of a job's log and of its results."""


class Run(NamedTuple):
    """What one process did until it ended or was killed."""

    code: int | None
    answered: list[str]
    """Keys of the requests that the model answered."""
    out: str
    """Results as JSON; empty unless the exit code is 0."""
    was_killed: bool
    """Whether it was killed before it had written its results."""


def run(job: dict[str, Any], cache: Path, kill_at: KillAt | None = None) -> Run:
    """Run a job in a process of its own to its end, or kill it when `kill_at` returns."""
    home = cache.with_name(f"run{next(NUMBERS)}")
    home.mkdir()
    log = home / "log.txt"
    out = home / "out.txt"
    process = FORKS.Process(target=run_job, args=({**job, "cache": cache, "log": log, "out": out},))
    process.start()
    if kill_at is not None:
        kill_at(log, out)
        if not out.exists():
            process.kill()
    process.join()
    was_killed = process.exitcode == -signal.SIGKILL and not out.exists()
    return Run(process.exitcode, answers_in(log), "" if process.exitcode else out.read_text(), was_killed)


def answers_in(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


def replies_in(directory: Path) -> set[str]:
    """Return the keys of all cached replies."""
    return {entry.key for entry in Cache(directory).entries() if kind_of(entry.key) == "reply"}


def after_answers(count: int) -> KillAt:
    """Return a wait for this many answers, or for the results."""

    def wait(log: Path, out: Path) -> None:
        until_s = time.monotonic() + PATIENCE_S
        while len(answers_in(log)) < count and not out.exists():
            assert time.monotonic() < until_s
            time.sleep(0.0005)

    return wait


@pytest.mark.long
@pytest.mark.parametrize("model", ["oracle", "babbler"])
def test_a_killed_run_resumes_to_the_same_result_without_repeated_calls(tmp_path: Path, model: str) -> None:
    job = {**JOB, "model": model}
    rng = random.Random(model)
    whole = run(job, tmp_path / "whole")
    every = set(whole.answered)
    assert whole.code == 0 and len(every) == len(whole.answered) > 30
    kills = list[int]()
    for number in range(KILLS):
        directory = tmp_path / f"cache{number}"
        share = (number + rng.random()) / KILLS
        killed = run(job, directory, after_answers(1 + int(share * (len(every) - 1))))
        cached = replies_in(directory)
        resumed = run(job, directory)

        assert (resumed.code, resumed.out) == (0, whole.out), "the same bytes"
        assert cached <= set(killed.answered) and not cached & set(resumed.answered), "cached calls are not repeated"
        assert cached | set(resumed.answered) == every and len(cached) + len(resumed.answered) == len(every)
        assert len(killed.answered) - len(cached) <= IN_FLIGHT, "only calls that were not yet stored are lost"
        assert replies_in(directory) == every
        assert Cache(directory).verify() == {}, "no entry is damaged"
        if killed.was_killed:
            kills.append(len(killed.answered))
    assert len(kills) >= 0.6 * KILLS, "too few kills to test anything"
    assert min(kills) < len(every) / 3 and max(kills) > 2 * len(every) / 3, "kills hit early and late calls"


@pytest.mark.long
def test_shards_killed_at_random_give_the_table_of_one_run_and_repeat_no_call(tmp_path: Path) -> None:
    whole = run(PART | {"shard": None}, tmp_path / "whole")
    every = set(whole.answered)
    assert whole.code == 0 and len(every) == len(whole.answered) > 60
    directory = tmp_path / "cache"
    rng = random.Random(3)
    answered = list[str]()
    shards = {}
    pending = [(1, 3), (2, 3), (3, 3)]
    killed = 0
    while pending:
        number = rng.choice(pending)
        before = replies_in(directory)
        left = len(every - set(answered))
        kill_at = after_answers(1 + rng.randrange(max(1, left // 4))) if killed < 8 else None
        done = run(PART | {"shard": number}, directory, kill_at)
        assert not before & set(done.answered), "cached calls are not repeated"
        answered += done.answered
        killed += done.was_killed
        if done.code == 0:
            shards[done.out] = tables.load(done.out)
            pending.remove(number)
    assert killed >= 5, "too few kills to test anything"
    assert len(answered) - len(every) <= killed * PART["parallel"] * IN_FLIGHT and replies_in(directory) == every
    assert Cache(directory).verify() == {}
    one, joined = (table.drop(columns=OF_THE_RUN) for table in (tables.load(whole.out), merged(shards)))
    assert joined.to_csv(index=False) == one.to_csv(index=False), "the same bytes"
