"""`RunSource`: a run read from a result, a trace or a file of either, without trusting it.

A file may come from elsewhere. The question, the answer and the evidence are read from its trace.
Without the video, the length of the root grid follows from the regions that the trace names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from atlaskit.caching.cache import Cache, default_cache
from atlaskit.environment.memory import Scratchpad
from atlaskit.environment.question import ABSENT, Answered, Question, Span
from atlaskit.environment.scoring import merged
from atlaskit.errors import InputError
from atlaskit.runs import replay
from atlaskit.runs.coverage import Coverage, coverage_of, recorded_edges
from atlaskit.runs.events import Decision, Plan, Report, Start, Step, Stop
from atlaskit.runs.result import Result, in_words, searched_interval, trace_of, verdict
from atlaskit.runs.trace import Trace
from atlaskit.video.opening import as_video
from atlaskit.video.playlist import AnyVideo
from atlaskit.video.video import Video
from atlaskit.viz.html.markup import plain_text

MAX_K = 256
"""The most cells per side of a grid in a run that is shown, since a trace may name any number."""


@dataclass(frozen=True)
class RunSource:
    """One run, with the video and the cache that its images come from.

    All properties are derived from the trace, also those of a result, and from the video if given.
    """

    record: Result | Trace
    """The run as it was given, for a display of the whole."""
    trace: Trace
    video: Video | None
    """None if the video was not given."""
    cache: Cache

    # These are cached, since each is used at every step, and most read the whole trace.

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """The settings that the trace begins with; none for a trace without a start."""
        starts = self.trace.of(Start)
        if not starts:
            return {}
        return starts[0].settings

    @cached_property
    def question(self) -> Question | None:
        """The question; None if the trace does not begin with a valid one."""
        try:
            return Question.from_json(self.trace.of(Start)[0].question)
        except (IndexError, InputError):
            return None

    @cached_property
    def prediction(self) -> Answered | None:
        """The prediction of the last decision; None if it is no answer to the question."""
        return _prediction(self.question, self.trace)

    @property
    def answer(self) -> str | None:
        """The answer in words; None if there is none."""
        if self.question is None:
            return None
        return in_words(self.question, self.prediction, self.video) or None

    @property
    def truth(self) -> str:
        """The true answer in words; empty if it is unknown."""
        if self.question is None:
            return ""
        return in_words(self.question, self.question.answer, self.video)

    @property
    def is_right(self) -> bool | None:
        """Whether the answer is right; None if the true answer is unknown."""
        if self.question is None or self.question.answer is None:
            return None
        return self.question.is_right(self.prediction)

    @property
    def answer_line(self) -> str:
        """The answer in words, whether it is right, and what stopped the run."""
        stop = ""
        if self.stop:
            stop = f"; stopped by: {self.stop}"
        if self.answer is None and self.truth:
            return f"No answer (truth: {self.truth}){stop}."
        if self.answer is None:
            return f"No answer{stop}."
        judged = verdict(self.is_right, self.truth, has_evidence=bool(self.evidence))
        return f"Answer: {self.answer}{judged}{stop}"

    @cached_property
    def stop(self) -> str:
        """What stopped the run; empty if the trace does not say."""
        stops = self.trace.of(Stop)
        if not stops:
            return ""
        return plain_text(stops[-1].stop, 80)

    @cached_property
    def memory(self) -> replay.Memory:
        """Evidence and dead zones at the end; empty for a trace that contradicts itself."""
        try:
            return replay.memory(self.trace)
        except InputError:
            return replay.Memory()

    @property
    def evidence(self) -> Scratchpad:
        """The evidence at the end."""
        return self.memory.scratchpad

    @cached_property
    def k(self) -> int | None:
        """Cells per side of a grid; None for a run without grids."""
        k = self.settings.get("k")
        if type(k) is int and 1 < k <= MAX_K:
            return k
        return None

    @cached_property
    def within(self) -> Span | None:
        """The interval of the root grid in seconds; None if it is unknown."""
        if self.video is not None:
            return searched_interval(self.settings, self.video.duration_s)
        edges_s = self.edges_s
        if edges_s and 0 <= edges_s[0] < edges_s[-1]:  # a trace from elsewhere may hold any numbers
            return edges_s[0], edges_s[-1]
        span_s = _root_span_s(self.trace, self.k)
        if span_s is None:
            return None
        return searched_interval(self.settings, span_s)

    @cached_property
    def coverage(self) -> Coverage | None:
        """How finely each part was seen; None if the searched interval is unknown."""
        if self.within is None:
            return None
        return coverage_of(self.trace, self.within, dict(self.settings))

    @property
    def edges_s(self) -> tuple[float, ...]:
        """The boundaries of the root grid's cells; empty if the cells are equally long."""
        return recorded_edges(self.settings)

    @property
    def scope(self) -> str:
        """What the root grid spans, in words."""
        if "within" in self.settings:
            return "searched part"
        return "video"


def open_run(run: object, video: AnyVideo | None = None, cache: Cache | None = None) -> RunSource:
    """Return a run given as a `Result`, a `Trace`, or the path of a file with one of them.

    Args:
        run: The run.
        video: The video (or its file) from which images are drawn; None for the result's video.
        cache: The cache that images are read from and written to; None for the cache of the result,
            else that of the video, else the default cache.

    Raises:
        InputError: `run` is of another type, or the file holds no run.
    """
    if video is not None:
        video = as_video(video, cache)
    if isinstance(run, Result):
        return RunSource(run, run.trace, video or run.sheet.video, cache or run.sheet.cache)
    if not isinstance(run, Trace | str | Path):
        raise InputError(
            "A run must be a Result, a Trace, or the path of a file that one was saved to; got "
            f"{type(run).__name__}."
        )
    trace = trace_of(run)
    if cache is None:
        cache = default_cache() if video is None else video.cache
    return RunSource(trace, trace, video, cache)


def _prediction(question: Question | None, trace: Trace) -> Answered | None:
    """Return the prediction of a trace's last decision; None if it is no answer to the question."""
    decisions = trace.of(Decision)
    if question is None or not decisions:
        return None
    answer = decisions[-1].answer
    if answer.get("absent") is True:
        return ABSENT
    try:
        if question.kind == "when":
            intervals = answer["intervals"] if question.several else [answer]
            spans = merged(map(_span, intervals))
            prediction: Any = spans if question.several else spans[0]
        else:
            prediction = answer["answer"]
            if isinstance(prediction, str):
                prediction = prediction.strip()
        # `Question` raises an error for a prediction of another kind than its own.
        Question(question.text, question.choices, question.kind, prediction)
    except (KeyError, TypeError, IndexError, InputError):
        return None
    return prediction  # type: ignore[no-any-return]


def _span(interval: Mapping[str, float]) -> Span:
    """Return the interval of a decision, its earlier end first."""
    times_s = (interval["start_s"], interval["end_s"])
    return min(times_s), max(times_s)


def _root_span_s(trace: Trace, k: int | None) -> float | None:
    """Return the length of the root grid in seconds; None if the trace does not give it.

    The interval and the depth of any region determine it, since all cells are equally long: a run
    on a collection, where they are not, records its cells (`edges_s`).
    """
    if k is None:
        return None
    for event in trace:
        if isinstance(event, Plan):
            return round(event.interval_s[1] - event.interval_s[0], 6)
        if isinstance(event, Step | Report):
            path = event.view.path if isinstance(event, Step) else event.path
            length_s = event.interval_s[1] - event.interval_s[0]
            if length_s > 0 and len(path) < 32:  # a greater depth may exceed the range of floats
                return round(length_s * float(k ** (2 * len(path))), 6)
    return None
