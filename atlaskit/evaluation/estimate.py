"""`estimate`: what a whole evaluation will take, from some of its questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atlaskit.evaluation.intervals import interval

if TYPE_CHECKING:
    import pandas as pd


def estimate(rows: pd.DataFrame, questions: int, videos: int, *, parallel: int, level: float = 0.95) -> pd.DataFrame:
    """Return what an evaluation of so many questions and videos will take, with intervals.

    What is prepared once a video counts once a video. Intervals are a bootstrap over the videos of
    the questions that were asked. Hours follow from the seconds of the questions whose calls were
    all paid for; they are missing where the cache answered all.

    Args:
        rows: Table of `evaluate`, of some of the questions.
        questions: How many questions there are in all.
        videos: How many videos there are in all.
        parallel: How many questions run at once.
        level: Confidence level.

    Returns:
        One row for each amount. Columns: `amount`, `a question`, `in all`, `low`, `high`.
    """
    import pandas as pd

    table = []
    for amount in ("calls", "tokens", "usd"):
        if amount in rows:
            prepared = rows[f"video_{amount}"].fillna(0) if f"video_{amount}" in rows else 0
            needed = rows[amount] - prepared + prepared * videos / questions
            table.append(_row(amount, needed, rows["video"], questions, level))
    paid = rows[rows["calls_paid"].fillna(0) >= rows["calls"]] if "calls_paid" in rows else rows.iloc[:0]
    if paid["calls"].sum() > 0:
        table.append(_row("hours", paid["seconds"] / 3600 / parallel, paid["video"], questions, level))
    return pd.DataFrame(table)


def _row(amount: str, needed: pd.Series, videos: pd.Series, questions: int, level: float) -> dict[str, Any]:
    mean, low, high = interval(needed.to_numpy(float), videos.tolist(), level=level)
    scaled = {"in all": mean * questions, "low": low * questions, "high": high * questions}
    return {"amount": amount, "a question": mean, **scaled}
