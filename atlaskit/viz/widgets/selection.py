"""What a table's page asks about the rows that it shows: the line of their means, and their CSV.

The kernel answers both, so that a mean has the one interval of `evaluation.statistics`, and the
file has whole texts where the page cuts them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atlaskit.errors import printable
from atlaskit.evaluation.statistics import accuracy
from atlaskit.runs.exporting.tables import as_cell
from atlaskit.runs.narrate import counted

if TYPE_CHECKING:
    import pandas as pd


def means_text(rows: pd.DataFrame) -> str:
    """Return the mean score of rows with its interval in words, for each of several methods.

    It is called accuracy where every score is 0 or 1. Without a column `video` there is no
    interval, because it is clustered by videos.
    """
    if not len(rows):
        return "no rows, so no accuracy"
    column = "score" if "score" in rows.columns else "right"
    name = "accuracy" if set(rows[column].astype(float)) <= {0.0, 1.0} else "mean score"
    if "method" not in rows.columns or rows["method"].nunique() < 2:
        return _mean_text(rows, column, name)
    groups = rows.groupby("method", sort=False)
    return "; ".join(f"{printable(str(method), 40)}: {_mean_text(group, column, name)}" for method, group in groups)


def _mean_text(rows: pd.DataFrame, column: str, name: str) -> str:
    questions = counted(len(rows), "question")
    if "video" not in rows.columns:
        return f"{name} {_percent(rows[column].astype(float).mean())} of {questions}, no interval: no column video"
    mean = accuracy(rows, column=column).iloc[0]
    shown = f"{name} {_percent(mean['mean'])}"
    if mean["videos"] < 2:
        return f"{shown} of {questions}, no interval: it takes several videos"
    interval = f"95 % interval {100 * mean['low']:.1f}–{_percent(mean['high'])}"
    return f"{shown} ({interval}) of {questions} about {counted(int(mean['videos']), 'video')}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def csv_bytes(rows: pd.DataFrame) -> bytes:
    """Return rows as CSV for spreadsheets: UTF-8 with a byte order mark, quoted where needed.

    A text that a spreadsheet would compute as a formula begins with an apostrophe, which shows that
    it is text: a question, a reply or a file name may come from anywhere. Numbers are unchanged.
    """
    text: str = rows.map(_as_text).rename(columns=_as_text).to_csv(index=False, lineterminator="\n")
    return text.encode("utf-8-sig", "replace")


def _as_text(value: Any) -> Any:
    return as_cell(value) if isinstance(value, str) else value
