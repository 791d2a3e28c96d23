"""Datasets of questions with choices, each loaded from a local folder in its published layout.

* `lvbench`: LVBench (Wang et al., 2025).
* `mlvu`: MLVU (Zhou et al., 2025), in both of its forms.
* `egoschema`: EgoSchema (Mangalam et al., 2023).
* `longtimescope`: LongTimeScope (2025).

LongVideoBench and Video-MME have modules of their own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from atlaskit.benchmarks.case import Benchmark
from atlaskit.benchmarks.datasets.layout import Layout, Loading, existing
from atlaskit.benchmarks.datasets.options import (
    LetteredRow,
    Options,
    read_options,
    split_options,
    split_question,
)
from atlaskit.benchmarks.datasets.rows import Row, as_number, as_tuple, first_given, row_files
from atlaskit.environment.question import Kind, Span
from atlaskit.errors import InputError, printable, reason

META = "video_info.meta.jsonl"
CLOCK = r"(?:(\d{1,2}):)?(\d{1,3}):(\d{2})"
REFERENCE = re.compile(rf"\s*{CLOCK}\s*[-–~]\s*{CLOCK}\s*", re.ASCII)
"""Two times, such as "102:15-103:00": hours if given, minutes of up to three digits, seconds."""


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

        A reference of one second ("12:30-12:30") lasts that second. A reference without an end
        ("73:05-None") gives no position, since only the open video could tell its end.
        """
        match = REFERENCE.fullmatch(self.time_reference)
        if match is None:
            return ()
        start_s = _clock_s(*match.groups()[:3])
        end_s = _clock_s(*match.groups()[3:])
        if end_s < start_s:
            return ()
        return ((start_s, max(end_s, start_s + 1)),)


def _clock_s(hours: str | None, minutes: str, seconds: str) -> float:
    return 3600.0 * int(hours or 0) + 60 * int(minutes) + int(seconds)


class LVBenchInfo(Row):
    """The facts of a video file, of which only the duration is read."""

    duration_minutes: float | None = None


class LVBenchRow(Row):
    """One video with its questions, or one question in the form of the split `train`."""

    marks = (
        frozenset({"key", "video_path"}),
        frozenset({"qa", "question"}),
        frozenset({"qa", "answer"}),
    )

    video_key: Annotated[str, Field(min_length=1, alias="key")]
    type: str = ""
    video_info: LVBenchInfo = LVBenchInfo()
    video_path: str = ""
    qa: tuple[LVBenchQuestion, ...]

    @model_validator(mode="before")
    @classmethod
    def _from_one_question(cls, row: Any) -> Any:
        """Return a row that is one question as a video with that question."""
        if not isinstance(row, Mapping) or "qa" in row:
            return row
        path = row.get("video_path")
        if not isinstance(path, str):
            return row
        return {**row, "key": first_given(row, "key") or Path(path).stem, "qa": [row]}

    @property
    def key(self) -> str:
        """The video's key and all questions of the row: in `train`, a row has only one."""
        questions = [question.uid or question.question for question in self.qa]
        return "\n".join([self.video_key, *questions])

    def facts(self, question: LVBenchQuestion) -> dict[str, Any]:
        """Return the facts of a question's case."""
        minutes = self.video_info.duration_minutes
        return {
            "question_type": question.question_type,
            "time_reference": question.time_reference,
            "video_type": self.type,
            "duration_s": None if minutes is None else 60 * minutes,
        }


def _lvbench_files(home: Path) -> list[Path]:
    return existing(home, META, f"data/{META}") or row_files(home, "data")


LVBENCH_LAYOUT = Layout(
    "LVBench",
    LVBenchRow,
    ("all_videos", "videos", "video", "data", "scripts/videos"),
    files=_lvbench_files,
    wanted=f"{META}, and no rows as Parquet or JSON",
    own=re.compile(re.escape(META)),
)


def lvbench(
    root: str | Path, *, subtitles: bool = True, rows: Iterable[Mapping[str, Any]] | None = None
) -> Benchmark:
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
    loading = Loading(LVBENCH_LAYOUT, root, given=rows, wants_lines=subtitles)
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


ROW_FOLDERS = ("MLVU/json", "json", "test-ground-truth", "MLVU_Test/test-ground-truth")
"""Folders of row files, which are read before the files of the root. The root may repeat the
questions of the test split without their answers."""
OPEN_ENDED: dict[str, Kind] = {
    "subplot": "open",
    "sub_scene": "open",
    "ssc": "open",
    "summary": "summary",
}
"""Kind of the questions without choices, by their type in lower case. The first three are names of
one type."""


class MLVURow(Row):
    """One question as published: `answer` is the text of one of its `candidates`.

    Mirrors have another form: `video_name` and `task_type` replace `video` and `question_type`, the
    answer is a letter, and the options are part of the question too.
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
            raise ValueError(
                f"answer must be one of {len(self.choices.texts)} candidates; got "
                f"{self.answer[:40]!r}"
            )
        return self

    @property
    def type(self) -> str:
        """The type of the question, by which MLVU averages."""
        return self.question_type or self.task_type

    @property
    def kind(self) -> Kind:
        """The kind of the question: "choice" if it has choices, else that of its type.

        A question of another type without choices is a "choice" too, which `Question` refuses.
        """
        if self.choices.texts:
            return "choice"
        return OPEN_ENDED.get(self.type.lower(), "choice")

    @property
    def _stem_and_choices(self) -> tuple[str, Options]:
        """The question without the options that it repeats, and its options."""
        stem, options = split_question(self.question)
        candidates = read_options(self.candidates)
        repeated = read_options(options)
        if len(candidates.texts) < 2:
            return stem, repeated
        if repeated.texts == candidates.texts:
            return stem, candidates
        return self.question.strip(), candidates

    @property
    def stem(self) -> str:
        """The question without options."""
        return self._stem_and_choices[0]

    @property
    def choices(self) -> Options:
        """The options, with and without letters."""
        return self._stem_and_choices[1]

    @property
    def answer_index(self) -> int | None:
        """Index of the right candidate; None if it is not known.

        Published rows give its text, which may be a single letter; rows of mirrors give its letter.
        """
        if self.answer is None:
            return None
        by_letter = self.choices.by_letter(self.answer)
        by_text = self.choices.by_text(self.answer)
        if self.task_type:  # a row of a mirror
            return by_text if by_letter is None else by_letter
        return by_letter if by_text is None else by_text


MLVU_LAYOUT = Layout(
    "MLVU",
    MLVURow,
    ("MLVU/video", "video", "videos", "data", "MLVU_Test/video"),
    ("subtitles", "subtitle", "MLVU/subtitles"),
    files=lambda home: row_files(home, *ROW_FOLDERS),
    wanted="json/, and no rows as Parquet or JSON",
    own=re.compile(r"\d+_\w+\.json"),  # such as "1_plotQA.json"
)


def mlvu(
    root: str | Path, *, subtitles: bool = True, rows: Iterable[Mapping[str, Any]] | None = None
) -> Benchmark:
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
    loading = Loading(MLVU_LAYOUT, root, given=rows, wants_lines=subtitles)
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


OPTIONS = ("option 0", "option 1", "option 2", "option 3", "option 4")
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
            raise ValueError(
                f"answer must be an index from 0 to {len(self.option) - 1}; got "
                f"{self.answer[:40]!r}"
            )
        return self

    @property
    def key(self) -> str:
        """The video, since each has one question, and whether the row has choices."""
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
        if not isinstance(number, int):
            return self.choices.index_of(self.answer)
        return number if 0 <= number < len(self.option) else None


def _egoschema_files(home: Path, _split: str) -> list[Path]:
    """Return the row files, the subset's first, because the others repeat it without answers."""
    files = [path for path in row_files(home) if path.name != ANSWERS]
    return sorted(files, key=lambda path: "subset" not in str(path.relative_to(home)).lower())


EGOSCHEMA_LAYOUT = Layout(
    "EgoSchema",
    EgoSchemaRow,
    ("videos", "video", "good_clips_git", "data"),
    files=_egoschema_files,
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
        split: "subset", the 500 questions with published answers, or "full", all 5,031. Those
            outside the subset can be asked but not scored.
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
    loading = Loading(EGOSCHEMA_LAYOUT, root, given=rows, wants_lines=subtitles, split=split)
    is_empty = True
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
        raise InputError(
            f'No question of {root} has an answer: add {ANSWERS}, or load all with split="full".'
        )
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
        raise InputError(
            f"{path} must hold an answer for each question; got {type(answers).__name__}."
        )
    indices = dict[str, int]()
    for name, answer in answers.items():
        index = as_number(answer)
        if index not in range(len(OPTIONS)):
            raise InputError(
                f"{path} must give an index from 0 to {len(OPTIONS) - 1} for each question; got "
                f"{answer!r:.40} for {printable(name, 60)}."
            )
        indices[name] = int(index)
    return indices


QUESTION = re.compile(r"^\s*Question:\s*", re.MULTILINE | re.IGNORECASE)


class LongTimeScopeRow(LetteredRow):
    """One question as published: a whole prompt, with its options, in `input`.

    The prompt's instructions are left out: the lines before "Question:", and those after the last
    option if the other options have one line each.
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
            kind = first_given(row, "type", "task_type", "task")
            text = first_given(row, "input", "question")
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
        options = split_question(self.input)[1]
        if options and not any("\n" in option for option in options[:-1]):
            options[-1] = options[-1].split("\n")[0]
        return read_options(options)


LONGTIMESCOPE_LAYOUT = Layout("LongTimeScope", LongTimeScopeRow)


def longtimescope(
    root: str | Path, *, subtitles: bool = True, rows: Iterable[Mapping[str, Any]] | None = None
) -> Benchmark:
    """Load LongTimeScope, or TimeScope, which has the same layout, from a folder.

    The facts of a case are `type` (QA, OCR, temporal), `length` (of the video in seconds, as
    published) and `subtitles`. The category is the type. Videos without a file are listed in
    `missing` and reported in a warning.

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
    loading = Loading(LONGTIMESCOPE_LAYOUT, root, given=rows, wants_lines=subtitles)
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
