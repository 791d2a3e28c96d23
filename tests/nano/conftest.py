"""A world that nano's tests share."""

import pytest

from atlaskit.benchmarks.atlasworld import World, atlasworld
from atlaskit.benchmarks.atlasworld.questions import WRITERS


@pytest.fixture(scope="package")
def world() -> World:
    """A ten-minute world with questions of every category."""
    return atlasworld(5, 600, questions=33, categories=tuple(WRITERS), size=(160, 90))
