"""LongVideoBench (Wu et al., 2024) from a local folder in its published layout."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import model_validator

from atlaskit.benchmarks.benchmark import Benchmark, LazyVideo, Row, collected, question_of, read_rows, within
from atlaskit.benchmarks.case import Case
from atlaskit.errors import InputError

OPTIONS = tuple(f"option{number}" for number in range(5))
EMPTY = "N/A"
"""Stands in the Parquet form where there are fewer than five candidates."""


class LongVideoBenchRow(Row):
    """One question, as published; the Parquet form has `option0` to `option4` in place of `candidates`."""

    id: str
    video_id: str
    question: str
    candidates: tuple[str, ...]
    correct_choice: int | None = None
    position: tuple[int, ...] = ()
    """Indices of the frames that the question is about."""
    topic_category: str = ""
    question_category: str = ""
    level: str = ""
    duration_group: int
    duration: float
    video_path: str
    subtitle_path: str
    starting_timestamp_for_subtitles: float = 0.0

    @model_validator(mode="before")
    @classmethod
    def _with_candidates(cls, given: Any) -> Any:
        if isinstance(given, dict) and "candidates" not in given and OPTIONS[0] in given:
            options = [given[name] for name in OPTIONS if given.get(name) not in (None, EMPTY)]
            return {**given, "candidates": options}
        return given

    @model_validator(mode="after")
    def _has_its_choice(self) -> LongVideoBenchRow:
        if self.correct_choice is not None and not 0 <= self.correct_choice < len(self.candidates):
            raise ValueError(f"correct_choice is {self.correct_choice}, of {len(self.candidates)} candidates")
        return self


def longvideobench(
    root: str | Path,
    *,
    split: Literal["val", "test"] = "val",
    subtitles: bool = True,
    rows: Iterable[Mapping[str, Any]] | None = None,
) -> Benchmark:
    """Load LongVideoBench from a folder with `lvb_val.json` (or Parquet files, `validation…` or `test…`), `videos/` and
    `subtitles/`. With `rows`, as `datasets.load_dataset` returns them, only the videos and subtitles are there.

    The facts of a case: `duration_group` (15, 60, 600 or 3600 s), `level`, `topic`, `duration_s`, `position` (indices
    of frames), `subtitles` (whether they are used, and there). The category is the dataset's own code (S2E … TAA). The
    test split has no true answers. Videos that are not there are in `missing`, and are warned of. Raises InputError
    for a folder of another layout, and for a row that is none, with its file and number.
    """
    home = Path(root)
    if split not in ("val", "test"):
        raise InputError(f'split is "val" or "test", got {split!r:.40}.')
    cases, missing = list[Case](), dict[str, None]()
    given = read_rows(_files(home, split) if rows is None else rows, LongVideoBenchRow)
    for where, row in given:
        video = within(home / "videos", row.video_path)
        if video is None:
            missing[row.video_path] = None
            continue
        lines = within(home / "subtitles", row.subtitle_path) if subtitles else None
        facts = {
            "duration_group": row.duration_group,
            "level": row.level,
            "topic": row.topic_category,
            "duration_s": row.duration,
            "position": row.position,
            "subtitles": lines is not None,
        }
        film = LazyVideo(video, lines, row.starting_timestamp_for_subtitles)
        about = {"id": row.id, "category": row.question_category}
        question = question_of(where, row.question, row.candidates, answer=row.correct_choice, **about)
        cases.append(Case(question, row.video_id, film, facts))
    return collected("LongVideoBench", cases, missing)


def _files(home: Path, split: str) -> list[Path]:
    plain = home / ("lvb_val.json" if split == "val" else "lvb_test_wo_gt.json")
    if plain.is_file():
        return [plain]
    start = "validation" if split == "val" else "test"
    found = sorted(home.rglob(f"{start}*.parquet"))
    if not found:
        raise InputError(f"{home} holds neither {plain.name} nor {start}….parquet, so it is no LongVideoBench.")
    return found
