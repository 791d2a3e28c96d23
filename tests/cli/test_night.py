"""A night on a benchmark, killed at random and begun again by the same line, pays nothing twice."""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support.answering import ending
from support.asking import OF_THE_RUN
from support.datasets import put, write_json
from support.faults import Fault
from support.loopback import Loop, loopback
from support.media import make_video

from atlaskit.evaluation import tables

ALONE = [sys.executable, "-m", "atlaskit", "evaluate"]
VIDEOS, QUESTIONS, KILLS, PARALLEL, WORKERS = 4, 3, 5, 2, 2
IN_FLIGHT = PARALLEL * (WORKERS + 1)
"""Calls in flight at a kill: one for each worker of each question, and the probe ahead."""


def lay_out(home: Path, clip: Path) -> None:
    """Write a folder in LongVideoBench's layout: films of half an hour, each with questions."""
    rows = []
    for film in range(VIDEOS):
        put(clip, home / "videos" / f"v{film}.mp4")
        for number in range(QUESTIONS):
            row = {"video_id": f"v{film}", "id": f"v{film}_{number}", "video_path": f"v{film}.mp4"}
            row |= {"question": f"What is shown in part {number} of film {film}?", "duration_group": 3600}
            rows.append({**row, "candidates": ["A star", "A heart"], "correct_choice": number % 2})
    write_json(home / "lvb_val.json", rows)


def night(home: Path, address: str, *more: str) -> list[str]:
    line = [sys.executable, "-m", "atlaskit", "evaluate", "longvideobench", "--root", str(home / "data")]
    line += ["--model", address, "any-vlm", "--k", "4", "--cell", "64", "--parallel", str(PARALLEL), *more]
    return [*line, "--set", "workers", str(WORKERS), "--calls", "12"]


def until_answered(loop: Loop, count: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until the endpoint has been asked so often, or the process has ended."""
    while len(loop.bodies) < count and process.poll() is None:
        time.sleep(0.002)


def rows_of(path: Path) -> str:
    return str(tables.load(path).drop(columns=OF_THE_RUN).to_csv())


@pytest.mark.long
def test_a_night_that_is_killed_ends_as_if_it_was_not(tmp_path: Path) -> None:
    rng = random.Random("night")
    lay_out(tmp_path / "data", make_video(tmp_path / "half-hour.mp4", frames=1800, fps=1, size=(64, 36)))

    def slowly(body: dict[str, Any]) -> Fault:
        time.sleep(0.03)
        return ending(body)

    def run(cache: str, *more: str, cwd: Path = tmp_path) -> subprocess.Popen[bytes]:
        env = {**os.environ, "ATLASKIT_CACHE": str(tmp_path / cache)}
        command = night(tmp_path, loop.url, *more) if more[0] != "--like" else [*ALONE, *more]
        return subprocess.Popen(command, cwd=cwd, env=env, stderr=subprocess.PIPE, stdout=subprocess.PIPE)

    with loopback() as loop:
        loop.models, loop.answer = [{"id": "any-vlm", "object": "model"}], slowly
        whole = run("whole", "--out", "whole.csv")
        assert whole.wait(300) == 0, whole.communicate()
        calls = len(loop.bodies)
        assert calls == len({json.dumps(body, sort_keys=True) for body in loop.bodies}) > 3 * KILLS
        loop.bodies.clear()
        kills = 0
        for _ in range(KILLS):
            running = run("night", "--out", "night.csv")
            left = max(1, calls - len(loop.bodies) - 1)
            until_answered(loop, len(loop.bodies) + rng.randint(1, max(1, left // 2)), running)
            running.kill()
            kills += running.wait() != 0
        last = run("night", "--out", "night.csv")
        assert last.wait(300) == 0, last.communicate()
        paid = len(loop.bodies)
        assert kills >= KILLS - 1 and calls <= paid <= calls + kills * IN_FLIGHT
        assert rows_of(tmp_path / "night.csv") == rows_of(tmp_path / "whole.csv")
        assert not list(tmp_path.glob("*so-far*"))
        card = json.loads((tmp_path / "night.csv.json").read_text())
        counted = card["run"]["paid in all runs"]["calls"]
        assert calls - kills * IN_FLIGHT <= counted <= paid, "the card says what the night cost"
        empty = tmp_path / "empty"
        empty.mkdir()
        again = run("night", "--like", str(tmp_path / "night.csv.json"), "--out", "again.csv", cwd=empty)
        assert again.wait(300) == 0, again.communicate()
        assert len(loop.bodies) == paid and rows_of(empty / "again.csv") == rows_of(tmp_path / "whole.csv")
