"""EgoSchema (Mangalam et al., 2023), loaded from a local folder in its published layout."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from atlaskit.benchmarks.benchmark import Benchmark
from atlaskit.benchmarks.datasets.layout import Layout, Loading
from atlaskit.benchmarks.datasets.options import Options, read_options, split_options
from atlaskit.benchmarks.datasets.rows import Row, as_number, first_given, row_files
from atlaskit.errors import InputError, printable, reason

OPTIONS = tuple(f"option {number}" for number in range(5))
ANSWERS = "subset_answers.json"


class EgoSchemaRow(Row):
    """One question as published: five options, and the index of the right one from 0.

    The form of the first release has `q_uid`, and the columns `option 0` to `option 4` instead of
    the list `option`; its answers are in a file of their own.
    """

    marks = (
        frozenset({"video_idx", "q_uid"}),
        frozenset({"question"}),
        frozenset({"option", OPTIONS[0]}),
    )

    video_idx: Annotated[str, Field(min_length=1)]
    question: str
    option: tuple[str, ...] = ()
    """Empty in the rows of the task without choices."""
    answer: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_first_release(cls, row: Any) -> Any:
        if not isinstance(row, Mapping):
            return row
        options = first_given(row, "option")
        if options is None and OPTIONS[0] in row:
            options = [row.get(name) for name in OPTIONS]
        return {**row, "video_idx": first_given(row, "video_idx", "q_uid"), "option": options or ()}

    @field_validator("option", mode="before")
    @classmethod
    def _split_option(cls, options: Any) -> Any:
        return split_options(options)

    @model_validator(mode="after")
    def _check_answer(self) -> EgoSchemaRow:
        if self.option and self.answer is not None and self.answer_index is None:
            raise ValueError(f"answer must be an index from 0 to {len(self.option) - 1}; got {self.answer[:40]!r}")
        return self

    @property
    def key(self) -> str:
        """The video, as each has one question, and whether that has choices in this row."""
        return f"{self.video_idx} {bool(self.option)}"

    @property
    def choices(self) -> Options:
        """The options, with and without their letters."""
        return read_options(self.option)

    @property
    def answer_index(self) -> int | None:
        """Index of the right option; None if it is not known."""
        if self.answer is None:
            return None
        number = as_number(self.answer)
        if isinstance(number, int):
            return number if 0 <= number < len(self.option) else None
        return self.choices.index_of(self.answer)


def _row_files(home: Path, _split: str) -> list[Path]:
    """Return the row files; the subset's first, since the others repeat it without answers."""
    files = [path for path in row_files(home) if path.name != ANSWERS]
    return sorted(files, key=lambda path: "subset" not in str(path.relative_to(home)).lower())


LAYOUT = Layout(
    "EgoSchema",
    EgoSchemaRow,
    ("videos", "video", "good_clips_git", "data"),
    files=_row_files,
    splits=dict.fromkeys(("subset", "full"), "JSON or Parquet file with questions"),
)


def egoschema(
    root: str | Path,
    *,
    split: Literal["subset", "full"] = "subset",
    subtitles: bool = True,
    rows: Iterable[Mapping[str, Any]] | None = None,
) -> Benchmark:
    """Load EgoSchema from a folder.

    Each video of three minutes has one question; the case's only fact is `subtitles`. Videos
    without a file are listed in `missing` and reported in a warning.

    Args:
        root: Folder with Parquet files (`Subset/`, `MC/`), or with `questions.json` and
            `subset_answers.json`; the videos are in `videos/` or the folder itself.
        split: "subset", the 500 questions with published answers, or "full", all 5,031, of which
            the others can be asked but not scored.
        subtitles: Whether the videos get their subtitles. None are published; files of your own
            are taken from `subtitles/`, by the video's name.
        rows: Rows as `datasets.load_dataset` returns them, used instead of the folder's row files.

    Raises:
        InputError: The folder has another layout, a row is invalid (the message names its file and
            number), or no question of "subset" has an answer.

    Examples:
        >>> bench = ak.benchmarks.egoschema("data/egoschema")
        >>> bench.cases[0].question.text
        'What is C doing overall, 0?'
    """
    loading, is_empty = Loading(LAYOUT, root, rows, subtitles, split), True
    answers = _separate_answers(loading.home)
    for location, row in loading.rows():
        answer = row.answer_index if row.answer is not None else answers.get(row.video_idx)
        if not row.option or (split == "subset" and answer is None):
            continue
        is_empty = False
        loading.add(
            location,
            video=[row.video_idx],
            text=row.question,
            choices=row.choices.texts,
            id=row.video_idx,
            facts={},
            answer=answer,
        )
    if is_empty:
        raise InputError(f'No question of {root} has an answer: add {ANSWERS}, or load all with split="full".')
    return loading.benchmark()


def _separate_answers(home: Path) -> dict[str, int]:
    """Return the answers that are in a file of their own, by question; {} without such a file."""
    path = home / ANSWERS
    if not path.is_file():
        return {}
    try:
        answers = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"Cannot read {path}: {reason(error)}.") from error
    if not isinstance(answers, dict):
        raise InputError(f"{path} must hold an answer for each question; got {type(answers).__name__}.")
    for name, answer in answers.items():
        if as_number(answer) not in range(len(OPTIONS)):
            raise InputError(
                f"{path} must give an index from 0 to {len(OPTIONS) - 1} for each question; got {answer!r:.40} for "
                f"{printable(name, 60)}."
            )
    return {name: int(as_number(answer)) for name, answer in answers.items()}
