"""A run that is killed and started again gives the same result and repeats no cached call."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from stress.resume_worker import WORKERS
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
JOBS: dict[str, dict[str, Any]] = {
    "oracle": {"model": "oracle", "question": 9, "min_rounds": 5, "calls": 40},
    "babbler": {"model": "babbler", "question": 4, "min_rounds": 5, "calls": 40},
}
PART = {"calls": 30, "parallel": 2}


@dataclass(frozen=True)
class Run:
    """What one process did until it ended or was killed."""

    code: int
    """Exit code."""
    answered: tuple[str, ...]
    """Keys of the requests that the model answered."""
    out: str
    """Results as JSON; empty unless the exit code is 0."""
    seconds: float
    was_killed: bool
    """Whether it was killed before it had written its results."""


class Runner:
    """Runs jobs in processes that it can kill."""

    def __init__(self, server: subprocess.Popen[str], folder: Path) -> None:
        self._server, self._folder, self._number = server, folder, 0

    def new_directory(self) -> Path:
        """Return a path for a cache that does not exist yet."""
        self._number += 1
        return self._folder / f"cache{self._number}"

    def run(self, job: dict[str, Any], cache: Path, kill_at: Callable[[Path, Path], None] | None = None) -> Run:
        """Run a job to its end, or kill it when `kill_at` returns.

        Args:
            job: The job.
            cache: Directory of the cache.
            kill_at: Called with the paths of the job's log and of its results; None means no kill.
        """
        self._number += 1
        log, out = (self._folder / f"{name}{self._number}.txt" for name in ("log", "out"))
        began_s = time.monotonic()
        child = int(self._send(json.dumps({**job, "cache": str(cache), "log": str(log), "out": str(out)})))
        if kill_at is not None:
            kill_at(log, out)
            if not out.exists():
                os.kill(child, signal.SIGKILL)
        code, seconds = int(self._send("")), time.monotonic() - began_s
        was_killed = code == -signal.SIGKILL and not out.exists()
        return Run(code, answers_in(log), out.read_text() if code == 0 else "", seconds, was_killed)

    def _send(self, line: str) -> str:
        """Send a line to the server; return its reply."""
        assert self._server.stdin and self._server.stdout
        self._server.stdin.write(line + "\n")
        self._server.stdin.flush()
        return self._server.stdout.readline()


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    folder = tmp_path_factory.mktemp("runs")
    command = [sys.executable, str(Path(__file__).with_name("resume_worker.py")), str(folder / "worlds")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        yield Runner(server, folder)


def answers_in(log: Path) -> tuple[str, ...]:
    return tuple(log.read_text().splitlines()) if log.exists() else ()


def replies_in(directory: Path) -> set[str]:
    """Return the keys of all cached replies."""
    return {entry.key for entry in Cache(directory).entries() if kind_of(entry.key) == "reply"}


def after_seconds(seconds: float) -> Callable[[Path, Path], None]:
    return lambda log, out: time.sleep(seconds)


def after_answers(count: int) -> Callable[[Path, Path], None]:
    """Return a wait for this many answers, or for the results."""

    def wait(log: Path, out: Path) -> None:
        until_s = time.monotonic() + PATIENCE_S
        while len(answers_in(log)) < count and not out.exists():
            assert time.monotonic() < until_s
            time.sleep(0.0005)

    return wait


@pytest.mark.long
@pytest.mark.parametrize("name", JOBS)
def test_a_killed_run_resumes_to_the_same_result_without_repeated_calls(
    runner: Runner, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, rng, home = JOBS[name], random.Random(name), runner.new_directory()
    whole, again = runner.run(job, home), runner.run(job, runner.new_directory())
    assert again.out == whole.out and set(again.answered) == set(whole.answered)
    seconds = min(whole.seconds, again.seconds)  # other jobs of the machine may have slowed down one
    assert whole.code == 0 and len(set(whole.answered)) == len(whole.answered) > 30
    assert replies_in(home) == set(whole.answered)
    kills = list[int]()
    for number in range(KILLS):
        directory = runner.new_directory()
        if number % 3 == 2:
            kill_at = after_seconds(rng.random() * seconds)
        else:
            kill_at = after_answers(1 + int((number + rng.random()) / KILLS * (len(whole.answered) - 1)))
        killed = runner.run(job, directory, kill_at)
        cached = replies_in(directory)
        resumed = runner.run(job, directory)

        assert (resumed.code, resumed.out) == (0, whole.out), "the same bytes"
        assert cached <= set(killed.answered)
        assert not cached & set(resumed.answered), "cached calls are not repeated"
        assert cached | set(resumed.answered) == set(whole.answered)
        assert len(cached) + len(resumed.answered) == len(whole.answered)
        lost = len(killed.answered) - len(cached)
        assert 0 <= lost <= IN_FLIGHT, "only calls that were not yet stored"
        assert len(killed.answered) + len(resumed.answered) == len(whole.answered) + lost
        assert replies_in(directory) == set(whole.answered)
        assert Cache(directory).verify() == {}, "no entry is damaged"
        with monkeypatch.context() as later:
            later.setattr("atlaskit.caching.disk.ORPHAN_AGE_S", -60.0)  # files of any age count as orphans
            dropped = Cache(directory).verify()
        assert dropped.keys() <= {""} and dropped.get("", 0) <= IN_FLIGHT, "only files without a row"
        if killed.was_killed:
            kills.append(len(killed.answered))
    kills.sort()
    assert len(kills) >= 0.6 * KILLS, "too few kills to test anything"
    third = len(whole.answered) / 3
    assert kills[0] < third and kills[-1] > 2 * third, "kills hit early and late calls"


@pytest.mark.long
def test_shards_killed_at_random_give_the_table_of_one_run_and_repeat_no_call(runner: Runner) -> None:
    home = runner.new_directory()
    whole = runner.run(PART | {"shard": None}, home)
    assert whole.code == 0 and len(set(whole.answered)) == len(whole.answered) > 60
    directory, rng, answered = runner.new_directory(), random.Random(3), list[str]()
    shards, pending, killed, lost = {}, [(1, 3), (2, 3), (3, 3)], 0, 0
    while pending:
        number = rng.choice(pending)
        before, left = replies_in(directory), len(whole.answered) - len(set(answered))
        kill_at = after_answers(1 + rng.randrange(max(1, left // 4))) if killed < 8 else None
        run = runner.run(PART | {"shard": number}, directory, kill_at)
        stored = replies_in(directory)
        assert not before & set(run.answered), "cached calls are not repeated"
        lost += len(run.answered) - len(stored - before)
        answered += run.answered
        killed += run.was_killed
        if run.code == 0:
            shards[run.out] = tables.load(run.out)
            pending.remove(number)
    assert killed >= 5, "too few kills to test anything"
    assert lost <= killed * PART["parallel"] * IN_FLIGHT
    assert len(answered) == len(whole.answered) + lost and replies_in(directory) == set(whole.answered)
    assert Cache(directory).verify() == {}
    one, joined = (table.drop(columns=OF_THE_RUN) for table in (tables.load(whole.out), merged(shards)))
    assert joined.to_csv(index=False) == one.to_csv(index=False), "the same bytes"
