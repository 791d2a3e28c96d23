"""MLVU (Zhou et al., 2025), loaded from a local folder in its published layout or a mirror's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, field_validator, model_validator

from atlaskit.benchmarks.benchmark import Benchmark
from atlaskit.benchmarks.datasets.layout import Layout, Loading
from atlaskit.benchmarks.datasets.options import Options, read_options, split_options, split_question
from atlaskit.benchmarks.datasets.rows import Row, first_given, row_files
from atlaskit.environment.question import Kind

ROW_FOLDERS = ("MLVU/json", "json", "test-ground-truth", "MLVU_Test/test-ground-truth")
"""Folders of row files; the test split's with answers come before the same questions without."""
OPEN_ENDED: dict[str, Kind] = {"subplot": "open", "sub_scene": "open", "ssc": "open", "summary": "summary"}
"""Kind of the questions without choices, by their type in small letters."""


class MLVURow(Row):
    """One question as published: `answer` is the text of one of its `candidates`.

    In the mirrors' form, `video_name` and `task_type` replace `video` and `question_type`, the
    answer is a letter, and the options stand in the question too.
    """

    marks = (
        frozenset({"video", "video_name"}),
        frozenset({"question"}),
        frozenset({"question_type", "task_type"}),
    )
    identity = (("question_id",), ("video", "type", "question", "candidates"))

    video: Annotated[str, Field(min_length=1)]
    question: str
    candidates: tuple[str, ...] = ()
    answer: str | None = None
    question_type: str = ""
    task_type: str = ""
    question_id: str = ""
    duration: float | None = None

    @model_validator(mode="before")
    @classmethod
    def _rename_video(cls, row: Any) -> Any:
        if isinstance(row, Mapping) and first_given(row, "video") is None:
            return {**row, "video": first_given(row, "video_name")}
        return row

    @field_validator("candidates", mode="before")
    @classmethod
    def _split_candidates(cls, candidates: Any) -> Any:
        return split_options(candidates)

    @model_validator(mode="after")
    def _check_answer(self) -> MLVURow:
        if self.kind == "choice" and self.answer is not None and self.answer_index is None:
            raise ValueError(f"answer must be one of {len(self.choices.texts)} candidates; got {self.answer[:40]!r}")
        return self

    @property
    def type(self) -> str:
        """The type of the question, by which MLVU averages."""
        return self.question_type or self.task_type

    @property
    def kind(self) -> Kind:
        """The kind of question: with choices, unless its type has none."""
        return OPEN_ENDED.get(self.type.lower(), "choice") if not self.choices.texts else "choice"

    @property
    def _split(self) -> tuple[str, Options]:
        """The question without the options that it repeats, and its options."""
        stem, inside = split_question(self.question)
        candidates, repeated = read_options(self.candidates), read_options(inside)
        if len(candidates.texts) < 2:
            return stem, repeated
        return (stem if repeated.texts == candidates.texts else self.question.strip()), candidates

    @property
    def stem(self) -> str:
        """The question without options."""
        return self._split[0]

    @property
    def choices(self) -> Options:
        """The options, with and without letters."""
        return self._split[1]

    @property
    def answer_index(self) -> int | None:
        """Index of the right candidate; None if it is not known.

        Published rows give its text, which may be a single letter; the mirrors' rows its letter.
        """
        if self.answer is None:
            return None
        by_letter, by_text = self.choices.by_letter(self.answer), self.choices.by_text(self.answer)
        first, second = (by_letter, by_text) if self.task_type else (by_text, by_letter)
        return second if first is None else first


LAYOUT = Layout(
    "MLVU",
    MLVURow,
    ("MLVU/video", "video", "videos", "data", "MLVU_Test/video"),
    ("subtitles", "subtitle", "MLVU/subtitles"),
    files=lambda home: row_files(home, *ROW_FOLDERS),
    wanted="json/, and no rows as Parquet or JSON",
    own=re.compile(r"\d+_\w+\.json"),  # such as "1_plotQA.json"
)


def mlvu(root: str | Path, *, subtitles: bool = True, rows: Iterable[Mapping[str, Any]] | None = None) -> Benchmark:
    """Load MLVU from a folder.

    The category of a case is its type (plotQA, findNeedle, …), which MLVU averages over. Its facts
    are `duration_s`, `open_ended` and `subtitles`. The types sub_scene and summary have no choices:
    they become questions of kind "open" and "summary", which `where(open_ended=False)` leaves out
    and the metric M-Avg does not count. Videos without a file are listed in `missing` and reported
    in a warning.

    Args:
        root: Folder with `json/` and `video/`, or the one above it (`MLVU/json/`); or with rows as
            Parquet, JSON or JSON Lines and the videos in `video/`, `videos/` or the folder itself.
        subtitles: Whether the videos get their subtitles. None are published; files of your own
            are taken from `subtitles/`, by the video's name.
        rows: Rows as `datasets.load_dataset` returns them, used instead of the folder's row files.

    Raises:
        InputError: The folder has another layout, or a row is invalid (the message names its file
            and number).

    Examples:
        >>> bench = ak.benchmarks.mlvu("data/mlvu")
        >>> bench.cases[0].question.text
        'What does the man do, 0?'
    """
    loading = Loading(LAYOUT, root, rows, subtitles)
    for location, row in loading.rows():
        loading.add(
            location,
            video=[row.video],
            name=Path(row.video).stem,
            text=row.stem,
            choices=row.choices.texts,
            id=row.question_id,
            facts={"duration_s": row.duration, "open_ended": row.kind != "choice"},
            kind=row.kind,
            answer=row.answer_index if row.kind == "choice" else row.answer,
            category=row.type,
        )
    return loading.benchmark()
