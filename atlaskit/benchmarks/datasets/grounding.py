"""Datasets of questions whose answers are times, each loaded from a local folder as published.

* `extremewhen`: ExtremeWhenBench (2026), about one interval in hours of video.
* `with_absent`: mixes questions about what a video does not show into a benchmark.
* `comet`: CoMET-Bench (2026), about every event under conditions; some queries have none.
* `qvhighlights`: QVHighlights (Lei et al., 2021), about several windows.
* `charades`: Charades-STA (Gao et al., 2017), about one interval in half a minute of video.
* `cgbench`: CG-Bench (Chen et al., 2025), choices, and the clues on which they rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field, model_validator

from atlaskit.benchmarks.case import Benchmark, Case
from atlaskit.benchmarks.datasets.layout import (
    SUBTITLE_SUFFIXES,
    Layout,
    Loading,
    MediaFiles,
    check_one_of,
    existing,
)
from atlaskit.benchmarks.datasets.options import LETTER
from atlaskit.benchmarks.datasets.rows import Row
from atlaskit.environment.question import ABSENT, Span, Spans
from atlaskit.errors import InputError, check_flags

VIDEO = ("video", "video_id", "vid", "video_name", "video_path")
QUERY = ("query", "question", "sentence")
INTERVALS = ("intervals", "gt_intervals", "ground_truth", "segments")
"""Names that these three fields of CoMET-Bench may have; the first that a row has counts."""
Seconds = Annotated[float, Field(allow_inf_nan=False)]
Interval = tuple[Seconds, Seconds]
"""An interval of a row: a start and an end in seconds."""


def in_order(intervals: Iterable[Span]) -> Spans:
    """Return intervals with the earlier time first; a time before the video's start becomes 0."""
    return tuple((max(0.0, min(span)), max(0.0, max(span))) for span in intervals)


def oddity(intervals: Iterable[Span], duration_s: float | None = None) -> str:
    """Return the faults of a row's intervals, such as "reversed, empty"; "" if there are none.

    Args:
        intervals: The intervals as published.
        duration_s: Duration of the video in seconds, if the row has it.
    """
    faults = dict.fromkeys(("reversed", "empty", "before the start", "beyond the end"), False)
    for start_s, end_s in intervals:
        faults["reversed"] |= start_s > end_s
        faults["empty"] |= start_s == end_s
        faults["before the start"] |= min(start_s, end_s) < 0
        if duration_s is not None:
            faults["beyond the end"] |= max(start_s, end_s) > duration_s
    return ", ".join(name for name, applies in faults.items() if applies)


def when_shown(description: str) -> str:
    """Return the question that asks when the video shows what a sentence describes."""
    return f"When does the video show this: “{description.strip()}”"


FOLDERS = {
    "lvbench": ("lvbench/all_videos", "lvbench"),
    "mlvu": ("mlvu", "mlvu/video"),
    "videomme": ("videomme/data", "videomme"),
}
"""Folders with the videos that ExtremeWhenBench takes from other benchmarks, by the names of these
in lower case without punctuation."""
ANYWHERE = ("videos", "")
"""Where the videos of all sources lie if a folder does not keep the sources apart."""
SUBTITLES = ("subtitle", "subtitles")
"""Folders of a source that may hold subtitles."""


class ExtremeWhenRow(Row):
    """One question as published.

    The video's id and the question are required; the interval in at least one row of a file.
    """

    marks = (frozenset({"correct_interval"}), frozenset({"question"}), frozenset({"video_id"}))
    identity = (("qid",), ("video_id", "question", "correct_interval"))

    qid: str = ""
    video_id: Annotated[str, Field(min_length=1)]
    source_corpus: str = ""
    question: str
    correct_interval: Interval | None = None
    video_duration_s: float | None = None
    event_summary: str = ""
    category: str = ""

    @property
    def source(self) -> str:
        """The source of the video as `FOLDERS` writes it."""
        return "".join(filter(str.isalnum, self.source_corpus)).lower()

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """The interval as published, if it is known."""
        return () if self.correct_interval is None else (self.correct_interval,)

    @property
    def facts(self) -> dict[str, Any]:
        """The facts of the row's case."""
        return {
            "source_corpus": self.source_corpus,
            "duration_s": self.video_duration_s,
            "event_summary": self.event_summary,
            "oddity": oddity(self.intervals, self.video_duration_s),
        }


EXTREMEWHEN_LAYOUT = Layout(
    "ExtremeWhenBench", ExtremeWhenRow, (*chain.from_iterable(FOLDERS.values()), *ANYWHERE)
)


def extremewhen(
    root: str | Path,
    *,
    absent: bool = False,
    subtitles: bool = True,
    rows: Iterable[Mapping[str, Any]] | None = None,
) -> Benchmark:
    """Load ExtremeWhenBench from a folder.

    The dataset has annotations only; its videos are those of LVBench, MLVU and Video-MME. Every
    question asks for one interval. The facts of a case are `source_corpus`, `duration_s`,
    `event_summary`, `oddity` (what is odd about the interval: reversed, empty, before the start,
    beyond the end) and `subtitles` (whether the case uses subtitles and has them). The ends of a
    reversed interval are put in order; no question is left out. Videos without a file are listed in
    `missing` and reported in a warning.

    Args:
        root: Folder with a Parquet or JSON file of the rows, and the videos in
            `lvbench/all_videos/`, `mlvu/`, `videomme/data/` or `videos/`, or one level below.
        absent: Whether a question written about another video follows each question: see
            `with_absent`. Published results do not have these.
        subtitles: Whether the videos get their subtitles, where the folder of their source has
            `subtitle/ID.srt`.
        rows: Rows as `datasets.load_dataset` returns them, used instead of the folder's row files.

    Raises:
        InputError: The folder has another layout, or a row is invalid (the message names its file
            and number).

    Examples:
        >>> bench = ak.benchmarks.extremewhen("data/extremewhen")
        >>> bench.cases[0].question.text
        'When does it happen for the time 0?'
    """
    check_flags(absent=absent)
    loading = Loading(EXTREMEWHEN_LAYOUT, root, given=rows, wants_lines=subtitles)
    home = loading.home
    videos = dict[str, MediaFiles]()
    lines = dict[str, MediaFiles]()
    for source, folders in FOLDERS.items():
        videos[source] = MediaFiles(home, (*folders, *ANYWHERE))
        lines[source] = MediaFiles(home / source, SUBTITLES, SUBTITLE_SUFFIXES)
    for location, row in loading.rows():
        spans = in_order(row.intervals)
        loading.add(
            location,
            video=[row.video_id],
            text=row.question,
            id=row.qid,
            facts=row.facts,
            videos=videos.get(row.source),
            subtitles=lines.get(row.source),
            kind="when",
            answer=spans[0] if spans else None,
            category=row.category,
            positions_s=spans,
        )
    benchmark = loading.benchmark()
    return with_absent(benchmark) if absent else benchmark


def with_absent(benchmark: Benchmark) -> Benchmark:
    """Return a benchmark in which a question written about another video follows each one.

    It is asked about the same video as the question before it, and its true answer is that nothing
    is there. Nobody has checked this, so some videos may show what is asked for after all.
    The fact `absent` is True for these questions. All questions must be of kind "when".

    Raises:
        InputError: All questions are about one video.

    Examples:
        >>> bench = ak.benchmarks.with_absent(ak.benchmarks.charades("data/charades"))
        >>> [case.facts["absent"] for case in bench.cases[:2]]
        [False, True]
    """
    cases = benchmark.cases
    mixed = list[Case]()
    for place, case in enumerate(cases):
        for other in (*cases[place + 1 :], *cases[:place]):
            if other.video != case.video:
                break
        else:
            raise InputError(
                f"All questions of {benchmark.name} are about one video, so none is about another."
            )
        asked = replace(
            other.question,
            id=f"{case.question.id}-absent",
            answer=ABSENT,
            positions_s=(),
            several=False,
        )
        mixed.append(replace(case, facts={**case.facts, "absent": False}))
        mixed.append(replace(case, question=asked, facts={**case.facts, "absent": True}))
    return replace(benchmark, cases=tuple(mixed))


class CometRow(Row):
    """One query. The paper describes its data, but not the names of the fields.

    The video's id and the query are required; the intervals in at least one row of a file. A
    negative query has an empty list of intervals; without a list, the answer is not known.
    """

    marks = (frozenset(VIDEO), frozenset(QUERY), frozenset(INTERVALS))
    identity = (("id",), ("video", "query", "intervals"))

    id: str = Field("", validation_alias=AliasChoices("id", "qid", "query_id"))
    video: Annotated[str, Field(min_length=1, validation_alias=AliasChoices(*VIDEO))]
    query: str = Field(validation_alias=AliasChoices(*QUERY))
    intervals: tuple[Interval, ...] | None = Field(None, validation_alias=AliasChoices(*INTERVALS))
    duration: float | None = None
    domain: str = ""
    temporal_condition: str = ""
    spatial_condition: str = ""


COMET_LAYOUT = Layout("CoMET-Bench", CometRow, ("videos", "video", ""))


def comet(
    root: str | Path, *, subtitles: bool = True, rows: Iterable[Mapping[str, Any]] | None = None
) -> Benchmark:
    """Load CoMET-Bench from a folder.

    A question asks for every event that meets conditions; a negative query has none, and its answer
    is that nothing is there. The names of the fields were not published when this was written, so
    several are read for the video, the query and its intervals in seconds. The facts of a case are
    `domain`, `temporal_condition`, `spatial_condition`, `duration_s`, `events` (their number),
    `oddity` (what is odd about the intervals: reversed, empty, before the start, beyond the end)
    and `subtitles`. The ends of reversed intervals are put in order. Videos without a file are
    listed in `missing` and reported in a warning.

    Args:
        root: Folder with a JSON, JSON Lines or Parquet file of the rows, and `videos/`.
        subtitles: Whether the videos get their subtitles. None are published; files of your own
            are taken from `subtitles/`, by the name that a row gives the video.
        rows: Rows as `datasets.load_dataset` returns them, used instead of the folder's file.

    Raises:
        InputError: The folder has another layout, or a row is invalid (the message names its file
            and number).

    Examples:
        >>> bench = ak.benchmarks.comet("data/comet")
        >>> [case.question.answer for case in bench][1]
        ()
    """
    loading = Loading(COMET_LAYOUT, root, given=rows, wants_lines=subtitles)
    for location, row in loading.rows():
        spans = in_order(row.intervals or ())
        loading.add(
            location,
            video=[row.video],
            text=row.query,
            id=row.id,
            facts={
                "domain": row.domain,
                "temporal_condition": row.temporal_condition,
                "spatial_condition": row.spatial_condition,
                "duration_s": row.duration,
                "events": len(spans),
                "oddity": oddity(row.intervals or (), row.duration),
            },
            kind="when",
            several=True,
            answer=None if row.intervals is None else spans,
            positions_s=spans,
        )
    return loading.benchmark()


class QVHighlightsRow(Row):
    """One sentence as published; the test split has no windows."""

    identity = (("qid",), ("vid", "query"))

    qid: str = ""
    query: str
    vid: Annotated[str, Field(min_length=1)]
    duration: float | None = None
    relevant_windows: tuple[Interval, ...] = ()

    @property
    def facts(self) -> dict[str, Any]:
        """The facts of the row's case."""
        return {
            "query": self.query,
            "duration_s": self.duration,
            "windows": len(self.relevant_windows),
            "oddity": oddity(self.relevant_windows, self.duration),
        }


def _qvhighlights_files(home: Path, split: str) -> list[Path]:
    name = f"highlight_{split}_release.jsonl"
    return existing(home, name, f"data/{name}")[:1]


QVHIGHLIGHTS_LAYOUT = Layout(
    "QVHighlights",
    QVHighlightsRow,
    ("videos", "qvhighlights_videos", "qvhilights_videos", ""),
    (),
    files=_qvhighlights_files,
    splits={split: f"highlight_{split}_release.jsonl" for split in ("val", "train", "test")},
    own=re.compile(r"highlight_\w+_release\.jsonl"),
)


def qvhighlights(
    root: str | Path,
    *,
    split: Literal["val", "train", "test"] = "val",
    subtitles: bool = True,
    rows: Iterable[Mapping[str, Any]] | None = None,
) -> Benchmark:
    """Load QVHighlights from a folder.

    A question asks for every window of the video that shows what a sentence says. The facts of a
    case are `query`, `duration_s`, `windows` (their number), `oddity` (what is odd about them:
    reversed, empty, before the start, beyond the end) and `subtitles` (False: there are none). The
    ends of reversed windows are put in order; no question is left out. Videos without a file are
    listed in `missing` and reported in a warning.

    Args:
        root: Folder with `highlight_val_release.jsonl` (or train, test) and `videos/`.
        split: "val", "train", or "test", whose windows are not published.
        subtitles: Accepted as for every dataset; this one has no subtitles.
        rows: Rows as `datasets.load_dataset` returns them, used instead of the folder's file.

    Raises:
        InputError: The folder has another layout, or a row is invalid (the message names its file
            and line).

    Examples:
        >>> bench = ak.benchmarks.qvhighlights("data/qvhighlights")
        >>> bench.cases[0].question.text
        'When does the video show this: “A chef bakes bread 0.”'
    """
    loading = Loading(QVHIGHLIGHTS_LAYOUT, root, given=rows, wants_lines=subtitles, split=split)
    for location, row in loading.rows():
        windows = in_order(row.relevant_windows)
        loading.add(
            location,
            video=[row.vid],
            text=when_shown(row.query),
            id=row.qid,
            facts=row.facts,
            kind="when",
            several=True,
            answer=windows or None,
            positions_s=windows,
        )
    return loading.benchmark()


LINE = re.compile(r"\s*(\S+)\s+(\S+)\s+(\S+?)\s*##(.*)", re.DOTALL)
"""A line of Charades-STA: "vid start end##sentence"."""


class CharadesRow(Row):
    """One sentence as published, read from a line "vid start end##sentence"."""

    identity = (("vid", "start", "end", "sentence"),)

    vid: Annotated[str, Field(min_length=1)]
    start: Seconds
    end: Seconds
    sentence: str


def parse_line(line: str) -> dict[str, str]:
    """Return the fields of a line; raise ValueError if it has another form."""
    match = LINE.fullmatch(line)
    if match is None:
        raise ValueError("each line must read “video start end##sentence”")
    return {"vid": match[1], "start": match[2], "end": match[3], "sentence": match[4].strip()}


def _charades_files(home: Path, split: str) -> list[Path]:
    name = f"charades_sta_{split}.txt"
    return existing(home, name, f"sta_annotation/{name}", f"annotations/{name}")[:1]


CHARADES_LAYOUT = Layout(
    "Charades-STA",
    CharadesRow,
    ("Charades_v1_480", "Charades_v1", "rgb_videos_30fps_480", "videos", ""),
    (),
    files=_charades_files,
    splits={split: f"charades_sta_{split}.txt" for split in ("test", "train")},
    own=re.compile(r"charades_sta_\w+\.txt"),
    parse_line=parse_line,
)


def charades(
    root: str | Path,
    *,
    split: Literal["test", "train"] = "test",
    subtitles: bool = True,
    rows: Iterable[Mapping[str, Any]] | None = None,
) -> Benchmark:
    """Load Charades-STA from a folder.

    A question asks for the one interval that a sentence describes; its id is the split and the
    number of the sentence, from 0. The facts of a case are `sentence`, `oddity` (what is odd about
    the interval: reversed, empty, before the start) and `subtitles` (False: there are none). The
    ends of a reversed interval are put in order; no question is left out. Videos without a file are
    listed in `missing` and reported in a warning.

    Args:
        root: Folder with `charades_sta_test.txt` (or train) and `Charades_v1_480/` or `videos/`.
        split: "test" or "train".
        subtitles: Accepted as for every dataset; this one has no subtitles.
        rows: Rows with the fields `vid`, `start`, `end` (seconds) and `sentence`, used instead of
            the folder's file.

    Raises:
        InputError: The folder has another layout, or a line is invalid (the message names its file
            and number).

    Examples:
        >>> bench = ak.benchmarks.charades("data/charades")
        >>> bench.cases[0].question.text
        'When does the video show this: “person turn a light on.”'
    """
    loading = Loading(CHARADES_LAYOUT, root, given=rows, wants_lines=subtitles, split=split)
    for number, (location, row) in enumerate(loading.rows()):
        published = (row.start, row.end)
        (span,) = in_order([published])
        loading.add(
            location,
            video=[row.vid],
            text=when_shown(row.sentence),
            id=f"{split}-{number}",
            facts={"sentence": row.sentence, "oddity": oddity([published])},
            kind="when",
            answer=span,
            positions_s=(span,),
        )
    return loading.benchmark()


FILES = {"mini": "cgbench_mini.json", "full": "cgbench.json"}
"""Files of CG-Bench, by split."""
NAMES = {"mini": "CG-Bench mini", "full": "CG-Bench"}
"""Names of CG-Bench, by split."""
TASKS = ("choice", "clues", "both")


class CGBenchRow(Row):
    """One question as published: `answer` is the text of the choice whose letter is `right_answer`.

    The video's id, the question and its choices are required; other fields may be absent.
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
                f"right_answer must be the letter of one of {len(self.choices)} choices; got "
                f"{self.right_answer!r:.40}"
            )
        return self

    @property
    def answer_index(self) -> int | None:
        """Index of the right choice, by its letter or else its text; None if it is not known."""
        match = LETTER.fullmatch((self.right_answer or "").strip())
        if match is not None:
            index = ord(match[1].upper()) - ord("A")
            return index if index < len(self.choices) else None
        if self.answer in self.choices:
            return self.choices.index(self.answer)
        return None

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


def _cgbench_files(home: Path, split: str) -> list[Path]:
    return existing(home, FILES[split])


CGBENCH_LAYOUT = Layout(
    "CG-Bench",
    CGBenchRow,
    ("cg_videos_720p", "cg_videos", "videos"),
    ("cg_subtitles",),
    files=_cgbench_files,
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
            `cg_subtitles/`, which has no file for some videos.
        split: "mini" (3,000 questions) or "full".
        task: "choice" asks the question with its choices. "clues" asks when the video shows what
            answers the question: one or more intervals. "both" asks each question in both forms,
            which the metric acc.@IoU needs.
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
    loading = Loading(CGBENCH_LAYOUT, root, given=rows, wants_lines=subtitles, split=split)
    for number, (location, row) in enumerate(loading.rows()):
        qid = row.qid or f"{row.video_uid}-{number}"
        for of_task, fields in _questions(row, qid).items():
            if task in (of_task, "both"):
                loading.add(
                    location, video=[row.video_uid], facts=row.facts(qid, of_task), **fields
                )
    return loading.benchmark(NAMES[split])


def _questions(row: CGBenchRow, qid: str) -> dict[str, dict[str, Any]]:
    """Return the fields of a row's questions, by task."""
    spans = in_order(row.clue_intervals)
    shared = {"category": row.sub_category, "positions_s": spans}
    when = {"kind": "when", "several": True, "answer": spans or None}
    return {
        "choice": {
            "text": row.question,
            "choices": row.choices,
            "id": qid,
            "answer": row.answer_index,
            **shared,
        },
        "clues": {"text": _clue_text(row), "choices": (), "id": f"{qid}-clues", **when, **shared},
    }


def _clue_text(row: CGBenchRow) -> str:
    """Return the question that asks for a row's clues, which must decide between the choices."""
    choices = "\n".join(f"- {choice}" for choice in row.choices)
    return (
        f"When does the video show what settles this question: {row.question}\nIts possible "
        f"answers:\n{choices}"
    )
