"""Promise: a refused request changes no number, and a lost call is visible in its row."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.chat_requests import identity
from support.faults import Fault, fitting_answer, saying, sending
from support.loopback import loopback

import atlaskit as ak
from atlaskit.benchmarks.case import Case
from atlaskit.evaluation.runner import evaluate
from atlasworld import World

OF_THE_RUN = ("seconds", "model_seconds", "queue_seconds", "frames_decoded", "decoding_seconds")
"""Columns that say what this run took: the order of questions decides who decodes a frame."""


class Limited:
    """Answers of a model whose endpoint refuses each request so many times before it answers."""

    def __init__(self, refusals: int, status: int) -> None:
        self.refusals, self.status = refusals, status
        self.refused: dict[str, int] = {}
        self.lock = threading.Lock()

    def __call__(self, body: dict[str, Any]) -> Fault:
        """Return the answer to a request."""
        key = identity(body)
        with self.lock:
            seen = self.refused.get(key, 0)
            self.refused[key] = seen + 1
        if seen < self.refusals:
            return sending({"error": {"message": "Too many requests"}}, self.status)
        return saying(fitting_answer(body))


def table_of(world: World, folder: Path, limited: Limited, parallel: int) -> pd.DataFrame:
    cases = [Case(question, world.drawn.name, lambda: world.drawn) for question in world.questions[:4]]
    with loopback() as server:
        server.answer = limited
        return evaluate(
            cases,
            vlm=ak.VLM(server.url, "loop"),
            search="paper",
            parallel=parallel,
            workers=2,
            budget=ak.Budget(calls=24),
            cache=ak.Cache(folder),
            progress=False,
        )


@pytest.mark.filterwarnings("ignore::atlaskit.errors.ModelWarning")
@pytest.mark.parametrize("parallel", [1, 4])
@pytest.mark.parametrize("status", [429, 503])
def test_a_limited_endpoint_gives_the_table_of_an_unlimited_one(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parallel: int, status: int
) -> None:
    monkeypatch.setattr("atlaskit.models.attempts.LONGEST_BUSY_PAUSE_S", 0.005)
    free = table_of(world, tmp_path / "free", Limited(0, status), parallel=4)
    limited = Limited(5, status)
    table = table_of(world, tmp_path / "limited", limited, parallel=parallel)
    assert max(limited.refused.values()) == 6, "more refusals than a call has attempts"
    assert (table["failure"] == "").all()
    same = [name for name in free.columns if name not in OF_THE_RUN]
    pd.testing.assert_frame_equal(table[same], free[same])


class Losing(Limited):
    """Answers of a model whose endpoint fails the steps of workers in one region, whatever."""

    def __init__(self) -> None:
        super().__init__(0, 500)
        self.lost: set[str] = set()
        self.is_mended = False

    def __call__(self, body: dict[str, Any]) -> Fault:
        """Return the answer to a request: the first worker's step fails for good."""
        key = identity(body)
        if "AddToScratchpad" in str(body["response_format"]) and not self.is_mended:
            with self.lock:
                self.lost = self.lost or {key}
            if key in self.lost:
                return sending({"error": {"message": "The GPU fell off."}}, 500)
        return saying(fitting_answer(body))


def test_a_lost_step_is_visible_in_its_row_and_asked_again(world: World, tmp_path: Path) -> None:
    losing = Losing()
    table = table_of(world, tmp_path / "lost", losing, parallel=1)
    reasons = table["failure"].tolist()
    assert len(losing.lost) == 1 and sum("The GPU fell off" in reason for reason in reasons) >= 1
    assert not table["prediction"].isna().all(), "the question is answered all the same"
    losing.is_mended = True
    again = table_of(world, tmp_path / "lost", losing, parallel=1)
    assert (again["failure"] == "").all()
