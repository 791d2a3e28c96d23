"""ExtremeWhenBench (Seo and Kim, 2026), when-questions about hours of video, from a folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from atlaskit.benchmarks.benchmark import Benchmark
from atlaskit.benchmarks.datasets.assembly import Assembly
from atlaskit.benchmarks.datasets.files import MediaFiles, find_inside
from atlaskit.benchmarks.datasets.moments import Interval, in_order, oddity
from atlaskit.benchmarks.datasets.rows import Row, holds_rows, read_rows, row_files
from atlaskit.errors import InputError

NAME = "ExtremeWhenBench"
FOLDERS = {
    "lvbench": ("lvbench/all_videos", "lvbench"),
    "mlvu": ("mlvu", "mlvu/video"),
    "videomme": ("videomme/data", "videomme"),
}
"""Where the videos of each source lie, by the source's name in lower case without punctuation."""
ANYWHERE = ("videos", "")
"""Where videos of all sources lie if one's folder does not keep the sources apart."""
SUBTITLES = ("subtitle", "subtitles")
"""Folders of a source that may hold subtitles."""


class ExtremeWhenRow(Row):
    """One question as published.

    Needed are the video's id, the question and, in one row of a file at least, the interval.
    """

    marks = (frozenset({"correct_interval"}), frozenset({"question"}), frozenset({"video_id"}))

    qid: str = ""
    video_id: Annotated[str, Field(min_length=1)]
    source_corpus: str = ""
    question: str
    correct_interval: Interval | None = None
    video_duration_s: float | None = None
    event_summary: str = ""
    category: str = ""

    @property
    def key(self) -> str:
        """The question's id, or what identifies it without one."""
        return self.qid or f"{self.video_id} {self.question} {self.correct_interval}"

    @property
    def source(self) -> str:
        """The source of the video as `FOLDERS` writes it."""
        return "".join(filter(str.isalnum, self.source_corpus)).lower()

    @property
    def facts(self) -> dict[str, Any]:
        """The facts of the row's case."""
        return {
            "source_corpus": self.source_corpus,
            "duration_s": self.video_duration_s,
            "event_summary": self.event_summary,
            "oddity": oddity(filter(None, [self.correct_interval]), self.video_duration_s),
        }


def extremewhen(
    root: str | Path, *, subtitles: bool = True, rows: Iterable[Mapping[str, Any]] | None = None
) -> Benchmark:
    """Load ExtremeWhenBench from a folder.

    The dataset has annotations only; its videos are those of LVBench, MLVU and Video-MME. Every
    question asks for one interval. The facts of a case are `source_corpus`, `duration_s`,
    `event_summary`, `oddity` (what is odd about the interval: reversed, empty, before the start,
    beyond the end) and `subtitles` (whether the case uses subtitles and has them). The ends of a
    reversed interval are put in order; no question is left out. Videos without a file are listed in
    `missing` and reported in a warning.

    Args:
        root: Folder with a Parquet or JSON file of the rows, and the videos in
            `lvbench/all_videos/`, `mlvu/`, `videomme/data/` or `videos/`, or one level below.
        subtitles: Whether the videos get their subtitles, where the folder of their source has
            `subtitle/ID.srt`.
        rows: Rows as `datasets.load_dataset` returns them, used instead of the folder's row files.

    Raises:
        InputError: The folder has another layout, or a row is invalid (the message names its file
            and number).

    Examples:
        >>> bench = ak.benchmarks.extremewhen("data/extremewhen")
        >>> bench.cases[0].question.text
        'When does it happen for the time 0?'
    """
    home = Path(root)
    places = {source: MediaFiles(home, (*folders, *ANYWHERE)) for source, folders in FOLDERS.items()}
    everywhere = (*(folder for folders in FOLDERS.values() for folder in folders), *ANYWHERE)
    assembly = Assembly(MediaFiles(home, everywhere), numbers_equal_ids=False)
    source = _row_files(home) if rows is None else rows
    for location, row in read_rows(source, ExtremeWhenRow, dataset=NAME):
        spans = in_order(filter(None, [row.correct_interval]))
        assembly.add(
            location,
            video=[row.video_id],
            name=row.video_id,
            text=row.question,
            choices=(),
            id=row.qid or f"{row.video_id}-{len(assembly.cases)}",
            facts=row.facts,
            videos=places.get(row.source),
            lines=_find_subtitles(home, row) if subtitles else None,
            kind="when",
            answer=spans[0] if spans else None,
            category=row.category,
            positions_s=spans,
        )
    return assembly.benchmark(NAME)


def _find_subtitles(home: Path, row: ExtremeWhenRow) -> Path | None:
    folders = (home / row.source / name for name in SUBTITLES) if row.source in FOLDERS else ()
    return next(filter(None, (find_inside(folder, f"{row.video_id}.srt") for folder in folders)), None)


def _row_files(home: Path) -> list[Path]:
    files = row_files(home)
    if not files:
        raise InputError(f"{home} holds no Parquet or JSON file with questions; pass the folder of {NAME}.")
    return files


def is_extremewhen(home: Path) -> bool:
    """Return whether a folder holds rows of ExtremeWhenBench."""
    return holds_rows(row_files(home), ExtremeWhenRow)
