"""What questions cost: before, while and after they are asked.

* `estimate`: what a whole evaluation will take, estimated from some of its questions.
* `Spending`: what an evaluation has spent of its total limits, counted call by call.
* `costs`: what each question took, and what was paid once for all questions about a video.

Calls that depend on a video alone, such as those that describe its clips, are paid with the first
question about it. A plain mean over questions would depend on how many questions follow, so these
calls are counted apart.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from atlaskit.agents.budget import Budget
from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import Kind
from atlaskit.evaluation.intervals import groups, interval
from atlaskit.models.protocol import Usage, now_s

if TYPE_CHECKING:
    import pandas as pd


def estimate(
    rows: pd.DataFrame, questions: int, videos: int, *, parallel: int, level: float = 0.95
) -> pd.DataFrame:
    """Return what an evaluation of so many questions and videos will take, with intervals.

    What is prepared once a video counts once a video. Intervals are clustered by the videos of the
    questions that were asked. Hours follow from the seconds of the questions whose calls were all
    paid for; there are none if the cache answered some call of every question.

    Args:
        rows: Table of `evaluate`, of some of the questions.
        questions: How many questions there are in all.
        videos: How many videos there are in all.
        parallel: How many questions run at once.
        level: Confidence level.

    Returns:
        One row for each amount. Columns: `amount`, `a question`, `in all`, and the bounds of the
        latter, `low` and `high`.
    """
    import pandas as pd

    needed: dict[str, tuple[pd.Series, pd.Series]] = {}
    for amount in ("calls", "tokens", "usd"):
        if amount in rows:
            of_question = rows[amount]
            if f"video_{amount}" in rows:  # paid once a video, and shared by all its questions
                prepared = rows[f"video_{amount}"].fillna(0)
                of_question = rows[amount] - prepared + prepared * videos / questions
            needed[amount] = (of_question, rows["video"])
    if "calls_paid" in rows:
        paid = rows[rows["calls_paid"].fillna(0) >= rows["calls"]]
        if paid["calls"].sum() > 0:
            needed["hours"] = (paid["seconds"] / 3600 / parallel, paid["video"])
    table = []
    for amount, (values, clusters) in needed.items():
        mean, low, high = interval(
            values.to_numpy(float), clusters.tolist(), are_shares=False, level=level
        )
        table.append(
            {
                "amount": amount,
                "a question": mean,
                "in all": mean * questions,
                "low": low * questions,
                "high": high * questions,
            }
        )
    return pd.DataFrame(table)


class TotalReached(KeyboardInterrupt):
    """Ends a question before a call for which the total has no room.

    It is an interrupt, so that it passes through methods, which continue after a model's errors.
    """


PAID = Kind("paid", 1)
"""What all runs of one evaluation on this machine have paid; a recording leaves it out."""


class Spending:
    """The total limits of one evaluation, or of several that share them.

    A finished question counts with what its replies cost when they were generated, so that the same
    evaluation, repeated from the cache, ends where it ended. A question in flight counts with the
    calls that it pays for now. The preparation of a video counts once.

    What is paid is also added up in the cache, for all runs of the same evaluation, so that a total
    holds however often the evaluation is interrupted. The total is exceeded by at most the calls in
    flight when it is reached.
    """

    def __init__(self, limits: Budget, cache: Cache | None = None, evaluation: str = "") -> None:
        """Begin to count.

        Args:
            limits: The limits; a `Budget()` has none.
            cache: Where the payments of all runs are added up; None counts this run alone.
            evaluation: A text that identifies the evaluation. It is the same in all of its runs.
        """
        self.limits = limits
        self._cache = cache
        self._key = PAID.key(line=evaluation)
        self._started_s = now_s()
        self._done = Counter[str]()
        self._running: dict[int, Counter[str]] = {}
        self._videos: set[str] = set()
        self._lock = threading.Lock()
        self._earlier_s = self.paid.get("seconds", 0.0)
        self.was_reached = bool(self.reached)
        """Whether earlier runs had reached a limit. Then only cached questions are finished."""

    @property
    def paid(self) -> Counter[str]:
        """What all runs have paid: calls, tokens, seconds, and USD with prices."""
        paid = Counter[str]()
        if self._cache is None:
            return paid
        stored = self._cache.get_json(self._key)
        if isinstance(stored, dict):
            for name, amount in stored.items():
                if isinstance(amount, int | float):
                    paid[name] = amount  # type: ignore[assignment]
        return paid

    def add(self, question: int, usage: Usage) -> None:
        """Count a call of a question in flight."""
        amounts = self._amounts(usage)
        with self._lock:
            self._running.setdefault(question, Counter()).update(amounts)
            if self._cache is not None:
                paid = self.paid
                paid.update(amounts)
                seconds = self._earlier_s + now_s() - self._started_s
                paid["seconds"] = seconds  # type: ignore[assignment]
                self._cache.put_json(self._key, dict(paid))

    def settle(self, question: int, total: Usage, per_video: Usage, video: str) -> None:
        """Count a finished question in place of its calls.

        Args:
            question: The number under which its calls were added.
            total: Usage of the question, with the preparation of its video.
            per_video: Usage of that preparation, which all questions about the video share.
            video: The fingerprint of the video.
        """
        with self._lock:
            self._running.pop(question, None)
            self._done.update(self._amounts(total))
            if video in self._videos:
                self._done.subtract(self._amounts(per_video))
            self._videos.add(video)

    @property
    def reached(self) -> str:
        """The limit that this run, or all runs together, have reached, in words; "" if none."""
        return self.reached_now or self._limit_in(self.paid)

    @property
    def reached_now(self) -> str:
        """The limit that the questions of this run have reached, in words; "" if none is."""
        with self._lock:
            spent = sum(self._running.values(), Counter(self._done))
        spent["seconds"] = now_s() - self._started_s  # type: ignore[assignment]
        return self._limit_in(spent)

    def _limit_in(self, spent: Counter[str]) -> str:
        """Return the first limit that amounts have reached, in words; "" if there is none."""
        for name, limit in vars(self.limits).items():
            if name != "prices" and limit is not None and spent[name] >= limit:
                return f"{limit:,} {name.replace('_', ' ').replace('usd', 'USD')}"
        return ""

    def check(self) -> None:
        """Raise TotalReached if a limit is reached."""
        if self.reached:
            raise TotalReached

    def _amounts(self, usage: Usage) -> dict[str, Any]:
        amounts: dict[str, Any] = {"calls": usage.calls}
        return amounts | dict(self.limits.amounts(usage))


COUNTED = ("calls", "tokens")
"""Amounts that are counted for each question and for each video: `tokens`, `video_tokens`."""
SHARED = ("image_tokens", "text_tokens", "cached_tokens", "completion_tokens")
"""Further amounts of both kinds, where the rows have them."""
OF_THIS_RUN = ("model_seconds", "queue_seconds", "frames_decoded", "decoding_seconds")
"""Amounts of this execution. They are small where replies and frames came from the cache."""
NEEDED = ["method", "video", "fingerprint", "seconds", *COUNTED, "video_calls", "video_tokens"]
"""Columns without which no cost is computed."""


def costs(rows: pd.DataFrame, by: str | Sequence[str] | None = None) -> pd.DataFrame:
    """Return the mean cost of a question, and that of preparing a video.

    The cost of a video is counted once for each method, however many questions are about it. If a
    budget ended its preparation early for some questions, the largest cost among them counts.

    The columns of the result are those of `by`, and

    * `questions` and `videos`, how many there are;
    * `question_calls`, the mean of what is paid for each question; `video_calls`, the mean of what
      is paid once for a video; and `calls`, the mean of a question with its share of its video:
      all questions about a video have equal shares; likewise for `tokens`, and for `usd` if
      `evaluate` got prices;
    * `image_tokens`, `text_tokens` (other tokens of prompts), `cached_tokens` (those of both in the
      server's prefix cache) and `completion_tokens`, of a question with its share;
    * means of this execution: `model_seconds`, in which a server answered; `queue_seconds`, in
      which calls waited for their turn; `frames_decoded`; `decoding_seconds`, of all threads; and
      `seconds` in all. They are small if replies and frames came from the cache.

    Args:
        rows: Table of `evaluate`.
        by: Column or columns to group by.

    Returns:
        One row for each group, or a single row without `by`.

    Raises:
        InputError: If the table lacks a column, or has no rows.

    Examples:
        >>> table = ak.statistics.costs(rows)
        >>> list(table.columns)[:3]
        ['questions', 'videos', 'question_calls']
    """
    import pandas as pd

    table = []
    for group_values, group in groups(rows, by, NEEDED):
        table.append({**group_values, **cost_of(group)})
    return pd.DataFrame(table)


def cost_of(rows: pd.DataFrame) -> dict[str, Any]:
    """Return the columns of `costs` for the rows of one group."""
    videos = _videos(rows)
    cost: dict[str, Any] = {"questions": len(rows), "videos": len(videos)}
    amounts = list(COUNTED)
    if {"usd", "video_usd"} <= set(rows.columns) and rows["usd"].notna().all():
        amounts.append("usd")
    for name in amounts:
        own = rows[name] - rows[f"video_{name}"]
        of_videos = videos[f"video_{name}"]
        cost[f"question_{name}"] = float(own.mean())
        cost[f"video_{name}"] = 0.0 if videos.empty else float(of_videos.mean())
        cost[name] = float((own.sum() + of_videos.sum()) / len(rows))
    for name in SHARED:
        if {name, f"video_{name}"} <= set(rows.columns):
            own = rows[name] - rows[f"video_{name}"]
            cost[name] = float((own.sum() + videos[f"video_{name}"].sum()) / len(rows))
    for name in (*OF_THIS_RUN, "seconds"):
        if name in rows:
            cost[name] = float(rows[name].mean())
    return cost


def _videos(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each video that a method was asked about, with the cost of preparing it.

    A question that failed before the video was open has no fingerprint and prepared nothing.
    """
    known = rows[(rows["fingerprint"] != "") | (rows["video_calls"] > 0)]
    keys = ["method", "video", "fingerprint"]
    if "model" in rows:
        keys.append("model")
    names = [f"video_{name}" for name in (*COUNTED, *SHARED, "usd")]
    columns = [name for name in names if name in rows]  # the dataset may have others of this kind
    return known.groupby(keys, sort=False)[columns].max().reset_index()
