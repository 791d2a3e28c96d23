"""CG-Bench (Chen et al., 2025): choices and the clues that settle them, from a local folder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from atlaskit.benchmarks.benchmark import Benchmark
from atlaskit.benchmarks.datasets.layout import Layout, Loading, check_one_of
from atlaskit.benchmarks.datasets.moments import Interval, in_order, oddity
from atlaskit.benchmarks.datasets.options import LETTER
from atlaskit.benchmarks.datasets.rows import Row

FILES = {"mini": "cgbench_mini.json", "full": "cgbench.json"}
NAMES = {"mini": "CG-Bench mini", "full": "CG-Bench"}
"""Names of the benchmark, by split."""
TASKS = ("choice", "clues", "both")


class CGBenchRow(Row):
    """One question as published: `answer` is the text of the choice whose letter is `right_answer`.

    Needed are the video's id, the question and its choices; the other fields may be absent.
    """

    marks = (frozenset({"video_uid"}), frozenset({"question"}), frozenset({"choices"}))
    identity = (("qid",), ("video_uid", "question"))

    qid: str = ""
    video_uid: Annotated[str, Field(min_length=1)]
    question: str
    choices: tuple[str, ...]
    answer: str | None = None
    right_answer: str | None = None
    clue_intervals: tuple[Interval, ...] = ()
    domain: str = ""
    sub_category: str = ""
    duration: float | None = None

    @model_validator(mode="after")
    def _check_answer(self) -> CGBenchRow:
        if self.right_answer and self.answer_index is None:
            raise ValueError(
                f"right_answer must be the letter of one of {len(self.choices)} choices; got {self.right_answer!r:.40}"
            )
        return self

    @property
    def answer_index(self) -> int | None:
        """Index of the right choice, by its letter or else its text; None if it is not known."""
        if match := LETTER.fullmatch((self.right_answer or "").strip()):
            index = ord(match[1].upper()) - ord("A")
            return index if index < len(self.choices) else None
        return self.choices.index(self.answer) if self.answer in self.choices else None

    def facts(self, qid: str, task: str) -> dict[str, Any]:
        """Return the facts of a case of the row."""
        return {
            "qid": qid,
            "task": task,
            "domain": self.domain,
            "duration_s": self.duration,
            "clues": len(self.clue_intervals),
            "oddity": oddity(self.clue_intervals, self.duration),
        }


def _row_files(home: Path, split: str) -> list[Path]:
    path = home / FILES[split]
    return [path] if path.is_file() else []


LAYOUT = Layout(
    "CG-Bench",
    CGBenchRow,
    ("cg_videos_720p", "cg_videos", "videos"),
    ("cg_subtitles",),
    files=_row_files,
    splits=FILES,
    own=re.compile(r"cgbench(_mini)?\.json"),
)


def cgbench(
    root: str | Path,
    *,
    split: Literal["mini", "full"] = "mini",
    task: Literal["choice", "clues", "both"] = "choice",
    subtitles: bool = True,
    rows: Iterable[Mapping[str, Any]] | None = None,
) -> Benchmark:
    """Load CG-Bench from a folder.

    The facts of a case are `qid`, `task`, `domain`, `duration_s`, `clues` (their number), `oddity`
    (what is odd about them: reversed, empty, before the start, beyond the end) and `subtitles`
    (whether the case uses subtitles and has them). The category is the dataset's `sub_category`.
    The ends of reversed intervals are put in order; no question is left out. Videos without a file
    are listed in `missing` and reported in a warning.

    Args:
        root: Folder with `cgbench_mini.json` or `cgbench.json`, `cg_videos_720p/` and
            `cg_subtitles/`, which lacks some.
        split: "mini" (3,000 questions) or "full".
        task: "choice": the question with its choices. "clues": when the video shows what answers
            it, one or more intervals. "both": each question twice, which acc.@IoU needs.
        subtitles: Whether the videos get their subtitles.
        rows: Rows as `datasets.load_dataset` returns them, used instead of the folder's file.

    Raises:
        InputError: The folder has another layout, or a row is invalid (the message names its file
            and number).

    Examples:
        >>> bench = ak.benchmarks.cgbench("data/cgbench")
        >>> bench.cases[0].question.text
        'Which is it, 0?'
    """
    check_one_of("task", task, TASKS)
    loading = Loading(LAYOUT, root, rows, subtitles, split)
    for number, (location, row) in enumerate(loading.rows()):
        qid = row.qid or f"{row.video_uid}-{number}"
        for of_task, fields in _questions(row, qid).items():
            if task in (of_task, "both"):
                loading.add(location, video=[row.video_uid], facts=row.facts(qid, of_task), **fields)
    return loading.benchmark(NAMES[split])


def _questions(row: CGBenchRow, qid: str) -> dict[str, dict[str, Any]]:
    """Return the fields of a row's questions, by task."""
    spans = in_order(row.clue_intervals)
    shared = {"category": row.sub_category, "positions_s": spans}
    when = {"kind": "when", "several": True, "answer": spans or None}
    return {
        "choice": {"text": row.question, "choices": row.choices, "id": qid, "answer": row.answer_index, **shared},
        "clues": {"text": _clue_text(row), "choices": (), "id": f"{qid}-clues", **when, **shared},
    }


def _clue_text(row: CGBenchRow) -> str:
    """Return the question of where a row's clues are; the choices say what must be told apart."""
    choices = "\n".join(f"- {choice}" for choice in row.choices)
    return f"When does the video show what settles this question: {row.question}\nIts possible answers:\n{choices}"
