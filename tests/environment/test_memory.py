"""M+ and M− as values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlaskit.environment.memory import DeadZones, Evidence, Scratchpad, label_of
from atlaskit.errors import InputError

spans = st.tuples(st.integers(0, 100), st.integers(1, 20)).map(lambda pair: (float(pair[0]), float(sum(pair))))


def item(time_s: float, confidence: float = 0.5, description: str = "seen") -> Evidence:
    return Evidence(time_s, time_s - 0.5, time_s + 0.5, description, confidence)


def test_labels_are_the_papers() -> None:
    assert [label_of(i) for i in (0, 25, 26, 50, 51, 52, 701, 702)] == ["A", "Z", "AA", "AY", "AZ", "BA", "ZZ", "AAA"]


def test_a_label_is_never_used_again() -> None:
    pad = Scratchpad().add([item(1), item(2)]).erase(["B"]).add([item(3)])
    assert pad.labels == ("A", "C")
    assert pad["C"].timestamp_s == 3
    with pytest.raises(InputError, match=r"no evidence \[B\]"):
        pad["B"]


def test_one_frame_is_one_item_with_the_surer_description() -> None:
    pad = Scratchpad().add([item(1, 0.5, "unsure"), item(1, 0.9, "sure"), item(1, 0.2, "guess")])
    assert [(e.label, e.description) for e in pad] == [("A", "sure")]


def test_evidence_outside_its_cell_cannot_be_made() -> None:
    with pytest.raises(InputError, match="outside its cell"):
        Evidence(8660.0, 0.0, 10.0, "a yellow card", 1.0)
    with pytest.raises(InputError, match="confidence"):
        Evidence(1.0, 0.0, 2.0, "", 1.1)


@given(st.lists(spans, max_size=12))
def test_dead_zones_are_the_union_of_what_was_added(added: list[tuple[float, float]]) -> None:
    zones = DeadZones()
    for start_s, end_s in added:
        zones = zones.add(start_s, end_s)
    assert all(a[1] < b[0] for a, b in zip(zones.intervals, zones.intervals[1:], strict=False))
    for second in range(125):
        dead = any(a <= second and second + 1 <= b for a, b in added)
        assert zones.covers(second, second + 1) == (dead or _covered_piecewise(added, second))
    covered = sum(any(a <= s and s + 1 <= b for a, b in added) for s in range(125))
    assert zones.coverage(0, 125) == pytest.approx(covered / 125)


def _covered_piecewise(added: list[tuple[float, float]], second: int) -> bool:
    return any(a <= second < b for a, b in added)  # bounds are whole seconds: half covered is wholly covered


@given(st.lists(spans, max_size=8), st.randoms())
def test_the_order_of_adding_does_not_matter(added: list[tuple[float, float]], random: object) -> None:
    def union(spans: list[tuple[float, float]]) -> DeadZones:
        zones = DeadZones()
        for span in spans:
            zones = zones.add(*span)
        return zones

    assert union(added) == union(sorted(added, reverse=True))


def test_the_surest_keep_their_labels_and_order() -> None:
    pad = Scratchpad().add(item(float(t), confidence=c) for t, c in ((1, 0.2), (2, 0.9), (3, 0.5), (4, 0.9)))
    assert pad.surest(2).labels == ("B", "D") and pad.surest(3).labels == ("B", "C", "D")
    assert pad.surest(4) is pad and pad.surest(2).labelled == 4
