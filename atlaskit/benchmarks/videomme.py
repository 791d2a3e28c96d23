"""Video-MME (Fu et al., 2025), loaded from a local folder in its published layout."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import field_validator, model_validator

from atlaskit.benchmarks.benchmark import Benchmark, build_benchmark
from atlaskit.benchmarks.case import Case
from atlaskit.benchmarks.files import LazyVideo, find_inside
from atlaskit.benchmarks.rows import Row, question_from_row, read_rows
from atlaskit.errors import InputError

SUFFIXES = ("mp4", "MP4", "mkv", "webm")
LABELLED_OPTION = re.compile(r"([A-Z])\.\s*(.*)", re.DOTALL)


class VideoMMERow(Row):
    """One question as published: an option reads "A. Apples.", and the answer is its letter."""

    video_id: str
    duration: Literal["short", "medium", "long"]
    domain: str
    sub_category: str
    videoID: str  # noqa: N815 (the dataset's own name)
    question_id: str
    task_type: str
    question: str
    options: tuple[str, ...]
    answer: str

    @field_validator("options")
    @classmethod
    def _check_labels(cls, options: tuple[str, ...]) -> tuple[str, ...]:
        for index, option in enumerate(options):
            label = chr(ord("A") + index)
            match = LABELLED_OPTION.fullmatch(option)
            if match is None or match.group(1) != label:
                raise ValueError(f'option {index} must begin with "{label}. "; got {option[:40]!r}')
        return options

    @model_validator(mode="after")
    def _check_answer(self) -> VideoMMERow:
        letters = [option[0] for option in self.options]
        if self.answer not in letters:
            raise ValueError(f"answer must be one of {', '.join(letters)}; got {self.answer[:40]!r}")
        return self

    @property
    def choices(self) -> tuple[str, ...]:
        """The options without their letters."""
        return tuple(option.partition(".")[2].strip() for option in self.options)

    @property
    def answer_index(self) -> int:
        """Index of the right option."""
        return ord(self.answer) - ord("A")

    def facts(self, has_subtitles: bool) -> dict[str, Any]:
        """Return the facts of the row's case."""
        return {
            "duration": self.duration,
            "domain": self.domain,
            "sub_category": self.sub_category,
            "task_type": self.task_type,
            "subtitles": has_subtitles,
        }


def videomme(root: str | Path, *, subtitles: bool = True, rows: Iterable[Mapping[str, Any]] | None = None) -> Benchmark:
    """Load Video-MME from a folder.

    The facts of a case are `duration` (short, medium, long), `domain`, `sub_category`, `task_type`
    and `subtitles` (whether the case uses subtitles and has them). The category is the task type.
    Videos without a file are listed in `missing` and reported in a warning.

    Args:
        root: Folder with a JSON or Parquet file of the rows, `data/` and `subtitle/`.
        subtitles: Whether the videos get their subtitles.
        rows: Rows as `datasets.load_dataset` returns them, used instead of the folder's row files.

    Raises:
        InputError: The folder has another layout, or a row is invalid (the message names its file
            and number).
    """
    home = Path(root)
    cases, missing = list[Case](), dict[str, None]()
    for location, row in read_rows(_row_files(home) if rows is None else rows, VideoMMERow):
        path = _find_video(home / "data", row.videoID)
        if path is None:
            missing[row.videoID] = None
            continue
        lines = find_inside(home / "subtitle", f"{row.videoID}.srt") if subtitles else None
        fields = {"answer": row.answer_index, "id": row.question_id, "category": row.task_type}
        question = question_from_row(location, row.question, row.choices, **fields)
        cases.append(Case(question, row.videoID, LazyVideo(path, lines), row.facts(lines is not None)))
    return build_benchmark("Video-MME", cases, missing)


def _find_video(folder: Path, name: str) -> Path | None:
    return next(filter(None, (find_inside(folder, f"{name}.{suffix}") for suffix in SUFFIXES)), None)


def _row_files(home: Path) -> list[Path]:
    files = sorted({*home.glob("*.json"), *home.rglob("*.parquet")})
    if not files:
        raise InputError(f"{home} holds no JSON or Parquet file with questions; pass the folder of Video-MME.")
    return files
