"""LongVideoBench (Wu et al., 2024), loaded from a local folder in its published layout."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import model_validator

from atlaskit.benchmarks.case import Benchmark
from atlaskit.benchmarks.datasets.layout import Layout, Loading, existing
from atlaskit.benchmarks.datasets.rows import Row

FILES = {"val": ("lvb_val.json", "validation"), "test": ("lvb_test_wo_gt.json", "test")}
"""The file of each split in the JSON form, and the prefix of its Parquet files."""
OPTIONS = ("option0", "option1", "option2", "option3", "option4")
EMPTY_OPTION = "N/A"
"""Value of an unused option column in the Parquet form."""


class LongVideoBenchRow(Row):
    """One question as published.

    The Parquet form has the columns `option0` … `option4` instead of `candidates`. The question,
    its choices and the video's path are required; other fields may be absent.
    """

    # A file is the dataset's if a row has a field of each set.
    marks = (
        frozenset({"question"}),
        frozenset({"candidates", OPTIONS[0]}),
        frozenset({"video_path"}),
    )
    identity = (("id",), ("video_path", "question"))

    id: str = ""
    video_id: str = ""
    question: str
    candidates: tuple[str, ...]
    correct_choice: int | None = None
    position: tuple[int, ...] = ()
    """Indices of the frames that hold the evidence."""
    topic_category: str = ""
    question_category: str = ""
    level: str = ""
    duration_group: int | None = None
    duration: float | None = None
    video_path: str
    subtitle_path: str | None = None
    starting_timestamp_for_subtitles: float = 0.0

    @model_validator(mode="before")
    @classmethod
    def _collect_candidates(cls, row: Any) -> Any:
        """Collect the option columns without the padding at their end."""
        if isinstance(row, Mapping) and "candidates" not in row and OPTIONS[0] in row:
            options = [row.get(name, EMPTY_OPTION) for name in OPTIONS]
            while options and options[-1] == EMPTY_OPTION:
                options.pop()
            return {**row, "candidates": options}
        return row

    @model_validator(mode="after")
    def _check_choice(self) -> LongVideoBenchRow:
        if self.correct_choice is not None and not 0 <= self.correct_choice < len(self.candidates):
            raise ValueError(
                f"correct_choice must index one of {len(self.candidates)} candidates; got "
                f"{self.correct_choice}"
            )
        return self

    @property
    def facts(self) -> dict[str, Any]:
        """The facts of the row's case."""
        return {
            "duration_group": self.duration_group,
            "level": self.level,
            "topic": self.topic_category,
            "duration_s": self.duration,
            "position": self.position,
            "positions": len(set(self.position)),
        }


def _row_files(home: Path, split: str) -> list[Path]:
    """Return the files of a split: the JSON file, else the Parquet files."""
    name, prefix = FILES[split]
    return existing(home, name) or sorted(home.rglob(f"{prefix}*.parquet"))


LAYOUT = Layout(
    "LongVideoBench",
    LongVideoBenchRow,
    ("videos",),
    files=_row_files,
    splits={split: f"{name} or {prefix}….parquet" for split, (name, prefix) in FILES.items()},
)


def longvideobench(
    root: str | Path,
    *,
    split: Literal["val", "test"] = "val",
    subtitles: bool = True,
    rows: Iterable[Mapping[str, Any]] | None = None,
) -> Benchmark:
    """Load LongVideoBench from a folder.

    The facts of a case are `duration_group` (15, 60, 600 or 3600 s), `level`, `topic`,
    `duration_s`, `position` (indices of the frames with the evidence), `positions` (how many
    different ones) and `subtitles` (whether the case uses subtitles and has them). The category is
    the dataset's own code (S2E … TAA). Videos without a file are listed in `missing` and reported
    in a warning.

    Args:
        root: Folder with `lvb_val.json` (or Parquet files, `validation…` or `test…`), `videos/` and
            `subtitles/`.
        split: "val", or "test", whose questions have no published answers.
        subtitles: Whether the videos get their subtitles.
        rows: Rows as `datasets.load_dataset` returns them, used instead of the folder's row files.

    Raises:
        InputError: The folder has another layout, or a row is invalid (the message names its file
            and number).

    Examples:
        >>> bench = ak.benchmarks.longvideobench("data/longvideobench")
        >>> bench.cases[0].question.text
        'What is shown?'
    """
    loading = Loading(LAYOUT, root, given=rows, wants_lines=subtitles, split=split)
    for location, row in loading.rows():
        loading.add(
            location,
            video=[row.video_path],
            name=row.video_id or Path(row.video_path).stem,
            text=row.question,
            choices=row.candidates,
            id=row.id,
            facts=row.facts,
            lines=[row.subtitle_path] if row.subtitle_path else [],
            starts_at_s=row.starting_timestamp_for_subtitles,
            answer=row.correct_choice,
            category=row.question_category,
        )
    return loading.benchmark()
