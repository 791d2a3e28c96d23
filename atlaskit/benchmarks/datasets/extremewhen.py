"""ExtremeWhenBench (Seo and Kim, 2026), when-questions about hours of video, from a folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from atlaskit.benchmarks.benchmark import Benchmark
from atlaskit.benchmarks.datasets.files import SUBTITLE_SUFFIXES, MediaFiles
from atlaskit.benchmarks.datasets.layout import Layout, Loading
from atlaskit.benchmarks.datasets.moments import Interval, in_order, oddity
from atlaskit.benchmarks.datasets.rows import Row

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
    identity = (("qid",), ("video_id", "question", "correct_interval"))

    qid: str = ""
    video_id: Annotated[str, Field(min_length=1)]
    source_corpus: str = ""
    question: str
    correct_interval: Interval | None = None
    video_duration_s: float | None = None
    event_summary: str = ""
    category: str = ""

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


EVERYWHERE = tuple(folder for folders in FOLDERS.values() for folder in folders)
LAYOUT = Layout("ExtremeWhenBench", ExtremeWhenRow, (*EVERYWHERE, *ANYWHERE))


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
    loading = Loading(LAYOUT, root, rows, subtitles)
    home = loading.home
    videos = {source: MediaFiles(home, (*folders, *ANYWHERE)) for source, folders in FOLDERS.items()}
    lines = {source: MediaFiles(home / source, SUBTITLES, SUBTITLE_SUFFIXES) for source in FOLDERS}
    for location, row in loading.rows():
        spans = in_order(filter(None, [row.correct_interval]))
        loading.add(
            location,
            video=[row.video_id],
            text=row.question,
            id=row.qid,
            facts=row.facts,
            videos=videos.get(row.source),
            subtitles=lines.get(row.source),
            kind="when",
            answer=spans[0] if spans else None,
            category=row.category,
            positions_s=spans,
        )
    return loading.benchmark()
