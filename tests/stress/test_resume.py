"""Killed at any moment and started again, a run ends with the same result, and no call is paid for twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.paths import SUPPORT
from support.resume_worker import WORKERS

from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import kind_of

KILLS = int(os.environ.get("ATLASKIT_KILLS", "9"))
"""Times that a run with each of two models is killed; ATLASKIT_KILLS=25 has them die more often."""
IN_FLIGHT = WORKERS + 1
"""Calls that may be under way at once: one a worker, and the next round's probe."""
PATIENCE_S = 60.0
JOBS: dict[str, dict[str, Any]] = {
    "oracle": {"model": "oracle", "questions": [9], "min_rounds": 5, "calls": 40},
    "babbler": {"model": "babbler", "questions": [4], "min_rounds": 5, "calls": 40},
}
EVALUATION = {"model": "oracle", "questions": [0, 3, 9, 10, 12, 13], "min_rounds": 2, "calls": 30, "parallel": 2}


@dataclass(frozen=True)
class Run:
    """What one process did, until its end or until it was killed."""

    code: int
    answered: tuple[str, ...]
    """The keys of the requests that the model answered."""
    out: str
    """The results as JSON, if it got so far."""
    seconds: float
    was_killed: bool
    """Whether it died before its end."""


class Runner:
    """Runs jobs in processes, and kills them when it is told to."""

    def __init__(self, server: subprocess.Popen[str], folder: Path) -> None:
        self._server, self._folder, self._number = server, folder, 0

    def fresh(self) -> Path:
        """Return where a cache may be that was not there before."""
        self._number += 1
        return self._folder / f"cache{self._number}"

    def run(self, job: dict[str, Any], cache: Path, kill_at: Callable[[Path, Path], None] | None = None) -> Run:
        """Run a job until it is done; or until `kill_at` returns, which is told where it logs, and puts its results."""
        self._number += 1
        log, out = (self._folder / f"{name}{self._number}.txt" for name in ("log", "out"))
        began_s = time.monotonic()
        child = int(self._said(json.dumps({**job, "cache": str(cache), "log": str(log), "out": str(out)})))
        if kill_at is not None:
            kill_at(log, out)
            if not out.exists():
                os.kill(child, signal.SIGKILL)
        code, seconds = int(self._said("")), time.monotonic() - began_s
        was_killed = code == -signal.SIGKILL and not out.exists()
        return Run(code, answers_in(log), out.read_text() if code == 0 else "", seconds, was_killed)

    def _said(self, line: str) -> str:
        assert self._server.stdin and self._server.stdout
        self._server.stdin.write(line + "\n")
        self._server.stdin.flush()
        return self._server.stdout.readline()


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    folder = tmp_path_factory.mktemp("runs")
    command = [sys.executable, str(SUPPORT / "resume_worker.py"), str(folder / "films")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        yield Runner(server, folder)


def answers_in(log: Path) -> tuple[str, ...]:
    return tuple(log.read_text().splitlines()) if log.exists() else ()


def replies_in(directory: Path) -> set[str]:
    """The keys of all replies that are kept."""
    return {entry.key for entry in Cache(directory).entries() if kind_of(entry.key) == "reply"}


def after_seconds(seconds: float) -> Callable[[Path, Path], None]:
    return lambda log, out: time.sleep(seconds)


def after_answers(count: int) -> Callable[[Path, Path], None]:
    """Kill when so many answers were given, or all is done."""

    def wait(log: Path, out: Path) -> None:
        until_s = time.monotonic() + PATIENCE_S
        while len(answers_in(log)) < count and not out.exists():
            assert time.monotonic() < until_s
            time.sleep(0.0005)

    return wait


@pytest.mark.parametrize("name", JOBS)
def test_a_run_killed_anywhere_resumes_to_the_same_result_at_the_same_price(
    runner: Runner, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, rng, home = JOBS[name], random.Random(name), runner.fresh()
    whole, again = runner.run(job, home), runner.run(job, runner.fresh())
    assert again.out == whole.out and set(again.answered) == set(whole.answered)
    seconds = min(whole.seconds, again.seconds)  # one may have been slowed down by what else the machine does
    assert whole.code == 0 and len(set(whole.answered)) == len(whole.answered) > 30
    assert replies_in(home) == set(whole.answered)
    kills: list[tuple[int, int]] = []
    orphans = 0
    for number in range(KILLS):
        directory = runner.fresh()
        if number % 3 == 2:
            kill_at = after_seconds(rng.random() * seconds)
        else:
            kill_at = after_answers(1 + int((number + rng.random()) / KILLS * (len(whole.answered) - 1)))
        killed = runner.run(job, directory, kill_at)
        kept = replies_in(directory)
        resumed = runner.run(job, directory)

        assert (resumed.code, resumed.out) == (0, whole.out), "the same bytes"
        assert kept <= set(killed.answered)
        assert not kept & set(resumed.answered), "what was kept is not asked again"
        assert kept | set(resumed.answered) == set(whole.answered)
        assert len(kept) + len(resumed.answered) == len(whole.answered)
        lost = len(killed.answered) - len(kept)
        assert 0 <= lost <= IN_FLIGHT, "only what was on its way into the cache"
        assert len(killed.answered) + len(resumed.answered) == len(whole.answered) + lost
        assert replies_in(directory) == set(whole.answered)
        assert Cache(directory).verify() == {}, "nothing is damaged"
        with monkeypatch.context() as later:
            later.setattr("atlaskit.caching.disk.ORPHAN_AGE_S", -60.0)  # as if an hour had gone by
            dropped = Cache(directory).verify()
        assert dropped.keys() <= {""} and dropped.get("", 0) <= IN_FLIGHT, "but for files that no row came to name"
        orphans += dropped.get("", 0)
        if killed.was_killed:
            kills.append((len(killed.answered), lost))
    counts = sorted(count for count, _ in kills)
    print(
        f"{name}: {len(kills)} of {KILLS} killed before the end of {seconds:.2f} s, after {counts} of "
        f"{len(whole.answered)} calls; calls lost {dict(sorted(Counter(lost for _, lost in kills).items()))}; "
        f"files orphaned {orphans}"
    )
    assert len(kills) >= 0.6 * KILLS, "or it would show nothing"
    third = len(whole.answered) / 3
    assert counts[0] < third and counts[-1] > 2 * third, "early and late"


def test_an_evaluation_killed_again_and_again_goes_on_where_it_was(runner: Runner) -> None:
    home = runner.fresh()
    whole = runner.run(EVALUATION, home)
    assert whole.code == 0 and len(set(whole.answered)) == len(whole.answered) > 80
    for seed in range(max(1, KILLS // 12)):
        directory, rng = runner.fresh(), random.Random(seed)
        runs, lost = list[Run](), 0
        while not (runs and runs[-1].code == 0):
            before = replies_in(directory)
            left, kill_at = len(whole.answered) - len(before), None
            if len(runs) < 8 and left > 10:
                by_time = len(runs) % 3 == 2  # which may also be while it repeats what it has
                kill_at = after_seconds(rng.random() * whole.seconds / 4) if by_time else after_answers(left // 3)
            runs.append(runner.run(EVALUATION, directory, kill_at))
            after = replies_in(directory)
            assert not before & set(runs[-1].answered), "what was kept is not asked again"
            assert before <= after <= before | set(runs[-1].answered)
            lost_now = len(runs[-1].answered) - len(after - before)
            assert 0 <= lost_now <= EVALUATION["parallel"] * IN_FLIGHT
            lost += lost_now
        killed = sum(run.was_killed for run in runs)
        print(
            f"evaluation {seed}: killed {killed} times, after {[len(run.answered) for run in runs]} calls, lost {lost}"
        )
        assert killed >= 4, "or it would show nothing"
        assert runs[-1].out == whole.out, "the same bytes"
        assert replies_in(directory) == set(whole.answered)
        assert sum(len(run.answered) for run in runs) == len(whole.answered) + lost
        assert Cache(directory).verify() == {}


def test_a_run_that_was_finished_is_not_asked_again(runner: Runner) -> None:
    """Also when it was killed right after: what it takes to say the same again is all there."""
    job, directory = JOBS["oracle"], runner.fresh()
    whole = runner.run(job, directory)
    again = runner.run(job, directory)
    assert (again.code, again.out, again.answered) == (0, whole.out, ())
