"""What tests ask of a figure: the texts that it shows, where they are, and a table to draw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

LEAST_PT, SLACK_PX = 7.0, 2.0


def shown_texts(figure: Figure) -> list[Text]:
    """Return every text that a figure shows, without the labels of ticks outside an axis."""
    figure.draw_without_rendering()
    found = [text for ax in figure.axes for text in _texts_of(ax)]
    return [text for text in found if text.get_visible() and text.get_text().strip()]


def assert_legible(figure: Figure) -> None:
    """Check that no text is smaller than 7 points, and that none stands outside the figure."""
    for text in shown_texts(figure):
        box = _box_of(text)
        assert text.get_fontsize() >= LEAST_PT, text
        assert box.x0 >= figure.bbox.x0 - SLACK_PX and box.x1 <= figure.bbox.x1 + SLACK_PX, text
        assert box.y0 >= figure.bbox.y0 - SLACK_PX and box.y1 <= figure.bbox.y1 + SLACK_PX, text


def assert_apart(figure: Figure) -> None:
    """Check that no two texts of a figure overlap."""
    boxes = [(text, _box_of(text)) for text in shown_texts(figure)]
    for (first, a), (second, b) in combinations(boxes, 2):
        assert not _overlap(a, b), (first, second)


def evaluation(
    *,
    worlds: int = 6,
    questions: int = 10,
    durations_s: Sequence[float] = (600.0, 3600.0, 36_000.0),
    methods: Sequence[str] = ("video-rlm",),
    models: Sequence[str] = (),
    **constant: Any,
) -> pd.DataFrame:
    """Return a table like that of `evaluate`, of random scores and costs.

    Args:
        worlds: Number of seeds.
        questions: Number of questions for each seed.
        durations_s: Durations of the videos, in seconds.
        methods: Methods that answered.
        models: Models that were asked; without any, the table has no column `model`.
        **constant: Columns that have the same value in every row.
    """
    given = {"model": models or ("",), "method": methods, "seed": range(worlds), "duration_s": durations_s}
    rows = crossed(**given, number=range(questions))
    random = np.random.default_rng(0)
    tokens = random.lognormal(10.5, 0.8, len(rows))
    rows["id"] = rows["seed"].astype(str) + "-" + rows["number"].astype(str)
    rows["video"] = rows["seed"].astype(str) + " " + rows["duration_s"].astype(str)
    rows["score"] = (random.random(len(rows)) < 0.7).astype(float)
    rows["positions"] = random.integers(0, 5, len(rows))
    rows = rows.assign(tokens=tokens, master_tokens=0.3 * tokens, worker_tokens=0.7 * tokens)
    rows = rows.assign(**dict.fromkeys(("effective_tokens", "calls", "checks", "rounds", "evidence", "seconds"), 4.0))
    return rows.drop(columns=[] if models else "model").assign(**constant)


def crossed(**columns: Sequence[Any]) -> pd.DataFrame:
    """Return a table with a row for each combination of values."""
    return pd.MultiIndex.from_product(columns.values(), names=columns).to_frame(index=False)


def _texts_of(ax: Axes) -> Iterator[Text]:
    if ax.axison:
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
            yield from (tick.label1 for tick in ticks if tick.label1.get_visible() and low <= tick.get_loc() <= high)
            yield axis.label
    yield from ax.texts
    yield from (child for child in ax.get_children() if isinstance(child, Text) and child not in ax.texts)
    legend = ax.get_legend()
    yield from legend.get_texts() if legend is not None else ()


def _box_of(text: Text) -> Bbox:
    """Return the box of a text in pixels; that of an annotation would include its arrow."""
    return Text.get_window_extent(text)


def _overlap(a: Bbox, b: Bbox) -> bool:
    width, height = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
    return width > SLACK_PX and height > SLACK_PX
