"""LongTimeScope and TimeScope (Zohar et al., 2025), loaded from a local folder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from atlaskit.benchmarks.benchmark import Benchmark
from atlaskit.benchmarks.datasets.layout import Layout, Loading
from atlaskit.benchmarks.datasets.lettered import LetteredRow
from atlaskit.benchmarks.datasets.options import Options, read_options, split_question
from atlaskit.benchmarks.datasets.rows import as_number, first_given

QUESTION = re.compile(r"^\s*Question:\s*", re.MULTILINE | re.IGNORECASE)


class LongTimeScopeRow(LetteredRow):
    """One question as published: a whole prompt, with its options, in `input`.

    The prompt's instructions are no part of the question: the lines before "Question:", and those
    that follow the last option where the other options have one line each.
    """

    marks = (
        frozenset({"video"}),
        frozenset({"length"}),
        frozenset({"type", "task_type", "task"}),
        frozenset({"input", "question"}),
    )
    identity = (("id", "video", "input"),)  # an id is the same for several lengths

    id: str = ""
    video: Annotated[str, Field(min_length=1)]
    length: Annotated[int | float | str | None, BeforeValidator(as_number)] = None
    type: str = ""
    input: str

    @model_validator(mode="before")
    @classmethod
    def _rename(cls, row: Any) -> Any:
        if isinstance(row, Mapping):
            kind, text = first_given(row, "type", "task_type", "task"), first_given(row, "input", "question")
            return {**row, "type": "" if kind is None else kind, "input": text}
        return row

    @property
    def stem(self) -> str:
        """The question without instructions and options."""
        text = self.input.strip() if self.options else split_question(self.input)[0]
        return QUESTION.split(text)[-1].strip()

    @property
    def choices(self) -> Options:
        """The options, with and without their letters."""
        if self.options:
            return read_options(self.options)
        *others, last = split_question(self.input)[1] or [""]
        if not any("\n" in option for option in others):
            last = last.split("\n")[0]
        return read_options([*others, last] if others else [])


LAYOUT = Layout("LongTimeScope", LongTimeScopeRow)


def longtimescope(
    root: str | Path, *, subtitles: bool = True, rows: Iterable[Mapping[str, Any]] | None = None
) -> Benchmark:
    """Load LongTimeScope, or TimeScope, which has the same layout, from a folder.

    The facts of a case are `type` (QA, OCR, temporal), `length` (of the video, as published) and
    `subtitles`. The category is the type. Videos without a file are listed in `missing` and
    reported in a warning.

    Args:
        root: Folder with rows as Parquet, JSON or JSON Lines; the videos are in `videos/` or the
            folder itself.
        subtitles: Whether the videos get their subtitles. None are published; files of your own
            are taken from `subtitles/`, by the video's name.
        rows: Rows as `datasets.load_dataset` returns them, used instead of the folder's row files.

    Raises:
        InputError: The folder has another layout, or a row is invalid (the message names its file
            and number).

    Examples:
        >>> bench = ak.benchmarks.longtimescope("data/longtimescope")
        >>> bench.cases[0].question.text
        'What does the golden retriever do, 0?'
    """
    loading = Loading(LAYOUT, root, rows, subtitles)
    for location, row in loading.rows():
        loading.add(
            location,
            video=[row.video],
            name=Path(row.video).stem,
            text=row.stem,
            choices=row.choices.texts,
            id=row.id,
            facts={"type": row.type, "length": row.length},
            answer=row.answer_index,
            category=row.type,
        )
    return loading.benchmark()
