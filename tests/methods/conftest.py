"""The worlds that the tests of methods share."""

from __future__ import annotations

import pytest
from support.controllers import two_minutes

import atlaskit as ak
from atlaskit.benchmarks.atlasworld import World, atlasworld


@pytest.fixture(scope="session")
def tiny() -> World:
    """A world of two minutes, of twelve clips, with a question or two of each category."""
    return two_minutes()


@pytest.fixture(scope="session")
def brief_world() -> World:
    """A world of two minutes, for methods of single frames."""
    return ak.benchmarks.atlasworld(ak.benchmarks.seeds("development")[7], 120, questions=8, size=(160, 90))


@pytest.fixture(scope="session")
def short(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A world of twenty clips."""
    return atlasworld(3, 200, questions=11, size=(160, 90), directory=tmp_path_factory.mktemp("short"))
