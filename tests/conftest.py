"""Fixtures that the tests share: worlds, caches, results, a model server."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from support.asking import ask
from support.jupyter import browser, lab, notebooks, tab
from support.loopback import Loop, loopback
from support.model_doubles import Babbler, Flaky
from support.paths import TESTS
from support.scripts import page_scripts
from support.stand_ins import MASTER_AND_WORKER, run

import atlasworld as aw
from atlaskit.agents.budget import Budget
from atlaskit.caching.cache import Cache
from atlaskit.runs.result import Result
from atlasworld import Oracle, World
from atlasworld.questions import WRITERS

__all__ = ["browser", "lab", "notebooks", "page_scripts", "tab"]

settings.register_profile(
    "atlaskit", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile("atlaskit")

LONGEST = (
    *("browser", "experiments/test_replay", "video/test_decode_matrix", "experiments/test_runner"),
    *("evaluation/test_runner", "evaluation/test_executors", "stress/test_fuzz", "serving/test_server"),
    *("cli/test_ask", "nano/test_teacher"),
)
"""The slowest test files and folders. They run first, since all wait for one that starts last."""
# Every process that a test starts can import the tests' support package.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in `make test &`; some tests send Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all cases of a family but the first as long; run the slowest files first."""
    seen = set()
    for item in items:
        if item.get_closest_marker("family"):
            function = (item.path, getattr(item, "originalname", item.name))
            if function in seen:
                item.add_marker("long")
            seen.add(function)
    order = {name: number for number, name in enumerate(LONGEST)}

    def number(item: pytest.Item) -> int:
        folder = item.path.parent.name
        return order.get(folder, order.get(f"{folder}/{item.path.stem}", len(LONGEST)))

    items.sort(key=number)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give whole files to the processes of `make test`, and all of JupyterLab to one of them.

    The tests in `browser` share a JupyterLab, its tab and its kernel: 15 s of CPU time in every
    process that starts them.
    """
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Spread(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            is_browser = nodeid.startswith("tests/browser/")
            return "tests/browser/" if is_browser else str(super()._split_scope(nodeid))

    return Spread(config, log)


@pytest.fixture(scope="module")
def unmeasured() -> Iterator[None]:
    """Start processes without coverage, such as the kernels of notebooks.

    It takes minutes to measure them, and other tests run all that they run.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)
        yield


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Notes lie in a folder of the test, also those of its processes."""
    monkeypatch.setenv("ATLASKIT_DATA", str(tmp_path / "data"))


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    """A cache for tests that do not depend on whether an entry exists already."""
    return Cache(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A ten-minute world, rendered on demand."""
    return aw.world(seed=5, duration_s=600, questions=16, size=(320, 180), directory=tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="session")
def taught() -> World:
    """A ten-minute world with questions of every category, as nano was taught."""
    return aw.world(5, 600, questions=33, categories=tuple(WRITERS), size=(160, 90))


@pytest.fixture(scope="session")
def film(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A two-minute world, encoded as a file."""
    directory = tmp_path_factory.mktemp("film")
    return aw.world(seed=3, duration_s=120, questions=12, size=(320, 180), directory=directory)


@pytest.fixture(scope="session")
def film_file(film: World) -> Path:
    """The file of that world."""
    return Path(str(film.video.path))  # type: ignore[attr-defined]


@pytest.fixture(scope="session")
def answered(world: World, shared_cache: Cache) -> Result:
    """A run of an SSS question with an oracle without errors."""
    question = next(question for question in world.questions if question.category == "SSS")
    return ask(world.drawn, question, vlm=Oracle(world), cache=shared_cache, cell=48)


@pytest.fixture(scope="session")
def eventful(world: World, shared_cache: Cache) -> Result:
    """A run of at most forty calls with random replies, some of which fail.

    It is the first such run in which a worker sees a grid at depth 2 and some time goes black.
    """
    for seed in range(3, 100):
        model = Flaky(Babbler(seed), 0.1, 3, MASTER_AND_WORKER)
        result = run(world.drawn, model, shared_cache, workers=3, steps=5, budget=Budget(calls=40))
        is_deep = any(len(step.view.path) > 1 for step in result.trace.of("step"))
        if is_deep and any(report.dead_s for report in result.trace.of("report")):
            return result
    raise AssertionError("no seed of Babbler leads to a grid at depth 2 that goes black")


@pytest.fixture
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client's pauses between attempts are short."""
    monkeypatch.setattr("atlaskit.models.attempts.FIRST_PAUSE_S", 0.01)


@pytest.fixture
def loop(short_pauses: None) -> Iterator[Loop]:
    """A model server with planned faults."""
    with loopback() as server:
        yield server


@pytest.fixture
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary working directory."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
