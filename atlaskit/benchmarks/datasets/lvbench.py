"""LVBench (Wang et al., 2024), loaded from a local folder in its published layout."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, field_validator, model_validator

from atlaskit.benchmarks.benchmark import Benchmark
from atlaskit.benchmarks.datasets.layout import Layout, Loading
from atlaskit.benchmarks.datasets.lettered import LetteredRow
from atlaskit.benchmarks.datasets.options import Options, read_options, split_question
from atlaskit.benchmarks.datasets.rows import Row, as_tuple, first_given, row_files
from atlaskit.environment.question import Span

META = "video_info.meta.jsonl"
CLOCK = r"(?:(\d{1,2}):)?(\d{1,3}):(\d{2})"
REFERENCE = re.compile(rf"\s*{CLOCK}\s*[-–~]\s*{CLOCK}\s*", re.ASCII)
"""Two times, such as "102:15-103:00": minutes, of up to three digits, and seconds."""


class LVBenchQuestion(LetteredRow):
    """One question as published: five lines, of which the last four are its options."""

    uid: str = ""
    question: str
    question_type: tuple[str, ...] = ()
    time_reference: str = ""

    @field_validator("question_type", mode="before")
    @classmethod
    def _as_tuple(cls, types: Any) -> Any:
        return as_tuple(types)

    @property
    def stem(self) -> str:
        """The question without its options."""
        return self.question.strip() if self.options else split_question(self.question)[0]

    @property
    def choices(self) -> Options:
        """The options, with and without their letters."""
        return read_options(self.options or split_question(self.question)[1])

    @property
    def positions_s(self) -> tuple[Span, ...]:
        """Where the answer lies, if the time reference is a start and a later end.

        A reference of one second ("12:30-12:30") lasts that second. None is taken from a reference
        without an end ("73:05-None"), since the video would have to be opened to know it.
        """
        match = REFERENCE.fullmatch(self.time_reference)
        if match is None:
            return ()
        start_s, end_s = (
            3600.0 * int(hours or 0) + 60 * int(minutes) + int(seconds)
            for hours, minutes, seconds in (match.groups()[:3], match.groups()[3:])
        )
        return ((start_s, max(end_s, start_s + 1)),) if start_s <= end_s else ()


class LVBenchInfo(Row):
    """What the dataset says of a video file."""

    duration_minutes: float | None = None


class LVBenchRow(Row):
    """One video with its questions, or one question in the form of the split `train`."""

    marks = (frozenset({"key", "video_path"}), frozenset({"qa", "question"}), frozenset({"qa", "answer"}))

    video_key: Annotated[str, Field(min_length=1, alias="key")]
    type: str = ""
    video_info: LVBenchInfo = LVBenchInfo()
    video_path: str = ""
    qa: tuple[LVBenchQuestion, ...]

    @model_validator(mode="before")
    @classmethod
    def _from_one_question(cls, row: Any) -> Any:
        """Make a video of a row that is one question."""
        if isinstance(row, Mapping) and "qa" not in row and isinstance(path := row.get("video_path"), str):
            return {**row, "key": first_given(row, "key") or Path(path).stem, "qa": [row]}
        return row

    @property
    def key(self) -> str:
        """The video's key and its questions: in one form, a row has only one of them."""
        return "\n".join([self.video_key, *(question.uid or question.question for question in self.qa)])

    def facts(self, question: LVBenchQuestion) -> dict[str, Any]:
        """Return the facts of a question's case."""
        minutes = self.video_info.duration_minutes
        return {
            "question_type": question.question_type,
            "time_reference": question.time_reference,
            "video_type": self.type,
            "duration_s": None if minutes is None else 60 * minutes,
        }


def _row_files(home: Path) -> list[Path]:
    published = [home / folder / META for folder in (".", "data")]
    return [path for path in published if path.is_file()] or row_files(home, "data")


LAYOUT = Layout(
    "LVBench",
    LVBenchRow,
    ("all_videos", "videos", "video", "data", "scripts/videos"),
    files=_row_files,
    wanted=f"{META}, and no rows as Parquet or JSON",
    own=re.compile(re.escape(META)),
)


def lvbench(root: str | Path, *, subtitles: bool = True, rows: Iterable[Mapping[str, Any]] | None = None) -> Benchmark:
    """Load LVBench from a folder.

    The facts of a case are `question_type` (a tuple; `where(question_type="reasoning")` keeps the
    questions that have this type among others), `time_reference` (as published), `video_type`,
    `duration_s` and `subtitles`. The category is the types, joined by ", ". `positions_s` comes
    from the time reference, where that has a start and an end. Videos without a file are listed in
    `missing` and reported in a warning.

    Args:
        root: Folder with `video_info.meta.jsonl`, or with rows of the split `train` as Parquet,
            JSON or JSON Lines; the videos are in `all_videos/`, `videos/` or the folder itself.
        subtitles: Whether the videos get their subtitles. None are published; files of your own
            are taken from `subtitles/`, by the video's key.
        rows: Rows as `datasets.load_dataset` returns them, used instead of the folder's row files.

    Raises:
        InputError: The folder has another layout, or a row is invalid (the message names its file
            and number).

    Examples:
        >>> bench = ak.benchmarks.lvbench("data/lvbench")
        >>> bench.cases[0].question.text
        'What happens at 0?'
    """
    loading = Loading(LAYOUT, root, rows, subtitles)
    for location, row in loading.rows():
        for number, question in enumerate(row.qa):
            loading.add(
                f"{location}, question {number}",
                video=[row.video_path or row.video_key, row.video_key],
                name=row.video_key,
                text=question.stem,
                choices=question.choices.texts,
                id=question.uid or f"{row.video_key}-{number}",
                facts=row.facts(question),
                answer=question.answer_index,
                category=", ".join(question.question_type),
                positions_s=question.positions_s,
            )
    return loading.benchmark()
