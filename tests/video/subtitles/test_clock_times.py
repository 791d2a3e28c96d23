"""Times as people type them: what is one, and what is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlaskit.video.subtitles.text import parse_time

TIMES: dict[str, float | None] = {
    "65": 65.0,
    ".5": 0.5,
    " 0:00 ": 0.0,
    "100:00": 6000.0,
    "01:02:03,5": 3723.5,
    "1h 2m 3s": 3723.0,
    "1H": 3600.0,
    "1m90s": 150.0,
    "1.5h": 5400.0,
    "5 min": 300.0,
    **dict.fromkeys(("", "-5", "soon", "nan", "1e5", "٣", "5 s 3", "m", "500ms")),
    **dict.fromkeys(("1:", ":05", "1::5", "1:75", "1:60:00", "1:2:3:4", "1:05s", "1:05 pm")),
}


@pytest.mark.parametrize(("text", "seconds"), TIMES.items())
def test_a_time_is_read_and_anything_else_is_none(text: str, seconds: float | None) -> None:
    assert parse_time(text) == seconds


@given(st.integers(0, 359_999_999))
def test_a_clock_time_is_its_seconds(milliseconds: int) -> None:
    seconds, rest = divmod(milliseconds, 1000)
    text = f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:03}"
    assert parse_time(text) == pytest.approx(milliseconds / 1000)
