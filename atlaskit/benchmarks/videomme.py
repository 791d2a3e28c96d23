"""Video-MME (Fu et al., 2025) from a local folder in its published layout."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import field_validator, model_validator

from atlaskit.benchmarks.benchmark import Benchmark, LazyVideo, Row, collected, question_of, read_rows, within
from atlaskit.benchmarks.case import Case
from atlaskit.errors import InputError

SUFFIXES = ("mp4", "MP4", "mkv", "webm")
LABELLED = re.compile(r"([A-Z])\.\s*(.*)", re.DOTALL)


class VideoMMERow(Row):
    """One question, as published; an option is "A. Apples.", and the answer its letter."""

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
    def _are_labelled(cls, options: tuple[str, ...]) -> tuple[str, ...]:
        for place, option in enumerate(options):
            found = LABELLED.fullmatch(option)
            if found is None or ord(found.group(1)) != ord("A") + place:
                raise ValueError(f'option {place} begins with "{chr(ord("A") + place)}. ", got {option[:40]!r}')
        return options

    @model_validator(mode="after")
    def _has_its_answer(self) -> VideoMMERow:
        letters = [option[0] for option in self.options]
        if self.answer not in letters:
            raise ValueError(f"answer is one of {', '.join(letters)}, got {self.answer[:40]!r}")
        return self

    @property
    def choices(self) -> tuple[str, ...]:
        """The options without their letters."""
        return tuple(option.partition(".")[2].strip() for option in self.options)


def videomme(root: str | Path, *, subtitles: bool = True, rows: Iterable[Mapping[str, Any]] | None = None) -> Benchmark:
    """Load Video-MME from a folder with a JSON or Parquet file of its rows, `data/` and `subtitle/`. With `rows`, as
    `datasets.load_dataset` returns them, only the videos and subtitles are there.

    The facts of a case: `duration` (short, medium, long), `domain`, `sub_category`, `task_type`, `subtitles` (whether
    they are used, and there); the category is the task type too. Videos that are not there are in `missing`, and are
    warned of. Raises InputError for a folder of another layout, and for a row that is none, with its file and number.
    """
    home = Path(root)
    cases, missing = list[Case](), dict[str, None]()
    given = read_rows(_files(home) if rows is None else rows, VideoMMERow)
    for where, row in given:
        video = next(filter(None, (within(home / "data", f"{row.videoID}.{suffix}") for suffix in SUFFIXES)), None)
        if video is None:
            missing[row.videoID] = None
            continue
        lines = within(home / "subtitle", f"{row.videoID}.srt") if subtitles else None
        facts = {
            "duration": row.duration,
            "domain": row.domain,
            "sub_category": row.sub_category,
            "task_type": row.task_type,
            "subtitles": lines is not None,
        }
        about = {"id": row.question_id, "category": row.task_type}
        question = question_of(where, row.question, row.choices, answer=ord(row.answer) - ord("A"), **about)
        cases.append(Case(question, row.videoID, LazyVideo(video, lines), facts))
    return collected("Video-MME", cases, missing)


def _files(home: Path) -> list[Path]:
    found = sorted({*home.glob("*.json"), *home.rglob("*.parquet")})
    if not found:
        raise InputError(f"{home} holds no JSON or Parquet file with questions, so it is no Video-MME.")
    return found
