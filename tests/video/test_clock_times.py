"""Times as people type them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlaskit.video.subtitles.text import parse_time


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *(("65", 65.0), (".5", 0.5), ("1:05", 65.0), ("01:02:03,5", 3723.5), (" 0:00 ", 0.0), ("90s", 90.0)),
        *(("1h2m3s", 3723.0), ("1H", 3600.0), ("1m0.5s", 60.5), ("100:00", 6000.0), ("5 min", 300.0)),
        *(("1.5h", 5400.0), ("1h 2m 3s", 3723.0), ("1m90s", 150.0)),
    ],
)
def test_times_are_read(text: str, seconds: float) -> None:
    assert parse_time(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        *("", "-5", "soon", "1:2:3:4", "nan", "1e5", "5 s 3", "m", "1:05s", "٣", "1:75", "1:60:00", "1::5", ":05"),
        *("1:", "500ms", "1:05 pm"),
    ],
)
def test_what_is_no_time_is_none(text: str) -> None:
    assert parse_time(text) is None


@given(st.integers(0, 359_999_999))
def test_a_clock_time_is_its_seconds(milliseconds: int) -> None:
    seconds, rest = divmod(milliseconds, 1000)
    text = f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:03}"
    assert parse_time(text) == pytest.approx(milliseconds / 1000)
