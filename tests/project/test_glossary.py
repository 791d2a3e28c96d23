"""Every row of docs/glossary.md names the module, or the name in one, that defines its term."""

from __future__ import annotations

import importlib
import re
from types import FunctionType
from typing import Any

import pytest
from support.paths import ROOT

import atlaskit as ak

ROWS = [
    (cells[0], cells[-1])
    for line in (ROOT / "docs/glossary.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| **") and (cells := [cell.strip() for cell in line.strip("|").split(" | ")])
]


def defined(place: str) -> Any:
    """Return what `ak.NAME`, `package/module` or `package/module.NAME` names.

    A class or function must be defined in that module, not only be imported there.
    """
    if place.startswith("ak."):
        value: Any = ak
        for name in place.split(".")[1:]:
            value = getattr(value, name)
        return value
    path, _, names = place.partition(".")
    module = value = importlib.import_module("atlaskit." + path.replace("/", "."))
    for name in names.split(".") if names else []:
        value = getattr(value, name) if hasattr(value, name) else value.__annotations__[name]
        if isinstance(value, type | FunctionType):
            assert value.__module__ == module.__name__, f"{place} is only imported there"
    return value


def test_each_term_has_one_row() -> None:
    terms = [term for term, _ in ROWS]
    assert len(terms) == len(set(terms)) > 60


@pytest.mark.parametrize(("term", "where"), ROWS, ids=[term for term, _ in ROWS])
def test_the_places_of_a_term_exist(term: str, where: str) -> None:
    places = re.findall(r"`([^`]+)`", where)
    assert places, f"{term} names no place"
    for place in places:
        try:
            defined(place)
        except (ImportError, AttributeError, KeyError) as error:
            pytest.fail(f"{term} is not defined in {place}: {error}")


@pytest.mark.parametrize("place", ["agents/absent", "environment/grid.Absent", "ak.absent", "agents/worker.Run"])
def test_a_wrong_place_is_found(place: str) -> None:
    with pytest.raises((ImportError, AttributeError, KeyError, AssertionError)):
        defined(place)
