"""A run to be walked through: what of it is needed, whether it is at hand as a result, as a trace, or as a file.

A file may come from a stranger. Its trace tells the question, the answer and the evidence; where the video is not at
hand, its length is that of the grids which the trace names.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atlaskit.caching.cache import Cache, cache_in_use
from atlaskit.environment.memory import Evidence
from atlaskit.environment.question import Answered, Question
from atlaskit.errors import InputError
from atlaskit.runs import replay
from atlaskit.runs.events import Event, EventData, ReportData, StartData, StepData, data_of
from atlaskit.runs.result import Result, trace_of
from atlaskit.runs.trace import Trace
from atlaskit.video.video import Video
from atlaskit.viz.html.markup import told


@dataclass(frozen=True)
class RunSource:
    """One run, and where its pictures can be had from."""

    thing: Result | Trace
    """As it is at hand, for what shows it as a whole."""
    trace: Trace
    question: Question | None
    """None for a trace that does not begin with one."""
    answer: str | None
    """In words; None if there is none."""
    is_right: bool | None
    """None where the truth is not known."""
    stop: str
    evidence: tuple[Evidence, ...]
    k: int | None
    """Of its grids, K×K cells; None for a run without."""
    duration_s: float | None
    """Of the video; None where nothing tells it."""
    video: Video | None
    """None where it is not at hand."""
    cache: Cache


def opened(run: object, video: Video | None = None, cache: Cache | None = None) -> RunSource:
    """Return a run that is given as its `Result`, its `Trace`, or the path of a file that one of them was saved to.

    `video` and `cache` are what its pictures are drawn from and kept in; a result has its own, and elsewhere the cache
    that was opened last is meant. Raises InputError with one sentence for a file that holds no run, and for anything
    else.
    """
    if isinstance(run, Result):
        return _of_result(run, video, cache)
    if not isinstance(run, Trace | str | Path):
        raise InputError(
            f"A run is a Result, a Trace, or the path of a file that one of them was saved to; got a "
            f"{type(run).__name__}."
        )
    trace = trace_of(run)
    start = start_of(trace)
    question = None if start is None else _question(start)
    prediction = _prediction(question, trace)
    k = start.settings.get("k") if start is not None else None
    size = k if type(k) is int and k > 1 else None
    is_right = None if question is None or question.answer is None else question.is_right(prediction)
    stops = trace.of("stop")
    return RunSource(
        thing=trace,
        trace=trace,
        question=question,
        answer=None if question is None or prediction is None else question.in_words(prediction),
        is_right=is_right,
        stop=told((stops[-1].data or {}).get("stop", "") if stops else "", 80),
        evidence=_evidence(trace),
        k=size,
        duration_s=_duration_s(trace, size) if video is None else video.duration_s,
        video=video,
        cache=cache or cache_in_use(),
    )


def _of_result(result: Result, video: Video | None, cache: Cache | None) -> RunSource:
    video = video or result.sheet.video
    k = result.settings.get("k")
    return RunSource(
        thing=result,
        trace=result.trace,
        question=result.question,
        answer=result.answer,
        is_right=result.is_right,
        stop=result.stop,
        evidence=tuple(result.evidence),
        k=k if type(k) is int and k > 1 else None,
        duration_s=video.duration_s,
        video=video,
        cache=cache or result.sheet.cache,
    )


def start_of(trace: Trace) -> StartData | None:
    """Return how a run began, None for a trace that does not tell."""
    return next((form for form in map(form_in, trace.of("start")) if isinstance(form, StartData)), None)


def form_in(event: Event) -> EventData | None:
    """Return what an event holds, None if it is not in the form of its kind."""
    try:
        return data_of(event)
    except InputError:
        return None


def _question(start: StartData) -> Question | None:
    try:
        return Question.from_json(start.question)
    except InputError:
        return None


def _prediction(question: Question | None, trace: Trace) -> Answered | None:
    """Return what the last decision of a trace answers, None if that is no answer to its question."""
    decisions = trace.of("decision")
    answer: Any = (decisions[-1].data or {}).get("answer") if decisions else None
    if question is None or not isinstance(answer, dict):
        return None
    try:
        if question.kind == "when":
            given: Any = (min(answer["start_s"], answer["end_s"]), max(answer["start_s"], answer["end_s"]))
        else:
            given = answer["answer"].strip() if isinstance(answer["answer"], str) else answer["answer"]
        Question(question.text, question.choices, question.kind, given)  # is it an answer to that?
    except (KeyError, TypeError, InputError):
        return None
    return given  # type: ignore[no-any-return]


def _evidence(trace: Trace) -> tuple[Evidence, ...]:
    try:
        return tuple(replay.memory(trace).scratchpad)
    except InputError:  # the trace contradicts itself: each step still says what it says
        return ()


def _duration_s(trace: Trace, k: int | None) -> float | None:
    """Return a video's length: that of a region at a depth, as often as there are such regions."""
    if k is None:
        return None
    for form in map(form_in, trace):
        if isinstance(form, StepData | ReportData):
            path = form.view.path if isinstance(form, StepData) else form.path
            length_s = form.interval_s[1] - form.interval_s[0]
            if length_s > 0 and len(path) < 32:
                return round(length_s * float(k ** (2 * len(path))), 6)
    return None
