"""QVHighlights (Lei et al., 2021): the windows that show a sentence, from a local folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from atlaskit.benchmarks.benchmark import Benchmark
from atlaskit.benchmarks.datasets.assembly import Assembly
from atlaskit.benchmarks.datasets.files import MediaFiles
from atlaskit.benchmarks.datasets.moments import Interval, in_order, oddity, when_shown
from atlaskit.benchmarks.datasets.rows import Row, read_rows
from atlaskit.errors import InputError

NAME = "QVHighlights"
SPLITS = ("val", "train", "test")
FOLDERS = ("videos", "qvhighlights_videos", "qvhilights_videos", "")


class QVHighlightsRow(Row):
    """One sentence as published; the test split has no windows."""

    qid: str = ""
    query: str
    vid: Annotated[str, Field(min_length=1)]
    duration: float | None = None
    relevant_windows: tuple[Interval, ...] = ()

    @property
    def key(self) -> str:
        """The sentence's id, or what identifies it without one."""
        return self.qid or f"{self.vid} {self.query}"

    @property
    def facts(self) -> dict[str, Any]:
        """The facts of the row's case."""
        return {
            "query": self.query,
            "duration_s": self.duration,
            "windows": len(self.relevant_windows),
            "oddity": oddity(self.relevant_windows, self.duration),
        }


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
    home = Path(root)
    if split not in SPLITS:
        raise InputError(f"split must be one of {', '.join(SPLITS)}; got {split!r:.40}.")
    assembly = Assembly(MediaFiles(home, FOLDERS), numbers_equal_ids=False)
    source = [_row_file(home, split)] if rows is None else rows
    for location, row in read_rows(source, QVHighlightsRow, dataset=NAME):
        windows = in_order(row.relevant_windows)
        assembly.add(
            location,
            video=[row.vid],
            name=row.vid,
            text=when_shown(row.query),
            choices=(),
            id=row.qid or f"{row.vid}-{len(assembly.cases)}",
            facts=row.facts,
            kind="when",
            several=True,
            answer=windows or None,
            positions_s=windows,
        )
    return assembly.benchmark(NAME)


def _row_file(home: Path, split: str) -> Path:
    found = _find_rows(home, split)
    if found is None:
        raise InputError(f"{home} holds no highlight_{split}_release.jsonl; pass the folder of {NAME}.")
    return found


def _find_rows(home: Path, split: str) -> Path | None:
    name = f"highlight_{split}_release.jsonl"
    return next((path for path in (home / name, home / "data" / name) if path.is_file()), None)


def is_qvhighlights(home: Path) -> bool:
    """Return whether a folder holds a file of QVHighlights' sentences."""
    return any(_find_rows(home, split) is not None for split in SPLITS)
