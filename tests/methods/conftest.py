"""The worlds that the tests of methods share."""

import pytest

import atlasworld as aw
from atlasworld import World
from atlasworld.questions import WRITERS


@pytest.fixture(scope="session")
def tiny() -> World:
    """A world of two minutes, of twelve clips, with a question or two of each category."""
    return aw.world(3, 120, questions=16, categories=tuple(WRITERS), size=(160, 90))


@pytest.fixture(scope="session")
def short(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A world of twenty clips."""
    return aw.world(3, 200, questions=11, size=(160, 90), directory=tmp_path_factory.mktemp("short"))
