"""The rows of an evaluation to sort, filter and open: a row's run is stepped through below the table.

The rows are those of `ak.evaluate`. What is shown of them is made of plain values here, and put in as text there.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from atlaskit.benchmarks.case import Case
from atlaskit.caching.cache import Cache, cache_in_use
from atlaskit.errors import InputError
from atlaskit.video.video import Video
from atlaskit.viz.html.markup import Html, card, paragraph, plain_text, table, untrusted
from atlaskit.viz.walk.source import RunSource, open_run
from atlaskit.viz.widgets import bridge
from atlaskit.viz.widgets.channel import Channel
from atlaskit.viz.widgets.viewer import TraceViewer

if TYPE_CHECKING:
    import pandas as pd

NEEDED = ("id", "right", "stop")
"""Columns without which rows are none of an evaluation."""
OF_THE_ANSWER = ("question", "outcome", "method", "category", "score", "prediction", "stop", "failure")
OF_THE_SEARCH = ("calls", "tokens", "rounds", "evidence", "depth", "coverage", "video", "id")
SHOWN = OF_THE_ANSWER + OF_THE_SEARCH
"""Columns that are shown where there are such, in their order."""
FILTERED = ("outcome", "stop", "category", "method")
"""Columns by whose values rows can be picked."""
MOST_ROWS, BATCH, FEW_ROWS = 20_000, 1_000, 20
MOST_LETTERS = 400


class RunTable:
    """The rows of an evaluation to look through in a notebook: `RunTable(rows)` as a cell's last line.

    `rows` is what `ak.evaluate` returned, or `outcomes.load` read; several tables can be put together by `pd.concat`.
    They are sorted by the heads of their columns, and filtered by outcome, why the search stopped, category, method,
    and words. A row's run is stepped through below the table (`TraceViewer`), a second one of the same question beside
    it. That takes the traces: `ak.evaluate(…, traces="FOLDER")` keeps them.

    With `cases`, those that were evaluated, pictures are drawn from their videos; without, they are looked up in
    `cache`, by default the one that was opened last. `columns` are shown besides the usual ones.
    Where it cannot be clicked, as on GitHub, a notebook shows the first rows.

    Raises InputError for what are no rows of an evaluation, or for a column that there is not.
    """

    def __init__(
        self,
        rows: pd.DataFrame,
        cases: Iterable[Case] = (),
        *,
        columns: Iterable[str] = (),
        cache: Cache | None = None,
    ) -> None:
        missing = [name for name in NEEDED if name not in getattr(rows, "columns", ())]
        if missing:
            raise InputError(f"These are no rows of ak.evaluate: they have no column {missing[0]!r}.")
        unknown = [name for name in columns if name not in rows.columns]
        if unknown:
            raise InputError(f"These rows have no column {unknown[0]!r:.80}; they have {', '.join(rows.columns)}.")
        self.rows = rows.assign(outcome=_outcomes(rows)).reset_index(drop=True)
        """The rows, numbered from 0, each with its `outcome`: right, wrong or failed."""
        self.columns = tuple(dict.fromkeys(name for name in (*SHOWN, *columns) if name in self.rows.columns))
        self.cache = cache or cache_in_use()
        self._cases = {(case.video, case.question.id): case for case in cases}
        self._feed = Channel(self._opened, lambda *said: self.widget.send(*said))

    def open(self, row: int, other: int | None = None) -> TraceViewer:
        """Return the viewer of a row's run, numbered from 0; with `other`, another row of the same question beside it.

        Raises InputError where there is no such row, or its trace was not kept.
        """
        paths = [self._path(number) for number in (row, other) if number is not None]
        return TraceViewer(*paths, video=self._video(row), cache=self.cache)

    @cached_property
    def widget(self) -> Any:
        """The widget by itself, to put among others; raise InputError where anywidget is not installed."""
        return bridge.connect("runtable", self._hear, walks=True)

    def _hear(self, message: dict[str, Any]) -> None:
        if message.get("want") == "rows":
            self._tell()
        else:
            self._feed.hear(message)

    def _tell(self) -> None:
        """Tell the page all rows, in batches."""
        count = min(len(self.rows), MOST_ROWS)
        left_out = len(self.rows) - count
        note = f"The last {left_out:,} rows are not shown." if left_out else ""
        about = {"columns": self.columns, "filters": self._filters(), "count": count, "note": note}
        self.widget.send({"is": "table", **about})
        for first in range(0, count, BATCH):
            part = self.rows[[*self.columns]].iloc[first : min(first + BATCH, count)]
            values = [[_plain(value) for value in row] for row in part.itertuples(index=False)]
            self.widget.send({"is": "rows", "first": first, "rows": values})

    def _filters(self) -> list[str]:
        """Return the columns that tell rows apart."""
        return [name for name in FILTERED if name in self.columns and self.rows[name].nunique(dropna=False) > 1]

    def _opened(self, number: int) -> RunSource:
        return open_run(self._path(number), self._video(number), self.cache)

    def _path(self, number: int) -> str:
        """Return where a row's trace is; raise InputError, with what to do, where it was not kept."""
        if not 0 <= number < len(self.rows):
            raise InputError(f"There is no row {number}: rows are 0 to {len(self.rows) - 1}.")
        if "trace" not in self.rows.columns:
            raise InputError(
                'No traces were kept with these rows: evaluate again with traces="FOLDER". What was answered comes out '
                "of the cache then, and costs no call."
            )
        path = self.rows["trace"][number]
        if isinstance(path, str) and path:
            return path
        failure = plain_text(self.rows["failure"][number], 300) if "failure" in self.rows.columns else ""
        raise InputError(f"There is no trace of this row, since the question failed: {failure or 'nothing says why.'}")

    def _video(self, number: int) -> Video | None:
        """Return the video that a row is about, if its case is known; raise VideoError where it cannot be opened."""
        video = self.rows["video"][number] if "video" in self.rows.columns else ""
        case = self._cases.get((video, self.rows["id"][number]))
        return None if case is None else case.opened()

    def _repr_html_(self) -> Html:
        """Return the static picture: the first rows."""
        count = len(self.rows)
        counted = self.rows["outcome"].value_counts()
        caption = f"{count:,} questions: {', '.join(f'{number:,} {name}' for name, number in counted.items())}"
        first = islice(self.rows[[*self.columns]].itertuples(index=False), FEW_ROWS)
        shown = table(caption, self.columns, ([_cell(value) for value in row] for row in first))
        more = paragraph(f"{count - FEW_ROWS:,} more rows are not shown.") if count > FEW_ROWS else ""
        return card(shown, more)

    def _ipython_display_(self) -> None:
        bridge.show(self._repr_html_(), lambda: self.widget, repr(self))

    def __repr__(self) -> str:
        return f"RunTable(<{len(self.rows):,} rows>)"


def _outcomes(rows: pd.DataFrame) -> list[str]:
    """Return of each row whether it is right, wrong, or failed."""
    pairs = zip(rows["right"], rows["stop"], strict=True)
    return ["failed" if stop == "failed" else "right" if right else "wrong" for right, stop in pairs]


def _plain(value: Any) -> Any:
    """Return a value of a table as one of JSON: a number, a bool, None, or text that is only shown."""
    value = value.item() if hasattr(value, "item") else value
    if value is None or isinstance(value, bool | int) or (isinstance(value, float) and abs(value) < float("inf")):
        return value
    return None if value != value else plain_text(value, MOST_LETTERS)


def _cell(value: Any) -> object:
    plain = _plain(value)
    return untrusted(plain) if isinstance(plain, str) else plain
