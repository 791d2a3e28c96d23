"""Questions of your own: a table with one row a question.

* `table`: loads questions from a CSV, TSV, JSON, JSON Lines or Parquet file, from dictionaries or a
  DataFrame. A wrong cell is an error that names its row and its column.
* `cases_of`: cases from anything that `evaluate` accepts.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import string
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias, cast, get_args

from atlaskit import limits
from atlaskit.benchmarks.case import Benchmark, Case
from atlaskit.benchmarks.datasets.layout import VIDEO_SUFFIXES, find_inside
from atlaskit.benchmarks.datasets.options import Options, read_options, split_question
from atlaskit.benchmarks.datasets.rows import is_missing, leave_out, read_placed
from atlaskit.environment.question import Answered, Kind, Question, Span
from atlaskit.errors import InputError, VideoError, check_flags, printable
from atlaskit.video.names import local_path
from atlaskit.video.opening import open_video
from atlaskit.video.spreadsheet import read_spreadsheet
from atlaskit.video.subtitles.files import subtitles_beside
from atlaskit.video.subtitles.text import checked_time
from atlaskit.video.video import Video

SPREADSHEETS = (".csv", ".tsv", ".txt")
FILES = (*SPREADSHEETS, ".json", ".jsonl", ".parquet")
"""Suffixes of the files that a table is read from."""
WORKBOOKS = (".xlsx", ".xls", ".ods", ".numbers")
"""Suffixes of workbooks, which are not read."""
COLUMNS: dict[str, tuple[str, ...]] = {
    "video": ("video", "video_path", "video_file", "film", "file", "filename", "path"),
    "question": ("question", "text"),
    "choices": ("choices", "options", "candidates"),
    "answer": ("answer", "correct_answer", "right_answer", "truth"),
    "start": ("start", "start_s", "start_time", "begin", "from"),
    "end": ("end", "end_s", "end_time", "stop", "to"),
    "subtitles": ("subtitles", "subtitle", "subtitle_path", "subtitle_file"),
    "category": ("category", "type", "topic"),
    "kind": ("kind",),
    "id": ("id", "question_id"),
}
"""The fields of a row, and the names that the column of each may have, the usual one first."""
CHOICE = re.compile(r"(?:(?:choice|option|candidate)[ _-]?)?([a-z]|\d{1,2})", re.IGNORECASE)
"""The name of a column with one choice: "A", "Choice B", "option_1"."""
SEPARATORS = ("|", "\n", ";", ",")
"""Separators of the choices in one cell; the first of them that the cell contains counts."""
INTERVAL = re.compile(r"(.+?)\s*(?:[-–—]|\bto\b)\s*(.+)")
"""Splits one interval into its start and its end: "1:05-1:20", "4 to 6"."""
_TIME = r"[\d:.,hms ]{1,20}"
_INTERVAL = rf"{_TIME}(?:[-–—]|to){_TIME}"
INTERVALS = re.compile(rf"{_INTERVAL}(?:;{_INTERVAL}){{0,1000}}")
"""An answer that looks like one interval, or several with semicolons between them."""
WHOLE = re.compile(r"-?(?:0|[1-9]\d{0,14})", re.ASCII)
NUMBER = re.compile(r"-?\d{1,15}[.]\d{1,15}|-?(?:0|[1-9]\d{0,14})", re.ASCII)
"""Cells of a column of whole numbers, and of any numbers. 007 is a text: its zeros may matter."""
NO_SUBTITLES = ("none", "no")
"""Cells that say that a video has no subtitles."""
MOST_NAMED = 12
"""The most columns that a message names."""
MOST_DIGITS = 1_000
"""The most digits of a count: Python reads no more than some thousand."""
PAST_END_S = 1.0
"""Seconds by which a time may lie after the end of its video, since people round."""
Rows: TypeAlias = "str | os.PathLike[str] | Iterable[Any]"
"""A file, a DataFrame, or rows as dictionaries; for `evaluate` also cases, or questions."""


def table(
    source: Rows,
    *,
    root: str | Path | None = None,
    video: str | Path | Video | None = None,
    subtitles: bool = True,
    scored: bool = True,
) -> Benchmark:
    """Load questions of your own from a table with one row a question.

    | column | holds |
    |---|---|
    | `video` | a path, from the folder of the table or from `root` |
    | `question` | its text |
    | `choices`, or `A`, `B`, `C`, … | the choices: in one cell, between `|`, or each in its own |
    | `answer` | the letter or the text of the right choice; a number, words, or an interval |
    | `start`, `end` | the interval that shows the answer; without `answer`, it is the answer |
    | `subtitles` | a subtitle file, `embedded` or `none`; empty for the file beside the video |
    | `category` | the group of the question |
    | `kind`, `id` | the kind of the question, and its name; by default they follow from the rest |

    Only `video`, `question` and an answer are required. Columns with other names become facts of
    the case, and columns of the results. Times are seconds or clock times: 65.5, 1:05, 1:02:03. A
    CSV may be in any encoding, with commas, semicolons or tabs. Errors number its rows as a
    spreadsheet does.

    Args:
        source: A `.csv`, `.tsv`, `.json`, `.jsonl` or `.parquet` file, a DataFrame, or
            dictionaries.
        root: The folder of the videos. By default it is the folder of the file, or for other rows
            the current one. A file may name no video outside of it.
        video: The video of all rows that name none.
        subtitles: Whether the videos get their subtitles.
        scored: Whether each row must have an answer. If not, a question may have none.

    Raises:
        InputError: A file cannot be read, a column is missing, or a cell is wrong; the message
            names its row and column.

    Examples:
        >>> bench = ak.benchmarks.table("questions.csv")
        >>> bench.cases[0].question.choices
        ('red', 'blue')
    """
    reading = _Table(source, root=root, video=video, subtitles=subtitles, scored=scored)
    faults = []
    for place, cells in reading.rows:
        try:
            row = _Row(
                place,
                cells,
                columns=reading.columns,
                letters=reading.letters,
                scored=scored,
            )
            reading.add(row)
        except InputError as error:
            faults.append(error)
    if faults:
        leave_out(*faults)  # raises, unless within `skip_bad`
    return reading.benchmark()


def cases_of(
    questions: Rows | Iterable[Case],
    video: str | Path | Video | None = None,
    *,
    scored: bool = True,
) -> Sequence[Case]:
    """Return cases from anything that holds questions.

    Args:
        questions: Cases, such as a benchmark; questions about one video; or what `table` accepts.
        video: The video of questions that name none.
        scored: Whether each row of a table must have an answer.

    Raises:
        InputError: `questions` is none of these, or `table` refuses it.
    """
    if isinstance(questions, Case | Question | Mapping):
        questions = [questions]
    if _is_file(questions) or _is_frame(questions):
        return table(questions, video=video, scored=scored)
    if not isinstance(questions, Iterable):
        raise InputError(
            f"Questions are a list of cases, rows or questions, or a table; got {questions!r:.80}."
        )
    items: Sequence[Any] = questions if isinstance(questions, Sequence) else list(questions)
    if _are_all(items, Case):
        return items
    if _are_all(items, Mapping):
        return table(items, video=video, scored=scored)
    if _are_all(items, Question):
        return _about_one(items, video)
    wrong = "a mixture of them"
    for item in items:
        if not isinstance(item, Case | Question | Mapping):
            wrong = f"{type(item).__name__} ({item!r:.60})"
            break
    raise InputError(
        "Each question must be a case of a benchmark, a row with a video and a question, or an "
        f"ak.Question (with video=…), and all alike; got {wrong}."
    )


def _are_all(items: Iterable[Any], kind: type) -> bool:
    return all(isinstance(item, kind) for item in items)


def _is_file(source: Any) -> bool:
    return isinstance(source, str | os.PathLike)


def _is_frame(source: Any) -> bool:
    """Return whether rows are a DataFrame; pandas need not be installed."""
    return hasattr(source, "to_dict") and hasattr(source, "columns")


def _about_one(questions: Sequence[Question], video: str | Path | Video | None) -> list[Case]:
    """Return the cases of questions about one video; those without an id get a number."""
    if video is None:
        raise InputError(
            "A Question names no video: say which one with video=, or give rows with a video."
        )
    if not isinstance(video, Video):
        video = open_video(video, subtitles="beside")
    cases = []
    for number, question in enumerate(questions):
        if not question.id:
            question = replace(question, id=f"{video.name}-{number}")
        cases.append(Case(question, video.name, Opened(video)))
    return cases


@dataclass(frozen=True)
class Opened:
    """A video of a table, opened on call."""

    source: Path | Video
    subtitles: str | None = None
    """As `open_video` takes them."""

    def __call__(self) -> Video:
        """Open the video; one that is open already stays as it is."""
        if isinstance(self.source, Video):
            return self.source
        return open_video(self.source, self.subtitles)


@dataclass(frozen=True)
class _Row:
    """One row of a table. A cell is found by its field (see COLUMNS) or its column."""

    place: str
    """Where the row stands, for error messages."""
    cells: Mapping[str, Any]
    """The cells, by the names of their columns."""
    columns: Mapping[str, str]
    """The column of each field that the table has."""
    letters: Sequence[str]
    """The columns that hold one choice each."""
    scored: bool
    """Whether the row must have an answer."""

    def fault(self, field: str, message: str) -> InputError:
        """Return the error of a wrong cell."""
        column = printable(self.columns.get(field, field), 60)
        return InputError(f"{self.place}, column {column!r}: {message}")

    def value(self, field: str) -> Any:
        """Return the value of a field, or of another column; "" if the row has none."""
        value = _as_lists(self.cells.get(self.columns.get(field, field), ""))
        if is_missing(value):
            return ""
        return value

    def text(self, field: str) -> str:
        """Return a cell as a text."""
        text = text_of(self.value(field))
        if len(text) > limits.ROW_TEXT:
            raise self.fault(field, f"it has more than {limits.ROW_TEXT:,} characters.")
        return text

    def time_s(self, field: str, text: str) -> float:
        """Return the time in a cell, or in the part of it that is `text`, in seconds."""
        try:
            return checked_time(text.replace(",", "."))  # 65,5 in half of Europe
        except InputError as error:
            raise self.fault(field, str(error)) from error

    def options(self) -> Options:
        """Return the choices of the question, which may have none."""
        texts = [self.text(name) for name in self.letters]
        while texts and not texts[-1]:
            texts.pop()
        in_one_cell = choices_in(self.value("choices"))
        if texts and in_one_cell:
            raise self.fault(
                "choices", f"column {self.letters[0]!r} holds choices too; keep one of them."
            )
        options = read_options(texts or in_one_cell)
        columns = self.letters if texts else ["choices"] * len(options.texts)
        if len(options.texts) == 1:
            raise self.fault(
                columns[0], f"{options.texts[0]!r:.60} is the only choice; write two, or none."
            )
        for number, choice in enumerate(options.texts):
            column = columns[number]
            if not choice:
                raise self.fault(column, "a choice is empty, and one after it is not.")
            if choice.casefold() in map(str.casefold, options.texts[:number]):
                raise self.fault(
                    column,
                    f"the choice {choice!r:.60} is there twice; nobody could tell which is meant.",
                )
        return options

    def span(self) -> Span | None:
        """Return the interval from `start` to `end`; None without one."""
        if not self.text("start") and not self.text("end"):
            return None
        for given, wanted in (("start", "end"), ("end", "start")):
            if not self.text(wanted):
                raise self.fault(wanted, f"it is empty, and {given} is not: write both or none.")
        start_s = self.time_s("start", self.text("start"))
        end_s = self.time_s("end", self.text("end"))
        if end_s <= start_s:
            raise self.fault(
                "end", f"{self.text('end')} is not after the start, {self.text('start')}."
            )
        return start_s, end_s

    def kind(self, options: Options, span: Span | None) -> Kind:
        """Return the kind of the question: the one in the row, or the one that fits the rest."""
        given = self.text("kind").lower()
        if given:
            if given not in get_args(Kind):
                raise self.fault("kind", f"{given!r:.60} is none of {', '.join(get_args(Kind))}.")
            return given  # type: ignore[return-value]
        if options.texts:
            return "choice"
        answer = self.value("answer")
        text = self.text("answer")
        is_interval = isinstance(answer, list | tuple) or INTERVALS.fullmatch(text) is not None
        if is_interval or (span is not None and not text):
            return "when"
        if text.isdecimal():
            return "count"
        return "open"

    def answer(self, kind: Kind, options: Options, span: Span | None) -> Answered | None:
        """Return the true answer; None if it is not known and need not be."""
        text = self.text("answer")
        is_known = bool(text) or (kind == "when" and span is not None)
        if not is_known and not self.scored:
            return None
        if not is_known:
            raise self.fault(
                "answer", "it is empty, and a question without an answer cannot be scored."
            )
        match kind:
            case "choice":
                return self._choice(text, options)
            case "count":
                if not text.isdecimal() or len(text) > MOST_DIGITS:
                    raise self.fault("answer", f"{text!r:.60} is no whole number.")
                return int(text)
            case "when":
                return self._spans(text, span)
        return text

    def _choice(self, text: str, options: Options) -> int:
        by_letter = options.by_letter(text)
        by_text = options.by_text(text)
        folded = [choice.casefold() for choice in options.texts]
        if by_text is None and text.casefold() in folded:
            by_text = folded.index(text.casefold())
        if by_letter is not None and by_text is not None and by_letter != by_text:
            raise self.fault(
                "answer",
                f"{text!r} is the letter of one choice and the text of another: write the text of "
                "both in more words.",
            )
        if by_text is not None:
            return by_text
        if by_letter is not None:
            return by_letter
        message = (
            f"{text!r:.60} is none of its choices: write the letter of one, "
            f"{options.letters[0]} to {options.letters[-1]}, or its text."
        )
        if text.isdecimal():
            message += " A number could count from 0 or from 1."
        raise self.fault("answer", message)

    def _spans(self, text: str, span: Span | None) -> Answered:
        """Return the interval, or the intervals, of an answer."""
        value = self.value("answer")
        if isinstance(value, list | tuple):
            return cast(Answered, value)  # `Question` says what is wrong with it
        if not text:
            assert span is not None, "without a text, the answer is the interval"
            return span
        found = []
        for part in text.split(";"):
            match = INTERVAL.fullmatch(part.strip())
            if match is None:
                raise self.fault("answer", f"{part.strip()!r:.60} is no interval: write 1:05-1:20.")
            start_s = self.time_s("answer", match[1])
            end_s = self.time_s("answer", match[2])
            if end_s <= start_s:
                raise self.fault("answer", f"{part.strip()!r:.60} ends before it begins.")
            found.append((start_s, end_s))
        if len(found) == 1:
            return found[0]
        return tuple(found)


def _as_lists(value: Any) -> Any:
    """Return an array, as pandas reads a list in a Parquet file, as a list; others unchanged."""
    if not getattr(value, "ndim", 0):
        return value
    return [_as_lists(each) for each in value.tolist()]


def text_of(value: Any) -> str:
    """Return the value of a cell as a person would write it."""
    if isinstance(value, list | tuple):
        return ", ".join(map(text_of, value))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if hasattr(value, "total_seconds"):  # a duration of pandas
        return f"{value.total_seconds():g}"
    return str(value).strip()


def choices_in(cell: Any) -> list[str]:
    """Return the choices that one cell holds."""
    if isinstance(cell, list | tuple):
        return list(map(text_of, cell))
    text = text_of(cell)
    if text.startswith("["):
        try:
            return list(map(text_of, json.loads(text)))
        except (ValueError, RecursionError):
            pass
    stem, labelled = split_question(text)
    if labelled and not stem:
        return labelled
    for separator in SEPARATORS:
        if separator in text:
            return [part.strip() for part in text.split(separator) if part.strip()]
    return [text] if text else []


class _Table:
    """A table of questions while it is loaded. Its rows are added, and become a benchmark."""

    def __init__(
        self,
        source: Rows,
        *,
        root: str | Path | None,
        video: str | Path | Video | None,
        subtitles: bool,
        scored: bool,
    ) -> None:
        check_flags(subtitles=subtitles, scored=scored)
        self.name, self.rows = _read(source)
        if not self.rows:
            raise InputError(
                f"{self.name} has no questions: its first row names the columns, and none follows."
            )
        self._is_file = _is_file(source)
        if root is not None:
            self._root = Path(root)
        elif self._is_file:
            self._root = Path(os.fspath(cast(str, source))).parent
        else:
            self._root = Path()
        if not self._root.is_dir():
            raise InputError(f"There is no folder {printable(str(root), 200)} with the videos.")
        self._folder = printable(str(self._root.absolute()), 200)
        self._video = video
        self._has_subtitles = subtitles
        self._scored = scored
        names = chain.from_iterable(cells for _, cells in self.rows)
        headers = list(dict.fromkeys(map(str, filter(None, names))))
        self.columns = _columns_of(headers)
        rest = [name for name in headers if name not in self.columns.values()]
        self.letters = _letters_of(rest)
        self._facts = [name for name in rest if name not in self.letters]
        self._check(headers)
        self._cases = list[Case]()
        # The place and the answer of each question.
        self._answers: dict[str, tuple[str, Any]] = {}
        # The place of each id.
        self._ids: dict[str, str] = {}
        # The places of questions that are listed again.
        self._twice = list[str]()
        # The duration of each video in seconds.
        self._lengths: dict[str, float] = {}
        # The videos whose subtitles lie beside them.
        self._beside = set[str]()

    def _check(self, headers: Sequence[str]) -> None:
        """Raise InputError if the table lacks a column, or is a table of results."""
        listed = ", ".join(printable(name, 40) for name in headers[:MOST_NAMED])
        if {"prediction", "score"} <= set(headers):
            raise InputError(
                f"{self.name} is a table of results, not of questions: `atlaskit browse` shows it."
            )
        wanted = [name for name in ("video", "question") if name not in self.columns]
        if self._video is not None and "video" in wanted:
            wanted.remove("video")
        if self._scored and not wanted and not {"answer", "start"} & self.columns.keys():
            wanted = ["answer"]
        if wanted:
            raise InputError(
                f"{self.name} has no column {wanted[0]!r}; it has {listed}. The first row of a "
                "table names its columns: video, question, choices (or A, B, C, …) and answer."
            )

    def add(self, row: _Row) -> None:
        """Add the question of a row; raise InputError if a cell is wrong."""
        name, source = self._source(row)
        options = row.options()
        span = row.span()
        kind = row.kind(options, span)
        if kind == "choice" and not options.texts:
            raise row.fault("choices", "it is empty, and a question of kind 'choice' has choices.")
        answer = row.answer(kind, options, span)
        text = row.text("question")
        if not text:
            raise row.fault("question", "it is empty.")
        question_id = self._id(row, name)
        choices = options.texts if kind == "choice" else ()
        fields: dict[str, Any] = {"id": question_id, "category": row.text("category")}
        if span is not None and span != answer:
            fields["positions_s"] = (span,)
        try:
            question = Question(text, choices, kind, answer, **fields)
        except InputError as error:
            raise InputError(f"{row.place}: {error}") from error
        self._check_times(row, name, source, question)
        identity = repr((name, text, options.texts))
        first_place, first_answer = self._answers.setdefault(identity, (row.place, question.answer))
        if first_place != row.place:
            if first_answer != question.answer:
                raise row.fault("answer", f"{first_place} asks the same, with another answer.")
            self._twice.append(row.place)
            return
        subtitles = self._subtitles(row, name, source)
        facts = {each: row.value(each) for each in self._facts}
        opened = Opened(source, subtitles)
        facts["subtitles"] = subtitles is not None
        self._cases.append(Case(question, name, opened, facts))

    def _id(self, row: _Row, video: str) -> str:
        """Return the id of a row's question; raise InputError if an earlier row has it."""
        number = row.place.rpartition(" ")[2]  # of "Row 3" or "questions.csv, row 3"
        question_id = row.text("id") or f"{PurePosixPath(video).stem}-{number}"
        if question_id in self._ids:
            raise row.fault("id", f"{question_id!r:.60} is the id of {self._ids[question_id]} too.")
        self._ids[question_id] = row.place
        return question_id

    def _source(self, row: _Row) -> tuple[str, Path | Video]:
        """Return the name of a row's video, and its file or the open video."""
        name = row.text("video")
        if not name and self._video is not None:
            if isinstance(self._video, Video):
                return self._video.name, self._video
            return str(self._video), local_path(self._video)
        if not name:
            raise row.fault("video", "it is empty: write the path of the video.")
        path = self._file(row, "video", name, VIDEO_SUFFIXES)
        root = self._root.resolve()
        target = path.resolve()
        if target.is_relative_to(root):
            return target.relative_to(root).as_posix(), path
        return str(target), path

    def _file(self, row: _Row, column: str, name: str, suffixes: Sequence[str]) -> Path:
        """Return the file that a cell names, with or without its suffix."""
        named = Path(name)
        try:
            if "://" in name or name.startswith("~"):
                named = local_path(name)
            local_path(self._root / named)  # raises if no file can have this name
        except (InputError, VideoError) as error:
            raise row.fault(column, str(error)) from error
        forms = [str(named), *(f"{named}{suffix}" for suffix in suffixes)]
        # Windows writes paths with backslashes.
        forms += [form.replace("\\", "/") for form in forms if "\\" in form]
        for form in forms:
            path = local_path(self._root / form)
            # `find_inside` joins the folder and this path, which is absolute and so stays as it is.
            found = find_inside(self._root, str(path.absolute()))
            if found is not None:
                return found
            if _exists(path) and not self._is_file:  # rows that the caller wrote are trusted
                return path
            if _exists(path):
                raise row.fault(
                    column,
                    f"{printable(name, 120)!r} is outside the folder {self._folder}, and a table "
                    "reads no file elsewhere: if you trust it, name the folder of its videos "
                    "(--root FOLDER, root=).",
                )
        folder = (self._root / forms[-1]).parent
        near = difflib.get_close_matches(Path(forms[-1]).name, _names_in(folder), 1)
        message = f"there is no file {printable(name, 120)!r} in {self._folder}"
        if near:
            raise row.fault(column, f"{message}; did you mean {printable(near[0], 80)!r}?")
        raise row.fault(column, f"{message}.")

    def _subtitles(self, row: _Row, name: str, source: Path | Video) -> str | None:
        """Return the subtitles of a row's video, as `open_video` takes them."""
        given = row.text("subtitles")
        if not self._has_subtitles or isinstance(source, Video) or given.lower() in NO_SUBTITLES:
            return None
        if given == "embedded":
            return given
        if given:
            return str(self._file(row, "subtitles", given, ()))
        found = subtitles_beside(source)
        if found is None:
            return None
        self._beside.add(name)
        return str(found)

    def _check_times(self, row: _Row, name: str, source: Path | Video, question: Question) -> None:
        """Raise InputError if a time of a row lies after the end of its video."""
        if not question.evidence_s:
            return
        last_s = max(span[1] for span in question.evidence_s)
        if name not in self._lengths:
            try:
                self._lengths[name] = Opened(source)().duration_s
            except VideoError as error:
                raise row.fault("video", str(error)) from error
        if last_s > self._lengths[name] + PAST_END_S:
            column = "end" if row.text("end") else "answer"
            raise row.fault(
                column,
                f"{last_s:g} s is after the end of {printable(name, 80)}, which lasts "
                f"{self._lengths[name]:.1f} s.",
            )

    def benchmark(self) -> Benchmark:
        """Return the benchmark; warn of repeated questions and of subtitles that were found."""
        if self._twice:
            warnings.warn(
                f"{self.name}: {len(self._twice)} questions are listed twice and asked once, as "
                f"{self._twice[0]}.",
                stacklevel=3,
            )
        if self._beside:
            warnings.warn(
                f"{self.name}: subtitle files beside {len(self._beside)} of the videos are read; "
                "to read none, write 'none' in a column named subtitles.",
                stacklevel=3,
            )
        for name in self._facts:
            typed = typed_column([case.facts[name] for case in self._cases])
            for case, value in zip(self._cases, typed, strict=True):
                # `add` has made a dictionary for each case.
                cast(dict[str, Any], case.facts)[name] = value
        return Benchmark(self.name, tuple(self._cases))


def _read(source: Rows) -> tuple[str, Sequence[tuple[str, Mapping[str, Any]]]]:
    """Return the name of a table, and its rows, each after its place."""
    if not _is_file(source):
        numbered: Iterable[tuple[Any, Any]] = enumerate(cast(Iterable[Any], source))
        if _is_frame(source):
            frame = cast(Any, source)
            # Two frames that were joined may have rows of one index.
            index = frame.index if frame.index.is_unique else range(len(frame))
            numbered = zip(index, frame.to_dict("records"), strict=True)
        placed = []
        for number, row in numbered:
            if not isinstance(row, Mapping):
                raise InputError(
                    f"Row {number} must be a dictionary with a video and a question; got "
                    f"{row!r:.60}."
                )
            placed.append((f"Row {number}", row))
        return "The table", placed
    path = Path(os.fspath(cast(str, source)))
    suffix = path.suffix.lower()
    if suffix in WORKBOOKS:
        raise InputError(
            f"{path} is a workbook: save it as CSV in your spreadsheet program, and give that file."
        )
    if suffix not in FILES:
        raise InputError(f"A table of questions ends in {', '.join(FILES)}; got {path}.")
    if not path.is_file():
        raise InputError(f"There is no file {path}.")
    if suffix in SPREADSHEETS:
        return str(path), read_spreadsheet(path)
    return str(path), read_placed(path)


def _columns_of(headers: Sequence[str]) -> dict[str, str]:
    """Return the columns of a table by their fields (see COLUMNS)."""
    plain = dict[str, str]()
    for header in headers:
        plain.setdefault(re.sub(r"[^a-z0-9]+", "_", header.lower()).strip("_"), header)
    found = dict[str, str]()
    for field, names in COLUMNS.items():
        for name in names:
            if name in plain:
                found.setdefault(field, plain[name])
    return found


def _letters_of(headers: Sequence[str]) -> list[str]:
    """Return the columns that hold one choice each, in their order; none unless there are two."""
    named = dict[str, str]()
    for name in headers:
        match = CHOICE.fullmatch(name.strip())
        if match is not None:
            named.setdefault(match[1].lower(), name)
    for labels in (string.ascii_lowercase, range(100), range(1, 100)):
        run = list[str]()
        for label in map(str, labels):
            if label not in named:
                break
            run.append(named[label])
        if len(run) > 1:
            return run
    return []


def typed_column(values: Sequence[Any]) -> list[Any]:
    """Return a column with one type: whole numbers, numbers, True and False, or texts.

    An empty cell is "" among texts, and NaN among numbers.
    """
    texts = list(map(text_of, values))
    given = list(filter(None, texts))
    is_full = len(given) == len(texts)
    if is_full and all(map(WHOLE.fullmatch, given)):
        return list(map(int, texts))
    if given and all(map(NUMBER.fullmatch, given)):
        return [float(text or "nan") for text in texts]
    if is_full and set(map(str.lower, given)) <= {"true", "false"}:
        return [text.lower() == "true" for text in texts]
    return texts


def _exists(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _names_in(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())[: limits.FILE_NAMES]
    except (OSError, ValueError):
        return []
