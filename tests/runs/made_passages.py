"""Passages for tests of exports: strategies of Hypothesis, and videos of many frame rates."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.stand_ins import Flat

from atlaskit.runs.exporting.passages import KINDS, Passage

RATES = {
    "24": Fraction(24),
    "25": Fraction(25),
    "29.97": Fraction(30_000, 1001),
    "50": Fraction(50),
    "59.94": Fraction(60_000, 1001),
}
VARIABLE = "variable"
DURATION_S = 4_000.0
LONG_WORDS = 'a fox, "red"; no\nsecond line — "ünï" ﻿ 狐 🦊👩‍🚀 \u202bשועל\u202c\u00a0§'

texts = st.text(st.characters(codec="utf-8"), max_size=40) | st.sampled_from(
    [
        *("", " ", "-", "a\nb", "a\n\nb", "\n", " a ", "a\n \nb", "\ta", "a --> b", "<b>&amp;</b>", "&#10;"),
        *("=1+1", "'=1", "''", "@a", "a: b", "a, b; c", '"', "\\n", "| kind:note", "\\", LONG_WORDS, "]]>", "# x"),
        *("note", "A", "* COMMENT: a", "001  AX", "NOTE", "STYLE", "WEBVTT", "</v>", "a:b|c"),
    ]
)
times = st.floats(0, DURATION_S - 10, allow_nan=False)
lengths = st.floats(1e-6, 9, allow_nan=False) | st.sampled_from([1.0, 0.04, 1001 / 30_000])


def passages() -> st.SearchStrategy[Passage]:
    """Return passages of any text, kind and label."""
    return st.builds(
        lambda start_s, length_s, **rest: Passage(start_s, start_s + length_s, video="film.mp4", fps=25.0, **rest),
        times,
        lengths,
        text=texts,
        kind=st.sampled_from(KINDS),
        label=texts,
        confidence=st.none() | st.floats(0, 1),
        question=texts,
        at_s=st.none() | times,
    )


class Paced(Flat):
    """A long video of one colour, with a frame rate, and perhaps with frame times of its own."""

    def __init__(self, fps: Fraction, times_s: NDArray[np.float64] | None = None, name: str = "film.mp4") -> None:
        super().__init__()
        self.name, self.fps, self.duration_s, self.times_s = name, float(fps), DURATION_S, times_s

    def frame_times(self) -> NDArray[np.float64] | None:
        return self.times_s


@cache
def of_rate(rate: str) -> Paced:
    """Return a video of a rate; "variable" has 24 frames in one second, and 60 in the next."""
    if rate != VARIABLE:
        return Paced(RATES[rate])
    two = np.concatenate([np.arange(24) / 24, 1 + np.arange(60) / 60])
    times_s = np.arange(0.0, DURATION_S, 2.0)[:, None] + two[None, :]
    return Paced(Fraction(42), times_s.ravel())
