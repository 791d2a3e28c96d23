"""Promise: a refused request changes no number, and a lost call is visible in its row."""

import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.asking import OF_THE_RUN
from support.chat_requests import identity
from support.faults import Fault, fitting_answer, saying, sending
from support.loopback import loopback

import atlaskit as ak
import atlasworld as aw
from atlasworld import World


class Limited:
    """Answers of a model whose endpoint refuses each request so many times before it answers."""

    def __init__(self, refusals: int, status: int) -> None:
        self.refusals, self.status = refusals, status
        self.asked = Counter[str]()
        self.lock = threading.Lock()

    def __call__(self, body: dict[str, Any]) -> Fault:
        """Return the answer to a request."""
        with self.lock:
            self.asked[identity(body)] += 1
            is_refused = self.asked[identity(body)] <= self.refusals
        if is_refused:
            return sending({"error": {"message": "Too many requests"}}, self.status)
        return saying(fitting_answer(body))


@pytest.fixture(scope="module")
def world() -> World:
    return aw.world(5, 120, questions=2, size=(160, 90))


def table_of(world: World, folder: Path, answer: Any, *, parallel: int = 1) -> pd.DataFrame:
    settings: dict[str, Any] = {"search": "paper", "workers": 2, "budget": ak.Budget(calls=12)}
    with loopback() as server:
        server.answer = answer
        settings |= {"vlm": ak.VLM(server.url, "loop"), "cache": ak.Cache(folder)}
        return ak.evaluate(world.cases(drawn=True), parallel=parallel, progress=False, **settings)


@pytest.mark.filterwarnings("ignore::atlaskit.errors.ModelWarning")
@pytest.mark.parametrize(("status", "parallel"), [(429, 2), (503, 1)])
def test_a_limited_endpoint_gives_the_table_of_an_unlimited_one(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, parallel: int
) -> None:
    monkeypatch.setattr("atlaskit.models.attempts.LONGEST_BUSY_PAUSE_S", 0.005)
    free = table_of(world, tmp_path / "free", Limited(0, status))
    limited = Limited(5, status)
    table = table_of(world, tmp_path / "limited", limited, parallel=parallel)
    assert max(limited.asked.values()) == 6, "more refusals than a call has attempts"
    assert (table["failure"] == "").all()
    of_the_run = [name for name in OF_THE_RUN if name != "calls_paid"]
    pd.testing.assert_frame_equal(table.drop(columns=of_the_run), free.drop(columns=of_the_run))


def test_a_lost_step_is_visible_in_its_row_and_asked_again(world: World, tmp_path: Path) -> None:
    lost = dict[str, str]()

    def losing(body: dict[str, Any]) -> Fault:
        """Fail one step of a worker, however often it is asked."""
        is_step = "AddToScratchpad" in str(body["response_format"])
        if is_step and lost.setdefault("step", identity(body)) == identity(body):
            return sending({"error": {"message": "The GPU fell off."}}, 500)
        return saying(fitting_answer(body))

    table = table_of(world, tmp_path, losing)
    assert any("The GPU fell off" in reason for reason in table["failure"])
    assert not table["prediction"].isna().all(), "the question is answered all the same"
    assert (table_of(world, tmp_path, Limited(0, 500))["failure"] == "").all()
