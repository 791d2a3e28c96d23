"""The lanes of the ruler: what happens stands where it happens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlaskit.video.activity import Activity
from atlaskit.viz.widgets.explorer.lanes import MAX_BINS, _levels


@given(st.integers(1, 2000), st.data())
def test_a_peak_stands_at_its_time_however_many_steps_there_are(steps: int, data: st.DataObject) -> None:
    peak = data.draw(st.integers(0, steps - 1))
    activity = Activity(0.5, tuple(2.0 if step == peak else 1.0 for step in range(steps)), ())
    marks = _levels(activity)
    assert len(marks) <= MAX_BINS and marks[0][0] == 0 and marks[-1][1] == 1
    assert [end for _, end, _ in marks[:-1]] == [start for start, _, _ in marks[1:]]
    (highest,) = [(start, end) for start, end, level in marks if level > 0.5]
    assert highest[0] <= peak / steps < (peak + 1) / steps <= highest[1] + 1e-12
    assert highest[1] - highest[0] == pytest.approx(1 / len(marks), abs=1 / steps)
