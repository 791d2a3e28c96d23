"""A world that nano's tests share."""

import pytest

import atlasworld as aw
from atlasworld import World
from atlasworld.questions import WRITERS


@pytest.fixture(scope="package")
def world() -> World:
    """A ten-minute world with questions of every category."""
    return aw.world(5, 600, questions=33, categories=tuple(WRITERS), size=(160, 90))
