"""`export` (`ak.export`): results, rows of an evaluation and passages, many of them, in one file.

A row gives an answer and, if the evaluation saved the runs (`traces=`), its evidence.
`Result.passages` turns a result into passages.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from atlaskit.caching.cache import Cache
from atlaskit.caching.files import read_whole
from atlaskit.caching.keys import read_json
from atlaskit.environment.question import Question, as_answered, spans_of
from atlaskit.errors import InputError, reason
from atlaskit.runs.exporting import formats
from atlaskit.runs.exporting.clips import write_clips
from atlaskit.runs.exporting.passages import Passage, as_kind, of_films, one_line
from atlaskit.runs.replay import memory
from atlaskit.runs.result import Result, evidence_passages, trace_of
from atlaskit.video.video import Video

if TYPE_CHECKING:
    import pandas as pd

Exported: TypeAlias = "Result | Passage | pd.DataFrame | Iterable[Result | Passage | pd.DataFrame]"
"""The values that can be exported: results, passages, tables of `evaluate`, or several of these."""


def export(
    what: Exported,
    path: str | os.PathLike[str],
    *,
    videos: Video | Iterable[Video] = (),
    form: str | None = None,
    recorded_at: formats.RecordedAt | None = None,
    clips: str | os.PathLike[str] | None = None,
    cache: Cache | None = None,
) -> None:
    """Write answers, evidence, truths and notes to a file that other programs open.

    The ending of the file's name determines the format: `.csv`, `.json`, `.vtt`, `.edl` (CMX 3600),
    `.otio` (OpenTimelineIO), `.llc` (LosslessCut), `.eaf` (ELAN), `.boris`, `.label-studio.json`,
    `observations.csv` (Camtrap-DP). `ak.read_passages` reads all of them.

    Args:
        what: A result, passages (as the explorer's `notes`), a table that `ak.evaluate` returned,
            or a list of any of these. Many questions and videos go into one file where the format
            is not about one video, as WebVTT, LosslessCut and ELAN are.
        path: The file; it appears only once it is complete.
        videos: The videos of rows or passages, for the formats that count frames or name files. A
            result brings its own; a passage without a name is about the only one.
        form: The name of the format, whatever the file is called: csv, json, vtt, edl, otio,
            losslesscut, elan, boris, label-studio or camtrap-dp.
        recorded_at: When the recording of the video began, with its time zone, or of each by name;
            only Camtrap-DP has dates.
        clips: A folder in which to cut each stretch as a film with its sound (MP4, at most two
            minutes around its middle); it is created.
        cache: Where clips are cached; by default that of the video.

    Raises:
        InputError: There is nothing to export, the format cannot hold it, the file cannot be
            written, or a video is needed and not given.

    Examples:
        >>> ak.export([result], "found.edl")
        >>> ak.export(rows, "found.json")
    """
    if isinstance(videos, Video):
        videos = [videos]
    known = {one_line(video.name): video for video in videos}
    passages = list[Passage]()
    for each in _each(what):
        if isinstance(each, Result):
            known.setdefault(one_line(each.sheet.video.name), each.sheet.video)
            passages += each.passages
        elif isinstance(each, Passage):
            passages.append(each)
        else:
            passages += passages_of_rows(each, known)
    if len(known) == 1:  # a passage without a name belongs to the only video
        (only,) = known
        passages = [replace(each, video=each.video or only) for each in passages]
    passages, known = of_films(passages, known)
    formats.write(passages, path, videos=known, form=form, recorded_at=recorded_at)
    if clips is not None:
        write_clips(passages, clips, known, cache)


def _each(what: Any) -> Iterator[Any]:
    """Yield the results, the passages and the tables of rows in a value to export."""
    # This check does not import pandas.
    is_table = hasattr(what, "to_dict") and hasattr(what, "columns")
    if is_table or isinstance(what, Result | Passage):
        yield what
        return
    if isinstance(what, str | bytes | Mapping) or not isinstance(what, Iterable):
        raise InputError(
            f"Export a Result, passages, rows of ak.evaluate, or a list of them; got {what!r:.80}."
        )
    for each in what:
        yield from _each(each)


def passages_of_rows(
    rows: pd.DataFrame, videos: Mapping[str, Video] | None = None
) -> list[Passage]:
    """Return the answers in rows of `evaluate` as passages, with evidence where a run was saved.

    An answer in words is about all of the video, and lies at second 0 if that is not known.

    Raises:
        InputError: The table is none of `evaluate`.
    """
    if not {"video", "question", "prediction"} <= set(rows.columns):
        raise InputError(
            "Rows to export come from ak.evaluate: they have the columns video, question and "
            "prediction."
        )
    passages = list[Passage]()
    for row in rows.to_dict("records"):
        passages += _of_row(row, (videos or {}).get(one_line(str(row["video"]))))
    return passages


def _of_row(row: Mapping[str, Any], video: Video | None) -> Iterator[Passage]:
    """Yield the passages of one row: its answer, then the evidence of its run."""
    about: dict[str, Any] = {"question": str(row["question"]), "video": str(row["video"])}
    end_s = 0.0
    if video is not None:
        about["fps"] = video.fps
        end_s = video.duration_s
    method = str(row.get("method") or "")
    spans = spans_of(row["prediction"])
    for span_s in spans:
        yield Passage(*span_s, about["question"], kind="answer", label=method, **about)
    for kind in ("answer", "truth"):
        words = row.get(kind)
        if isinstance(words, str) and words and not (spans and kind == "answer"):
            yield Passage(0.0, end_s, words, as_kind(kind), label=method, is_whole=True, **about)
    trace = row.get("trace")
    if isinstance(trace, str) and trace and Path(trace).exists():
        yield from evidence_passages(memory(trace_of(trace)).scratchpad, about)


def saved_passages(
    path: str | os.PathLike[str], video: Video | None = None
) -> list[Passage] | None:
    """Return the passages of a result that `Result.save` wrote; None if the file holds none.

    Args:
        path: The file.
        video: The video of the result. Without it, the passages name none, and an answer in words
            lies at second 0.

    Raises:
        InputError: The file cannot be read, or its result is damaged.
    """
    try:
        saved = read_json(read_whole(os.fspath(path)))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {reason(error)}.") from error
    except ValueError:  # another format
        return None
    if not isinstance(saved, dict) or "atlaskit_result" not in saved:
        return None
    evidence = memory(trace_of(Path(path))).scratchpad
    question = Question.from_json(saved.get("question") or {})
    about: dict[str, Any] = {"question": question.text}
    if video is not None:
        about |= {"video": video.name, "fps": video.fps}
    answer = saved.get("answer")
    prediction = as_answered(saved.get("prediction"))
    found = [Passage(*span_s, question.text, "answer", **about) for span_s in spans_of(prediction)]
    if not found and isinstance(answer, str):
        end_s = 0.0 if video is None else video.duration_s
        found.append(Passage(0.0, end_s, answer, "answer", is_whole=True, **about))
    found += evidence_passages(evidence, about)
    return found + [
        Passage(*span_s, question.text, "truth", **about) for span_s in question.evidence_s
    ]
