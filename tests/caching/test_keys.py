"""Keys depend on the recipe alone; each kind of entry is declared once, by what makes it."""

import re
from pathlib import Path

import pytest
from support.paths import ROOT

import atlaskit  # noqa: F401  (declares all kinds)
from atlaskit.caching.keys import KINDS, Kind, canonical_json, is_outdated, is_valid, recipe_key


def test_keys_depend_on_every_part_but_not_on_order() -> None:
    key = recipe_key("view", 1, a=1, b=[1, 2])
    assert key == recipe_key("view", 1, b=[1, 2], a=1)
    others = [recipe_key("tile", 1, a=1, b=[1, 2]), recipe_key("view", 2, a=1, b=[1, 2]), recipe_key("view", 1, a=1)]
    assert key not in others and len(set(others)) == 3
    assert key.startswith("view:1:")
    with pytest.raises(ValueError, match="JSON"):
        canonical_json(float("nan"))


@pytest.mark.parametrize("name", sorted(KINDS))
def test_no_kind_takes_any_bytes(name: str) -> None:
    kind = KINDS[name]
    key = kind.key(of="nothing")
    assert not is_outdated(key) and is_outdated(recipe_key(name, 0, of="nothing"))
    assert not is_outdated(name), "a key of the user's own"
    for entry in (b"\xff\xfe", b"[" * 100_000, b"{", b'"' + b"x" * 63):
        assert not is_valid(key, entry)
    assert not is_valid("unknown:1:" + "00" * 32, b"{}")
    for kind, entry in {"moments": b"[1e999]", "answered": rb'["\ud800"]', "timing": b'{"a":NaN}'}.items():
        assert not is_valid(recipe_key(kind, KINDS[kind].version), entry)


def test_all_kinds_are_known_once_the_kit_is_imported() -> None:
    """`cache prune` and recordings go by the kinds that are known."""
    declared = (re.findall(r'Kind\("(\w+)"', path.read_text("utf-8")) for path in Path(ROOT, "atlaskit").rglob("*.py"))
    names = [name for found in declared for name in found]
    assert sorted(names) == sorted(KINDS)
    with pytest.raises(AssertionError, match="twice"):
        Kind("reply", 1)
