"""Worlds, films and caches that the tests share."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from lab import browser, lab, notebooks, tab
from loopback import Loop, loopback
from models import Babbler, Flaky
from xdist.scheduler import LoadScopeScheduling

from atlaskit.agents.budget import Budget
from atlaskit.agents.search import ask
from atlaskit.benchmarks.atlasworld import Oracle, World, atlasworld
from atlaskit.caching.cache import Cache
from atlaskit.runs.result import Result

__all__ = ["browser", "lab", "notebooks", "tab"]

settings.register_profile(
    "house", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile("house")

LONGEST = ("test_decode_matrix", "lab", "test_engines", "test_fuzz", "test_serve", "test_cli", "test_nano")
"""What comes first: `make test` gives whole groups to its processes, and a long one at the end is waited for."""
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in `make test &`; and some tests send Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)


def group(nodeid: str) -> str:
    """Return which tests one process is to run, one after the other: those of a file, or all those in JupyterLab."""
    name = Path(nodeid.partition("::")[0]).stem
    return "lab" if name.endswith("_lab") else name


class Groups(LoadScopeScheduling):
    """Whole groups, so that what the tests of a file share is made once. (pytest-xdist's own groups go by a private
    attribute of pytest's, which 9.2 does not have: all tests are then spread singly, in silence.)"""

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid)


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Groups:
    return Groups(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(group(item.nodeid), len(LONGEST)))


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    """One cache for tests in which it does not matter whether a frame was drawn before."""
    return Cache(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Ten minutes, drawn on demand."""
    return atlasworld(seed=5, duration_s=600, questions=16, size=(320, 180), directory=tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="session")
def film(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Two minutes, as a real file."""
    directory = tmp_path_factory.mktemp("film")
    return atlasworld(seed=3, duration_s=120, questions=12, size=(320, 180), directory=directory)


@pytest.fixture(scope="session")
def answered(world: World, shared_cache: Cache) -> Result:
    question = next(question for question in world.questions if question.category == "SSS")
    return ask(world.drawn, question, vlm=Oracle(world), cache=shared_cache, cell=48)


@pytest.fixture(scope="session")
def eventful(world: World, shared_cache: Cache) -> Result:
    """Forty calls of a model that answers anything, some of which fail: the first such that opens a cell of a cell."""
    from test_trace import MASTER_AND_WORKER, run  # here: the modules of tests are not for all of them to load

    for seed in range(3, 100):
        model = Flaky(Babbler(seed), 0.1, 3, MASTER_AND_WORKER)
        result = run(world.drawn, model, shared_cache, workers=3, steps=5, budget=Budget(calls=40))
        if any(len(step["view"]["path"]) > 1 for step in result.trace.of("step") if step["view"]):
            return result
    raise AssertionError("no babbler opens a cell of a cell")


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loop]:
    """A model server that fails as it is told to, and a client that does not wait long."""
    monkeypatch.setattr("atlaskit.models.client.FIRST_WAIT_S", 0.01)
    with loopback() as server:
        yield server


@pytest.fixture
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory of one's own."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
