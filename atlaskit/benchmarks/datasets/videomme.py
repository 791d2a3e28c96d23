"""Video-MME (Fu et al., 2025), loaded from a local folder in its published layout."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from atlaskit.benchmarks.benchmark import Benchmark
from atlaskit.benchmarks.datasets.assembly import Assembly
from atlaskit.benchmarks.datasets.files import MediaFiles, find_inside
from atlaskit.benchmarks.datasets.lettered import LetteredRow
from atlaskit.benchmarks.datasets.rows import holds_rows, read_rows, row_files
from atlaskit.errors import InputError

VIDEO_FOLDERS = ("data", "videos", "video")


class VideoMMERow(LetteredRow):
    """One question as published: an option reads "A. Apples.", and the answer is its letter.

    Needed are the question, its options and the video's id; the other fields may be absent.
    """

    marks = (frozenset({"videoID"}), frozenset({"question"}), frozenset({"options"}))

    video_id: str = ""
    duration: str = ""
    domain: str = ""
    sub_category: str = ""
    videoID: Annotated[str, Field(min_length=1)]  # noqa: N815 (the dataset's own name)
    question_id: str = ""
    task_type: str = ""
    question: str
    options: tuple[str, ...]

    @property
    def key(self) -> str:
        """The question's id, or what identifies it without one."""
        return self.question_id or f"{self.videoID} {self.question}"

    @property
    def facts(self) -> dict[str, Any]:
        """The facts of the row's case."""
        return {
            "duration": self.duration,
            "domain": self.domain,
            "sub_category": self.sub_category,
            "task_type": self.task_type,
        }


def videomme(root: str | Path, *, subtitles: bool = True, rows: Iterable[Mapping[str, Any]] | None = None) -> Benchmark:
    """Load Video-MME from a folder.

    The facts of a case are `duration` (short, medium, long), `domain`, `sub_category`, `task_type`
    and `subtitles` (whether the case uses subtitles and has them). The category is the task type.
    Videos without a file are listed in `missing` and reported in a warning.

    Args:
        root: Folder with a JSON or Parquet file of the rows, the videos in `data/`, `videos/` or
            the folder itself, and `subtitle/`.
        subtitles: Whether the videos get their subtitles.
        rows: Rows as `datasets.load_dataset` returns them, used instead of the folder's row files.

    Raises:
        InputError: The folder has another layout, or a row is invalid (the message names its file
            and number).

    Examples:
        >>> bench = ak.benchmarks.videomme("data/videomme")
        >>> bench.cases[0].question.text
        'Which is it?'
    """
    home = Path(root)
    assembly = Assembly(MediaFiles(home, VIDEO_FOLDERS), numbers_equal_ids=False, wants_lines=subtitles)
    files = row_files(home)
    if rows is None and not files:
        raise InputError(f"{home} holds no JSON or Parquet file with questions; pass the folder of Video-MME.")
    source = files if rows is None else rows
    for location, row in read_rows(source, VideoMMERow, dataset="Video-MME"):
        assembly.add(
            location,
            video=[row.videoID],
            name=row.videoID,
            text=row.question,
            choices=row.choices.texts,
            id=row.question_id or f"{row.videoID}-{len(assembly.cases)}",
            facts=row.facts,
            lines=find_inside(home / "subtitle", f"{row.videoID}.srt") if subtitles else None,
            answer=row.answer_index,
            category=row.task_type,
        )
    return assembly.benchmark("Video-MME")


def is_videomme(home: Path) -> bool:
    """Return whether a folder holds rows of Video-MME."""
    return holds_rows(row_files(home), VideoMMERow)
