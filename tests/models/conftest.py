"""Fixtures of the model tests."""

from __future__ import annotations

import pytest

from atlaskit.caching.cache import Cache
from atlaskit.environment.render import view
from atlasworld import World


@pytest.fixture(scope="session")
def warm(world: World, shared_cache: Cache) -> Cache:
    """A cache that has the tiles of the world's root grid and of its 16 children (K = 4, 48 px)."""
    root = view(world.drawn, k=4, cell=48, cache=shared_cache)
    for grid_view in (root, *map(root.expand, range(16))):
        grid_view.jpeg()
    return shared_cache
