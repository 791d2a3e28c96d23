"""The scratchpad (M+) and the dead zones (M−)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlaskit.environment.memory import DeadZones, Evidence, Scratchpad, label_of
from atlaskit.errors import InputError

spans = st.tuples(st.integers(0, 100), st.integers(1, 20)).map(lambda pair: (float(pair[0]), float(sum(pair))))


def evidence(time_s: float, confidence: float = 0.5, description: str = "seen") -> Evidence:
    return Evidence(time_s, time_s - 0.5, time_s + 0.5, description, confidence)


def test_labels_follow_the_paper() -> None:
    assert [label_of(i) for i in (0, 25, 26, 50, 51, 52, 701, 702)] == ["A", "Z", "AA", "AY", "AZ", "BA", "ZZ", "AAA"]


def test_the_label_of_an_erased_item_is_not_reused() -> None:
    pad = Scratchpad().add([evidence(1), evidence(2)]).erase(["B"]).add([evidence(3)])
    assert pad.labels == ("A", "C")
    assert pad["C"].timestamp_s == 3
    with pytest.raises(InputError, match=r"no evidence \[B\]"):
        pad["B"]


def test_equal_timestamps_become_one_item_with_the_most_confident_description() -> None:
    pad = Scratchpad().add([evidence(1, 0.5, "unsure"), evidence(1, 0.9, "sure"), evidence(1, 0.2, "guess")])
    assert [(e.label, e.description) for e in pad] == [("A", "sure")]


def test_evidence_outside_its_cell_is_refused() -> None:
    with pytest.raises(InputError, match="outside its cell"):
        Evidence(8660.0, 0.0, 10.0, "a yellow card", 1.0)
    with pytest.raises(InputError, match="confidence"):
        Evidence(1.0, 0.0, 2.0, "", 1.1)


@given(st.lists(spans, max_size=12))
def test_dead_zones_are_the_union_of_the_added_intervals(added: list[tuple[float, float]]) -> None:
    zones = DeadZones().add_all(added)
    assert all(a[1] < b[0] for a, b in zip(zones.intervals, zones.intervals[1:], strict=False))
    dead = [any(a <= second < b for a, b in added) for second in range(125)]  # all bounds are whole seconds
    assert [zones.covers(second, second + 1) for second in range(125)] == dead
    assert [zones.contain(second) for second in range(125)] == dead
    assert zones.coverage(0, 125) == pytest.approx(sum(dead) / 125)


@given(st.lists(spans, max_size=8), st.randoms())
def test_dead_zones_do_not_depend_on_the_order_of_adding(added: list[tuple[float, float]], random: object) -> None:
    assert DeadZones().add_all(added) == DeadZones().add_all(sorted(added, reverse=True))


def test_the_most_confident_items_keep_their_labels_and_order() -> None:
    pad = Scratchpad().add(evidence(float(t), confidence=c) for t, c in ((1, 0.2), (2, 0.9), (3, 0.5), (4, 0.9)))
    assert pad.surest(2).labels == ("B", "D") and pad.surest(3).labels == ("B", "C", "D")
    assert pad.surest(4) is pad and pad.surest(2).labelled == 4
