"""`RunSource`: a run read from a result, a trace or a file of either, without trusting it.

A file may come from elsewhere. Its trace tells the question, the answer and the evidence; without
the video, its duration follows from the grids that the trace names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from atlaskit.caching.cache import Cache, cache_in_use
from atlaskit.environment.memory import Evidence
from atlaskit.environment.question import Answered, Question, Span
from atlaskit.environment.scoring import merged
from atlaskit.errors import InputError
from atlaskit.runs import replay
from atlaskit.runs.events import Decision, Report, Start, Step, Stop
from atlaskit.runs.result import Result, in_words, searched, trace_of
from atlaskit.runs.trace import Trace
from atlaskit.video.opening import as_video
from atlaskit.video.playlist import AnyVideo
from atlaskit.video.video import Video
from atlaskit.viz.html.markup import plain_text


@dataclass(frozen=True)
class RunSource:
    """One run, and the video and cache that its images come from."""

    record: Result | Trace
    """The run as it was given, for a display of the whole."""
    trace: Trace
    question: Question | None
    """None for a trace that does not begin with a valid one."""
    answer: str | None
    """The answer in words; None if there is none."""
    truth: str
    """The true answer in words; empty where it is not known."""
    is_right: bool | None
    """None where the correct answer is not known."""
    stop: str
    """What stopped the run; empty if the trace does not tell."""
    evidence: tuple[Evidence, ...]
    k: int | None
    """Cells per side of a grid; None for a run without grids."""
    within: Span | None
    """The interval that the root grid spans, in seconds; None if the trace does not tell."""
    video: Video | None
    """None if the video was not given."""
    cache: Cache

    @cached_property  # read once for each step, and `of` goes through the whole trace
    def scope(self) -> str:
        """What the root grid spans, in words."""
        start = start_of(self.trace)
        return "searched part" if start is not None and "within" in start.settings else "video"


def open_run(run: object, video: AnyVideo | None = None, cache: Cache | None = None) -> RunSource:
    """Return a run given as a `Result`, a `Trace`, or the path of a file that one was saved to.

    Args:
        run: The run.
        video: The video (or its file) that images are drawn from; None takes that of a result.
        cache: The cache that images are read from and written to; None takes that of a result, and
            otherwise the cache that was opened last.

    Raises:
        InputError: `run` is of another type, or the file holds no run.
    """
    video = None if video is None else as_video(video, cache)
    if isinstance(run, Result):
        return _from_result(run, video, cache)
    if not isinstance(run, Trace | str | Path):
        raise InputError(
            f"A run must be a Result, a Trace, or the path of a file that one was saved to; got {type(run).__name__}."
        )
    return _from_trace(trace_of(run), video, cache)


def _from_result(result: Result, video: Video | None, cache: Cache | None) -> RunSource:
    video = video or result.sheet.video
    return RunSource(
        record=result,
        trace=result.trace,
        question=result.question,
        answer=result.answer_in_words or None,
        truth=result.truth_in_words,
        is_right=result.is_right,
        stop=result.stop,
        evidence=tuple(result.evidence),
        k=_grid_side(result.settings.get("k")),
        within=result.within,
        video=video,
        cache=cache or result.sheet.cache,
    )


def _from_trace(trace: Trace, video: Video | None, cache: Cache | None) -> RunSource:
    start = start_of(trace)
    question = None if start is None else _question(start)
    prediction = _prediction(question, trace)
    settings = {} if start is None else start.settings
    k = _grid_side(settings.get("k"))
    stops = trace.of(Stop)
    return RunSource(
        record=trace,
        trace=trace,
        question=question,
        answer=None if question is None else in_words(question, prediction) or None,
        truth="" if question is None else in_words(question, question.answer),
        is_right=None if question is None or question.answer is None else question.is_right(prediction),
        stop=plain_text(stops[-1].stop if stops else "", 80),
        evidence=_evidence(trace),
        k=k,
        within=_within(trace, settings, k, video),
        video=video,
        cache=cache or cache_in_use(),
    )


def start_of(trace: Trace) -> Start | None:
    """Return a run's first event; None for a trace without one."""
    return next(iter(trace.of(Start)), None)


def _grid_side(k: object) -> int | None:
    return k if type(k) is int and k > 1 else None


def _question(start: Start) -> Question | None:
    try:
        return Question.from_json(start.question)
    except InputError:
        return None


def _prediction(question: Question | None, trace: Trace) -> Answered | None:
    """Return the prediction of a trace's last decision; None if it is no answer to the question."""
    decisions = trace.of(Decision)
    if question is None or not decisions:
        return None
    answer = decisions[-1].answer
    try:
        if question.kind == "when":
            spans = merged(map(_span, answer["intervals"] if question.several else [answer]))
            prediction: Any = spans if question.several else spans[0]
        else:
            prediction = answer["answer"].strip() if isinstance(answer["answer"], str) else answer["answer"]
        Question(question.text, question.choices, question.kind, prediction)  # raises for an answer of another kind
    except (KeyError, TypeError, IndexError, InputError):
        return None
    return prediction  # type: ignore[no-any-return]


def _span(interval: Mapping[str, float]) -> Span:
    """Return the interval of a decision, its earlier end first."""
    return min(interval["start_s"], interval["end_s"]), max(interval["start_s"], interval["end_s"])


def _evidence(trace: Trace) -> tuple[Evidence, ...]:
    """Return the evidence at the end of a trace; none for one that contradicts itself."""
    try:
        return tuple(replay.memory(trace).scratchpad)
    except InputError:
        return ()


def _within(trace: Trace, settings: Mapping[str, Any], k: int | None, video: Video | None) -> Span | None:
    """Return the interval of the root grid; None if neither settings, video nor regions tell it."""
    if video is not None:
        return searched(settings, video.duration_s)
    length_s = _root_span_s(trace, k)
    return None if length_s is None else searched(settings, length_s)


def _root_span_s(trace: Trace, k: int | None) -> float | None:
    """Return the span of the root grid, which the interval and depth of any region determine."""
    if k is None:
        return None
    for event in trace:
        if isinstance(event, Step | Report):
            path = event.view.path if isinstance(event, Step) else event.path
            length_s = event.interval_s[1] - event.interval_s[0]
            if length_s > 0 and len(path) < 32:
                return round(length_s * float(k ** (2 * len(path))), 6)
    return None
