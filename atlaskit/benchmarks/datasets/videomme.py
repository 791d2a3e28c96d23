"""Video-MME, loaded from a local folder in its published layout.

* `videomme`: the first version (Fu et al., 2025).
* `videomme_v2`: the second version (2026), whose questions are scored in groups of four.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, field_validator

from atlaskit.benchmarks.case import Benchmark
from atlaskit.benchmarks.datasets.layout import Layout, Loading
from atlaskit.benchmarks.datasets.options import LetteredRow
from atlaskit.benchmarks.datasets.rows import as_number

VIDEOMME_FACTS = ("duration", "domain", "sub_category", "task_type")
"""Columns that become facts of a case."""


class VideoMMERow(LetteredRow):
    """One question as published: an option reads "A. Apples.", and the answer is its letter.

    The question, its options and the video's id are required; other fields may be absent.
    """

    marks = (frozenset({"videoID"}), frozenset({"question"}), frozenset({"options"}))
    identity = (("question_id",), ("videoID", "question"))

    video_id: str = ""
    """The dataset's number of the video. Its file is named by `videoID`."""
    duration: str = ""
    domain: str = ""
    sub_category: str = ""
    videoID: Annotated[str, Field(min_length=1)]  # noqa: N815 (the dataset's own name)
    question_id: str = ""
    task_type: str = ""
    question: str
    options: tuple[str, ...]


VIDEOMME_LAYOUT = Layout("Video-MME", VideoMMERow, ("data", "videos", "video"))


def videomme(
    root: str | Path, *, subtitles: bool = True, rows: Iterable[Mapping[str, Any]] | None = None
) -> Benchmark:
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
    loading = Loading(VIDEOMME_LAYOUT, root, given=rows, wants_lines=subtitles)
    for location, row in loading.rows():
        loading.add(
            location,
            video=[row.videoID],
            text=row.question,
            choices=row.choices.texts,
            id=row.question_id,
            facts={name: getattr(row, name) for name in VIDEOMME_FACTS},
            answer=row.answer_index,
            category=row.task_type,
        )
    return loading.benchmark()


ID_DIGITS = 3
"""Digits of an id in the name of a file: the video 1 may be 001.mp4."""
GROUP_TYPES = {"相关性": "relevance", "逻辑链": "logic"}
"""The English names of the types of groups, which an early release of the rows has in Chinese."""
OF_GROUP = ("group_type", "group_structure", "level", "second_head", "third_head")
"""Columns that describe a group of questions. Some rows of a group leave them empty."""
NUMBER = re.compile(r".*\D(\d{1,9})", re.DOTALL | re.ASCII)
"""An id that ends with a number after other characters, such as "001-2"."""


class VideoMMEv2Row(LetteredRow):
    """One question as published: eight options in one text, and the letter of the right one.

    The question, its options and the video's id are required; other fields may be absent.
    """

    marks = (
        frozenset({"video_id"}),
        frozenset({"group_type"}),
        frozenset({"group_structure"}),
        frozenset({"question"}),
        frozenset({"options"}),
    )
    identity = (("question_id",), ("video_id", "question"))

    video_id: Annotated[str, Field(min_length=1)]
    question_id: str = ""
    question: str
    options: tuple[str, ...]
    group_type: str = ""
    group_structure: str = ""
    level: Annotated[int | float | str | None, BeforeValidator(as_number)] = None
    second_head: str = ""
    third_head: str = ""

    @field_validator("group_structure", mode="before")
    @classmethod
    def _as_text(cls, structure: Any) -> Any:
        """Return the structure, a list or its text, as a text without spaces."""
        text = json.dumps(structure) if isinstance(structure, list) else structure
        return re.sub(r"\s", "", text) if isinstance(text, str) else text

    @field_validator("group_type", mode="after")
    @classmethod
    def _in_english(cls, group_type: str) -> str:
        """Return the English name of a type of group."""
        return GROUP_TYPES.get(group_type, group_type)


VIDEOMME_V2_LAYOUT = Layout("Video-MME-v2", VideoMMEv2Row, ("data", "videos", "video"))


def videomme_v2(
    root: str | Path, *, subtitles: bool = True, rows: Iterable[Mapping[str, Any]] | None = None
) -> Benchmark:
    """Load Video-MME-v2 from a folder.

    Four questions about one video are a group, which the metric scores together. The facts of a
    case are `group` (the video's id), `place` (1 to 4 in the group), `group_type` ("relevance" or
    "logic"), `group_structure` (the steps of an argument, such as "[1,[2,3],4]", for "logic"),
    `level`, `second_head`, `third_head` and `subtitles`. If only one row of a group has a value,
    the value counts for all four. The category is `second_head`. Videos without a file are listed
    in `missing` and reported in a warning.

    Args:
        root: Folder with `test.parquet` (or rows as JSON or JSON Lines), the videos in `data/`,
            `videos/` or the folder itself, and in `subtitle/` a JSON Lines file of the words of
            each video.
        subtitles: Whether the videos get their subtitles.
        rows: Rows as `datasets.load_dataset` returns them, used instead of the folder's row files.

    Raises:
        InputError: The folder has another layout, or a row is invalid (the message names its file
            and number).

    Examples:
        >>> bench = ak.benchmarks.videomme_v2("data/videomme_v2")
        >>> bench.cases[0].question.text
        'Which of these, 1 and 1?'
    """
    loading = Loading(VIDEOMME_V2_LAYOUT, root, given=rows, wants_lines=subtitles)
    found = list(loading.rows())
    all_rows = [row for _, row in found]
    groups = _groups(all_rows)
    places = _places(all_rows)
    for (location, row), place in zip(found, places, strict=True):
        facts = groups[row.video_id]
        loading.add(
            location,
            video=[row.video_id, row.video_id.zfill(ID_DIGITS)],
            text=row.question,
            choices=row.choices.texts,
            id=row.question_id or f"{row.video_id}-{place}",
            facts={"group": row.video_id, "place": place, **facts},
            answer=row.answer_index,
            category=facts["second_head"],
        )
    return loading.benchmark()


def _groups(rows: Iterable[VideoMMEv2Row]) -> dict[str, dict[str, Any]]:
    """Return the columns of each group, from the last of its rows that fills a column."""
    groups: dict[str, dict[str, Any]] = {}
    for row in rows:
        facts = groups.setdefault(row.video_id, {name: getattr(row, name) for name in OF_GROUP})
        for name in OF_GROUP:
            value = getattr(row, name)
            if value not in (None, ""):
                facts[name] = value
    return groups


def _places(rows: Sequence[VideoMMEv2Row]) -> list[int]:
    """Return the place of each row in its group, from 1.

    The numbers at the ends of the ids give the order, or else the file does.
    """
    by_group: dict[str, list[int]] = {}
    for index, row in enumerate(rows):
        by_group.setdefault(row.video_id, []).append(index)
    places = [0] * len(rows)
    for indices in by_group.values():
        indices.sort(key=lambda index: _last_number(rows[index].question_id))
        for place, index in enumerate(indices, 1):
            places[index] = place
    return places


def _last_number(question_id: str) -> int:
    """Return the number at the end of an id; 0 for an id that `NUMBER` does not match."""
    match = NUMBER.fullmatch(question_id)
    return 0 if match is None else int(match[1])
