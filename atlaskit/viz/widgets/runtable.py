"""`RunTable`: the widget with the rows of an evaluation; a row opens its run.

The kernel, not the page, makes the line of means and the CSV of the rows that the page shows. So
the interval of a mean is always that of `evaluation.statistics`, and the CSV has the full texts,
while those in the page are cut.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from atlaskit.benchmarks.case import Case
from atlaskit.benchmarks.datasets.rows import is_missing
from atlaskit.caching.cache import Cache, default_cache
from atlaskit.errors import InputError, printable, reason
from atlaskit.evaluation import tables
from atlaskit.evaluation.statistics import accuracy
from atlaskit.runs.exporting.tables import as_cell
from atlaskit.runs.narrate import counted
from atlaskit.runs.result import WITHOUT_EVIDENCE
from atlaskit.video.video import Video
from atlaskit.viz.html.markup import (
    Html,
    card,
    guarded,
    omitted,
    paragraph,
    plain_text,
    table,
    untrusted,
)
from atlaskit.viz.walk.source import RunSource, open_run
from atlaskit.viz.widgets.bridge import Debouncer, PageOwner
from atlaskit.viz.widgets.viewer import Channel, TraceViewer

if TYPE_CHECKING:
    import pandas as pd

REQUIRED_COLUMNS = ("id", "right", "stop")
PINNED_COLUMNS = ("outcome", "score")
"""Columns that are first, and stay in sight when the table is scrolled."""
WORD_COLUMNS = ("question", "truth", "answer", "choices", "id")
ANSWER_COLUMNS = ("method", "category", "prediction", "stop", "failure")
SEARCH_COLUMNS = ("calls", "tokens", "rounds", "evidence", "depth", "coverage", "video")
SHOWN_COLUMNS = PINNED_COLUMNS + WORD_COLUMNS + ANSWER_COLUMNS + SEARCH_COLUMNS
"""Columns that are shown at first, in this order, if the rows have them."""
KEY_COLUMNS = ("method", "video", "id")
"""Columns by which rows are recognised when a file is read again."""
HIDDEN_COLUMNS = ("right", "trace")
"""Columns that are not offered: the column `outcome` and each row's button say the same."""
FILTER_COLUMNS = ("outcome", "stop", "category", "method")
"""Columns that rows can be filtered by, if their values differ."""
MAX_ROWS = 20_000
"""Most rows in the widget."""
BATCH = 1_000
"""Rows in one message."""
STATIC_ROWS = 20
"""Most rows in the static picture."""
MAX_CHARS = 400
"""Most characters of one value."""
MAX_MEANS_CHARS = 1_000
"""Most characters of the line of means."""


class RunTable(PageOwner):
    """The rows of an evaluation in a notebook: `RunTable(rows)` as the last line of a cell.

    The headings sort the rows; filters select them by outcome, stop, category, method, and words. A
    line shows the accuracy of the selected rows with its interval. A box shows all columns, and a
    button downloads what is shown as CSV. A row opens its run below the table (`TraceViewer`), and
    beside it a second run of the same question. This needs the traces of the runs, which
    `ak.evaluate(…, traces="FOLDER")` saves.

    A file is followed: while `atlaskit evaluate` runs, its rows so far are shown, and further rows
    come as they are written. Rows stay in their places, so an open run stays open.

    The interactive widget needs a running kernel; elsewhere, as on GitHub, the notebook shows the
    first rows.

    Attributes:
        rows: The rows, indexed from 0, with the additional column `outcome`: right, wrong,
            failed, or answered where the true answer is not known.
        columns: Names of the columns that are shown at first; the menu offers the others.
        cache: Where images are cached.

    Examples:
        >>> table = ak.widgets.RunTable(rows, cases)  # shown if this is the last line of a cell
    """

    page = "runtable"

    def __init__(
        self,
        rows: pd.DataFrame | str | Path,
        cases: Iterable[Case] = (),
        *,
        cache: Cache | None = None,
        traces: str | Path | None = None,
    ) -> None:
        """Prepare a table.

        Args:
            rows: The table that `ak.evaluate` returned, or several joined by `pd.concat`; or the
                path of a file that `atlaskit evaluate` has written or is writing.
            cases: The evaluated cases, from whose videos the images are drawn. Without cases,
                images are read from the cache.
            cache: Where images are cached; None for the default cache.
            traces: The folder of the runs' traces, if `rows` is a file; by default the folder of
                that file. Traces elsewhere are not opened, since a table could name any file.

        Raises:
            InputError: The rows are not those of an evaluation, or the file cannot be read.
        """
        self._path = Path(rows) if isinstance(rows, str | Path) else None
        # What was read of the file: the table itself or its rows so far, and when it was written.
        self._written = (Path(), 0)
        self.cache = cache or default_cache()
        self._cases = {(case.video, case.question.id): case for case in cases}
        self._channel = Channel(self._open_run, self.send)
        self._means_jobs = Debouncer("means")
        self._traces = None if self._path is None else Path(traces or self._path.parent)
        if self._path is not None:
            self._written = tables.newest(self._path)
            rows = tables.load(self._written[0])
        self._take(rows)

    def _take(self, rows: Any) -> None:
        """Set the rows and columns to show; raise InputError if it is no table of an evaluation."""
        missing = [name for name in REQUIRED_COLUMNS if name not in getattr(rows, "columns", ())]
        if missing:
            raise InputError(
                f"RunTable needs the rows of ak.evaluate; these have no column {missing[0]!r}."
            )
        self.rows: pd.DataFrame = rows.assign(outcome=_outcomes(rows)).reset_index(drop=True)
        offered = [name for name in self.rows.columns if name not in HIDDEN_COLUMNS]
        known = [name for name in SHOWN_COLUMNS if name in offered]
        self._offered = list(dict.fromkeys([*known, *offered]))
        if "answer" in known and "prediction" in known:
            known.remove("prediction")  # the answer is the prediction in words
        self.columns = tuple(known)

    def open(self, row: int, other: int | None = None) -> TraceViewer:
        """Return the viewer of a row's run.

        Args:
            row: Index of the row, from 0.
            other: Index of another row of the same question, whose run is shown beside it.

        Raises:
            InputError: There is no such row, it has no trace, or the two questions differ.
            VideoError: The video of the row's case does not open.
        """
        paths = [self._trace_path(number) for number in (row, other) if number is not None]
        return TraceViewer(*paths, video=self._video(row), cache=self.cache)

    def _receive(self, message: dict[str, Any]) -> None:
        match message:
            case {"want": "rows"}:
                self._send_rows()
            case {"want": "news"}:
                self._send_news()
            case {"want": "means", "ask": int(number), "rows": [*rows]}:
                self._means_jobs.submit(
                    lambda _is_latest: self._send_means(number, self._selected(rows))
                )
            case {"want": "csv", "rows": [*rows], "columns": [*columns]}:
                offered = [name for name in columns if name in self._offered]
                chosen = self._selected(rows)[offered]
                numbered = chosen.reset_index(names="run", allow_duplicates=True)
                self.send({"is": "csv"}, [csv_bytes(numbered)])
            case _:
                self._channel.receive(message)

    def _selected(self, numbers: list[Any]) -> pd.DataFrame:
        """Return the rows with the given indices, in their order; anything else is left out."""
        count = len(self.rows)
        known = [each for each in numbers if type(each) is int and 0 <= each < count]
        return self.rows.iloc[known]

    def _send_means(self, number: int, rows: pd.DataFrame) -> None:
        """Send the line of means, as the reply to the page's request with this number."""
        try:
            words = means_text(rows)
        except (ValueError, TypeError) as error:  # a table from elsewhere may hold any score
            words = f"no accuracy: {reason(error)}"
        self.send({"is": "means", "ask": number, "words": plain_text(words, MAX_MEANS_CHARS)})

    def _send_news(self) -> None:
        """Send the rows if the file has changed. Rows that the page shows keep their places."""
        if self._path is None:
            return
        written = tables.newest(self._path)
        if written == self._written:
            return
        try:
            rows = tables.load(written[0])
            keys = _keys(rows)
            places = {key: place for place, key in enumerate(_keys(self.rows))}
            is_other = not places.keys() <= set(keys)
            if not is_other:
                # New rows come last. The sort is stable, so they keep their order.
                order = sorted(range(len(rows)), key=lambda at: places.get(keys[at], len(places)))
                rows = rows.iloc[order]
            self._take(rows)
        except InputError as error:
            if tables.newest(self._path) == written:  # the file is not just being replaced
                self._written = written
                # 0 is the number of no request, so the page shows the sentence at once.
                self.send(
                    {"is": "means", "ask": 0, "words": plain_text(reason(error), MAX_MEANS_CHARS)}
                )
            return
        self._written = written
        self._send_rows(is_other)

    def _send_rows(self, is_other: bool = False) -> None:
        """Send the rows to the page in batches. With `is_other`, they are of another evaluation."""
        count = min(len(self.rows), MAX_ROWS)
        notes = list[str]()
        if count < len(self.rows):
            notes.append(f"The last {len(self.rows) - count:,} rows are not shown.")
        if self._path not in (None, self._written[0]):  # the rows so far were read
            notes.append("The evaluation is not finished; more rows come as they are written.")
        pinned = [name for name in PINNED_COLUMNS if name in self.columns]
        head = {
            "columns": self._offered,
            "shown": self.columns,
            "pinned": pinned,
            "filters": self._filters(),
        }
        news = {"follows": self._path is not None, "isOther": is_other}
        self.send({"is": "table", **head, **news, "count": count, "note": " ".join(notes)})
        marked = _with_marks(self.rows)[self._offered]
        for first in range(0, count, BATCH):
            batch = marked.iloc[first : min(first + BATCH, count)]
            values = [list(map(_plain, row)) for row in batch.itertuples(index=False)]
            self.send({"is": "rows", "first": first, "rows": values})

    def _filters(self) -> list[str]:
        """Return the columns to filter by: those with more than one value."""
        filters = list[str]()
        for name in FILTER_COLUMNS:
            if name in self.columns and self.rows[name].nunique(dropna=False) > 1:
                filters.append(name)
        return filters

    def _open_run(self, number: int) -> RunSource:
        return open_run(self._trace_path(number), self._video(number), self.cache)

    def _trace_path(self, number: int) -> str:
        """Return the path of a row's trace; raise InputError if there is none."""
        if not 0 <= number < len(self.rows):
            raise InputError(
                f"A row must have an index from 0 to {len(self.rows) - 1}; got {number}."
            )
        if "trace" not in self.rows.columns:
            raise InputError(
                'These rows have no traces. Evaluate again with traces="FOLDER"; the cache then '
                "answers, and no model call is made."
            )
        path = self.rows["trace"][number]
        if isinstance(path, str) and path:
            if self._traces is None:
                return path
            return str(tables.own_trace(path, self._traces))
        failure = ""
        if "failure" in self.rows.columns:
            failure = plain_text(self.rows["failure"][number], 300)
        raise InputError(
            f"Row {number} has no trace, because its run failed: "
            f"{failure or 'no reason was recorded.'}"
        )

    def _video(self, number: int) -> Video | None:
        """Return the video of a row if its case is known; raise VideoError if it does not open."""
        video = ""
        if "video" in self.rows.columns:
            video = self.rows["video"][number]
        case = self._cases.get((video, self.rows["id"][number]))
        return None if case is None else case.opened()

    def _repr_html_(self) -> Html:
        """Return the static picture: the first rows."""
        count = len(self.rows)
        outcomes = self.rows["outcome"].value_counts()
        numbers = ", ".join(f"{number:,} {name}" for name, number in outcomes.items())
        first = _with_marks(self.rows)[[*self.columns]].head(STATIC_ROWS)
        rows = [list(map(_cell, row)) for row in first.itertuples(index=False)]
        shown = table(f"{counted(count, 'row')}: {numbers}", self.columns, rows)
        means = guarded("The accuracy", lambda: paragraph(f"All rows: {means_text(self.rows)}."))
        return card(shown, omitted(count - STATIC_ROWS, "row"), means)

    def __repr__(self) -> str:
        return f"RunTable(<{counted(len(self.rows), 'row')}>)"


def _keys(rows: pd.DataFrame) -> list[tuple[object, ...]]:
    """Return a key for each row: its values of KEY_COLUMNS, and how many rows before share them."""
    seen = Counter[tuple[object, ...]]()
    keys = list[tuple[object, ...]]()
    named = [name for name in KEY_COLUMNS if name in rows.columns]
    for values in rows[named].itertuples(index=False, name=None):
        keys.append((*values, seen[values]))
        seen[values] += 1
    return keys


def _outcomes(rows: pd.DataFrame) -> list[str]:
    """Return for each row whether its answer is right or wrong, or its run failed.

    A finished run without a score is "answered": its true answer is not known.
    """
    scores = rows["score"] if "score" in rows.columns else [0.0] * len(rows)
    outcomes = list[str]()
    for right, stop, score in zip(rows["right"], rows["stop"], scores, strict=True):
        if stop == "failed":
            outcomes.append("failed")
        elif is_missing(score):
            outcomes.append("answered")
        elif not is_missing(right) and right:
            outcomes.append("right")
        else:
            outcomes.append("wrong")
    return outcomes


def _with_marks(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with a mark on answers without evidence, if there are such columns."""
    if not {"answer", "evidence"} <= set(rows.columns):
        return rows
    answers = list[Any]()
    for answer, count in zip(rows["answer"], rows["evidence"], strict=True):
        if not is_missing(count) and count == 0 and _plain(answer):
            answer = f"{answer} {WITHOUT_EVIDENCE}"
        answers.append(answer)
    return rows.assign(answer=answers)


def _cell(value: Any) -> Any:
    """Return a value for a cell of an HTML table."""
    plain = _plain(value)
    return untrusted(plain) if isinstance(plain, str) else plain


def _plain(value: Any) -> Any:
    """Return a value as plain JSON: a number, a bool, None, or a line of text."""
    value = value.item() if isinstance(value, np.generic) else value
    if is_missing(value):
        return None
    if isinstance(value, bool | int) or (isinstance(value, float) and abs(value) < float("inf")):
        return value
    return plain_text(value, MAX_CHARS)


def means_text(rows: pd.DataFrame) -> str:
    """Return the mean score of rows and its interval in words, for each of several methods.

    The mean is called accuracy if every score is 0 or 1. Without a column `video` there is no
    interval, because intervals are clustered by videos.
    """
    if not len(rows):
        return "no rows, so no accuracy"
    column = "right"
    if "score" in rows.columns:
        column = "score"
    if rows[column].isna().all():
        return f"{counted(len(rows), 'question')}, whose true answers are not known"
    rows = rows[rows[column].notna()]
    name = "mean score"
    if set(rows[column].astype(float)) <= {0.0, 1.0}:
        name = "accuracy"
    if "method" not in rows.columns or rows["method"].nunique() < 2:
        return _mean_text(rows, column, name)
    means = list[str]()
    for method, group in rows.groupby("method", sort=False):
        means.append(f"{printable(str(method), 40)}: {_mean_text(group, column, name)}")
    return "; ".join(means)


def _mean_text(rows: pd.DataFrame, column: str, name: str) -> str:
    questions = counted(len(rows), "question")
    if "video" not in rows.columns:
        return (
            f"{name} {_percent(rows[column].astype(float).mean())} of {questions}, no interval: "
            "no column video"
        )
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

    An apostrophe is put before a text that a spreadsheet would compute as a formula, since a
    question, a reply or a file name may come from anywhere. Numbers are unchanged.
    """
    text: str = rows.map(_as_text).rename(columns=_as_text).to_csv(index=False, lineterminator="\n")
    return text.encode("utf-8-sig", "replace")


def _as_text(value: Any) -> Any:
    if isinstance(value, str):
        return as_cell(value)
    return value
