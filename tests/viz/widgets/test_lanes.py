"""The lanes of the ruler: what is said stands where it is said."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from atlaskit.viz.widgets.explorer.lanes import MARKS, lane

DURATION_S = 36_000.0
SECONDS = st.floats(0, DURATION_S, allow_nan=False)


@given(st.lists(st.tuples(SECONDS, SECONDS).map(lambda pair: (min(pair), max(pair))), max_size=30))
def test_a_lane_has_the_parts_that_spans_overlap_and_no_others(spans_s: list[tuple[float, float]]) -> None:
    parts = lane(spans_s, DURATION_S)
    assert all(end < start for (_, end), (start, _) in pairwise(parts))
    wide, near = [(start / DURATION_S, end / DURATION_S) for start, end in spans_s], 1 / MARKS + 1e-9
    for start, end in wide:
        middle = (start + end) / 2
        assert any(low - 1e-9 <= middle <= high + 1e-9 for low, high in parts)
    for low, high in parts:
        assert 0 <= low < high <= 1
        for tick in range(round(low * MARKS), round(high * MARKS)):
            assert any(start - near < (tick + 0.5) / MARKS < end + near for start, end in wide)
