"""What questions cost: for each of them, and once for all questions about a video.

Calls that depend on a video alone, such as those that describe its clips, are paid with the first
question about it. A mean over questions that holds them would depend on how many questions follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from atlaskit.evaluation.grouping import groups

if TYPE_CHECKING:
    import pandas as pd

COUNTED = ("calls", "tokens")
"""What is counted for each question, and for each video: columns `tokens`, `video_tokens`."""
NEEDED = ["method", "video", "fingerprint", "seconds", *COUNTED, *(f"video_{name}" for name in COUNTED)]


def costs(rows: pd.DataFrame, by: str | Sequence[str] | None = None) -> pd.DataFrame:
    """Return what a question costs, and what is paid once for a video.

    The cost of a video is counted once for each method, however many questions are about it. If a
    budget ended its calls early for some questions, the most that a question needed counts.

    Args:
        rows: Table of `evaluate`.
        by: Column or columns to group by.

    Returns:
        One row for each group, or a single row without `by`. Columns: those of `by`, `questions`,
        `videos`, and for calls and tokens: `question_…`, the mean of what is paid for each
        question; `video_…`, the mean of what is paid once for a video; and `calls`, `tokens`, the
        mean of a question with its share of its video, which all questions of the table about the
        video share equally. The same for `usd` where `evaluate` got prices. Last, the mean
        `seconds` of the executions, which are few where replies came from the cache.

    Raises:
        InputError: If the table lacks a column.

    Examples:
        >>> table = ak.statistics.costs(rows)
        >>> list(table.columns)[:3]
        ['questions', 'videos', 'question_calls']
    """
    import pandas as pd

    return pd.DataFrame([{**values, **cost_of(group)} for values, group in groups(rows, by, NEEDED)])


def cost_of(rows: pd.DataFrame) -> dict[str, Any]:
    """Return the columns of `costs` for the rows of one group."""
    videos = _videos(rows)
    found: dict[str, Any] = {"questions": len(rows), "videos": len(videos)}
    has_usd = {"usd", "video_usd"} <= set(rows.columns) and bool(rows["usd"].notna().all())
    for name in (*COUNTED, *(["usd"] if has_usd else [])):
        own = rows[name] - rows[f"video_{name}"]
        of_videos = videos[f"video_{name}"]
        found[f"question_{name}"] = float(own.mean())
        found[f"video_{name}"] = float(of_videos.mean()) if len(videos) else 0.0
        found[name] = float((own.sum() + of_videos.sum()) / len(rows))
    return {**found, "seconds": float(rows["seconds"].mean())}


def _videos(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each video that a method was asked about, with what it cost once.

    A question that failed before the video was open has no fingerprint and cost the video nothing.
    """
    known = rows[(rows["fingerprint"] != "") | (rows["video_calls"] > 0)]
    keys = [name for name in ("method", "model", "video", "fingerprint") if name in rows.columns]
    columns = [name for name in rows.columns if name.startswith("video_")]
    return known.groupby(keys, sort=False)[columns].max().reset_index()
