"""What several tests of the agents share."""

import pytest

import atlasworld as aw
from atlasworld import World
from atlasworld.questions import WRITERS


@pytest.fixture(scope="session")
def long_world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return a world of ten hours, three levels deep, with a few questions of each category."""
    folder = tmp_path_factory.mktemp("long")
    return aw.world(11, 36_000, questions=33, categories=tuple(WRITERS), size=(128, 72), directory=folder)


@pytest.fixture(scope="session")
def small_world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return a world of ten minutes with small frames, for tests that decode them in each run."""
    return aw.world(5, 600, questions=16, size=(128, 72), directory=tmp_path_factory.mktemp("small"))
