"""The world that the tests of methods share."""

import pytest

import atlasworld as aw
from atlasworld import World
from atlasworld.questions import WRITERS


@pytest.fixture(scope="session")
def tiny() -> World:
    """A world of two minutes, of twelve clips, with a question or two of each category."""
    return aw.world(3, 120, questions=16, categories=tuple(WRITERS), size=(160, 90))
