"""Video-MME (Fu et al., 2025), loaded from a local folder in its published layout."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from atlaskit.benchmarks.benchmark import Benchmark
from atlaskit.benchmarks.datasets.layout import Layout, Loading
from atlaskit.benchmarks.datasets.lettered import LetteredRow

FACTS = ("duration", "domain", "sub_category", "task_type")


class VideoMMERow(LetteredRow):
    """One question as published: an option reads "A. Apples.", and the answer is its letter.

    Needed are the question, its options and the video's id; the other fields may be absent.
    """

    marks = (frozenset({"videoID"}), frozenset({"question"}), frozenset({"options"}))
    identity = (("question_id",), ("videoID", "question"))

    video_id: str = ""
    duration: str = ""
    domain: str = ""
    sub_category: str = ""
    videoID: Annotated[str, Field(min_length=1)]  # noqa: N815 (the dataset's own name)
    question_id: str = ""
    task_type: str = ""
    question: str
    options: tuple[str, ...]


LAYOUT = Layout("Video-MME", VideoMMERow, ("data", "videos", "video"))


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
    loading = Loading(LAYOUT, root, rows, subtitles)
    for location, row in loading.rows():
        loading.add(
            location,
            video=[row.videoID],
            text=row.question,
            choices=row.choices.texts,
            id=row.question_id,
            facts={name: getattr(row, name) for name in FACTS},
            answer=row.answer_index,
            category=row.task_type,
        )
    return loading.benchmark()
