"""`export` (`ak.export`): write results, rows of an evaluation and passages to one file.

A passage is a stretch of a video with its text; everything is exported as passages.
`Result.passages` turns a result into passages, `passages_of_rows` the rows of an evaluation.
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
from atlaskit.environment.question import Question, Spans, as_answered, spans_in_words, spans_of
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

    The ending of the file's name determines the format: `.csv`, `.tsv`, `.json`, `.vtt`, `.edl`
    (CMX 3600), `.otio` (OpenTimelineIO), `.llc` (LosslessCut), `.eaf` (ELAN), `.boris`,
    `.label-studio.json`, `observations.csv` (Camtrap-DP). `ak.read_passages` reads all of them.

    Args:
        what: A result, passages (such as the explorer's `notes`), a table that `ak.evaluate`
            returned, or a list of any of these. They may be about many videos, unless the format is
            WebVTT, LosslessCut or ELAN, whose files are about one video.
        path: The file; it appears only once it is complete.
        videos: The videos of rows or passages, for the formats that count frames or name files. A
            result has its own video. If there is one video only, passages that name none are about
            it.
        form: The name of the format, if the name of the file should not determine it: csv, tsv,
            json, vtt, edl, otio, losslesscut, elan, boris, label-studio or camtrap-dp.
        recorded_at: When the recording of the video began, with its time zone, or a mapping from
            names of videos to such times; only Camtrap-DP has dates.
        clips: A folder for a clip of each passage with its sound (MP4, at most two minutes around
            the middle of the passage); it is created if it is missing.
        cache: Where clips are cached; by default the cache of the video.

    Raises:
        InputError: There is nothing to export, the format cannot hold it, the file cannot be
            written, or a video is needed and not given.

    Examples:
        >>> ak.export([result], "found.edl")
        >>> ak.export(rows, "found.json")
    """
    if isinstance(videos, Video):
        videos = [videos]
    by_name = {one_line(video.name): video for video in videos}
    passages = list[Passage]()
    for item in _flattened(what):
        if isinstance(item, Result):
            video = item.sheet.video
            by_name.setdefault(one_line(video.name), video)
            passages += item.passages
        elif isinstance(item, Passage):
            passages.append(item)
        else:
            passages += passages_of_rows(item, by_name)
    if len(by_name) == 1:
        (only,) = by_name
        passages = [replace(each, video=each.video or only) for each in passages]
    passages, by_name = of_films(passages, by_name)
    formats.write(passages, path, videos=by_name, form=form, recorded_at=recorded_at)
    if clips is not None:
        write_clips(passages, clips, by_name, cache)


def _flattened(what: Any) -> Iterator[Any]:
    """Yield the results, passages and tables in a value to export."""
    # This test for a table does not import pandas.
    is_table = hasattr(what, "to_dict") and hasattr(what, "columns")
    if is_table or isinstance(what, Result | Passage):
        yield what
        return
    if isinstance(what, str | bytes | Mapping) or not isinstance(what, Iterable):
        raise InputError(
            f"Export a Result, passages, rows of ak.evaluate, or a list of them; got {what!r:.80}."
        )
    for item in what:
        yield from _flattened(item)


def passages_of_rows(
    rows: pd.DataFrame, videos: Mapping[str, Video] | None = None
) -> list[Passage]:
    """Return the answers and truths in rows of `ak.evaluate` as passages.

    The evidence is added where the evaluation saved the run (`traces=`). The intervals of an
    answer or a truth are passages; one in words is a passage over the whole video, or at second 0
    if the video is not given.

    Args:
        rows: The table.
        videos: The videos of the rows, by name.

    Raises:
        InputError: The table lacks columns that tables of `ak.evaluate` have.
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
    """Yield the passages of one row: its answer, the truth, then the evidence of its run."""
    about: dict[str, Any] = {"question": str(row["question"]), "video": str(row["video"])}
    end_s = 0.0
    if video is not None:
        about["fps"] = video.fps
        end_s = video.duration_s
    method = str(row.get("method") or "")
    spans: dict[str, Spans] = {"answer": spans_of(row["prediction"]), "truth": ()}
    if row.get("kind") == "when":
        spans["truth"] = spans_in_words(str(row.get("truth")))
    for kind, spans_s in spans.items():
        words = row.get(kind)
        for span_s in spans_s:
            yield Passage(*span_s, about["question"], as_kind(kind), label=method, **about)
        if isinstance(words, str) and words and not spans_s:
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
        video: The video of the result. Without it, the passages name no video, and an answer in
            words lies at second 0.

    Raises:
        InputError: The file cannot be read, or its result is damaged.
    """
    try:
        saved = read_json(read_whole(os.fspath(path)))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {reason(error)}.") from error
    except ValueError:  # not JSON, so a file of another format
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
