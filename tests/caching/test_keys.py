"""Keys depend on the recipe alone."""

from __future__ import annotations

import pytest

from atlaskit.caching.keys import canonical_json, recipe_key


def test_keys_depend_on_every_part_but_not_on_order() -> None:
    key = recipe_key("view", 1, a=1, b=[1, 2])
    assert key == recipe_key("view", 1, b=[1, 2], a=1)
    others = [recipe_key("tile", 1, a=1, b=[1, 2]), recipe_key("view", 2, a=1, b=[1, 2]), recipe_key("view", 1, a=1)]
    assert key not in others and len(set(others)) == 3
    assert key.startswith("view:1:")
    with pytest.raises(ValueError, match="JSON"):
        canonical_json(float("nan"))
