"""QVHighlights (Lei et al., 2021): the windows that show a sentence, from a local folder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from atlaskit.benchmarks.benchmark import Benchmark
from atlaskit.benchmarks.datasets.layout import Layout, Loading
from atlaskit.benchmarks.datasets.moments import Interval, in_order, oddity, when_shown
from atlaskit.benchmarks.datasets.rows import Row


class QVHighlightsRow(Row):
    """One sentence as published; the test split has no windows."""

    identity = (("qid",), ("vid", "query"))

    qid: str = ""
    query: str
    vid: Annotated[str, Field(min_length=1)]
    duration: float | None = None
    relevant_windows: tuple[Interval, ...] = ()

    @property
    def facts(self) -> dict[str, Any]:
        """The facts of the row's case."""
        return {
            "query": self.query,
            "duration_s": self.duration,
            "windows": len(self.relevant_windows),
            "oddity": oddity(self.relevant_windows, self.duration),
        }


def _row_files(home: Path, split: str) -> list[Path]:
    paths = (home / folder / f"highlight_{split}_release.jsonl" for folder in ("", "data"))
    return [path for path in paths if path.is_file()][:1]


LAYOUT = Layout(
    "QVHighlights",
    QVHighlightsRow,
    ("videos", "qvhighlights_videos", "qvhilights_videos", ""),
    (),
    files=_row_files,
    splits={split: f"highlight_{split}_release.jsonl" for split in ("val", "train", "test")},
    own=re.compile(r"highlight_\w+_release\.jsonl"),
)


def qvhighlights(
    root: str | Path,
    *,
    split: Literal["val", "train", "test"] = "val",
    subtitles: bool = True,
    rows: Iterable[Mapping[str, Any]] | None = None,
) -> Benchmark:
    """Load QVHighlights from a folder.

    A question asks for every window of the video that shows what a sentence says. The facts of a
    case are `query`, `duration_s`, `windows` (their number), `oddity` (what is odd about them:
    reversed, empty, before the start, beyond the end) and `subtitles` (False: there are none). The
    ends of reversed windows are put in order; no question is left out. Videos without a file are
    listed in `missing` and reported in a warning.

    Args:
        root: Folder with `highlight_val_release.jsonl` (or train, test) and `videos/`.
        split: "val", "train", or "test", whose windows are not published.
        subtitles: Accepted as for every dataset; this one has no subtitles.
        rows: Rows as `datasets.load_dataset` returns them, used instead of the folder's file.

    Raises:
        InputError: The folder has another layout, or a row is invalid (the message names its file
            and line).

    Examples:
        >>> bench = ak.benchmarks.qvhighlights("data/qvhighlights")
        >>> bench.cases[0].question.text
        'When does the video show this: “A chef bakes bread 0.”'
    """
    loading = Loading(LAYOUT, root, rows, subtitles, split)
    for location, row in loading.rows():
        windows = in_order(row.relevant_windows)
        loading.add(
            location,
            video=[row.vid],
            text=when_shown(row.query),
            id=row.qid,
            facts=row.facts,
            kind="when",
            several=True,
            answer=windows or None,
            positions_s=windows,
        )
    return loading.benchmark()
