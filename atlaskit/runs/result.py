"""`Result`: answer, prediction, evidence, usage, stops, trace; its text and JSON forms.

All displays put answers and truths into words by `in_words` and `verdict`, so that they agree.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from atlaskit.caching.cache import Cache
from atlaskit.caching.files import read_whole, write_whole
from atlaskit.caching.keys import canonical_json
from atlaskit.environment.grid import interval
from atlaskit.environment.memory import DeadZones, Evidence, Scratchpad, label_of
from atlaskit.environment.places import Place, interval_in_words, moment_in_words, places_of
from atlaskit.environment.question import ABSENT, Answered, Question, Span, Spans, spans_of
from atlaskit.environment.render import Sheet
from atlaskit.errors import InputError, printable, reason
from atlaskit.models.cached import Call
from atlaskit.models.protocol import Role, Usage
from atlaskit.runs.coverage import Coverage, coverage_of
from atlaskit.runs.events import Report
from atlaskit.runs.exporting.clips import write_clips
from atlaskit.runs.exporting.formats import RecordedAt, write
from atlaskit.runs.exporting.passages import Passage, of_films, one_line
from atlaskit.runs.trace import Trace, parse_line
from atlaskit.video.video import Video

RESULT_VERSION = 4

MASTER_STOPS = ("sufficient", "depth")
"""Values of `Result.stop` if the master stopped the run: see `Stops.master`."""
WORKER_STOPS = ("explored",)
"""Values of `Result.stop` if the workers had nothing left to explore; all others are limits."""

WITHOUT_EVIDENCE = "(!) without evidence"
"""The mark of an answer that no frame supports; in ASCII, which every terminal and font has."""
UNSUPPORTED = "none: the answer names no frame that supports it"


def why_unsupported(method: object) -> str:
    """Return why an answer has no evidence, by its method's name, which is None if not known."""
    # These methods ask for frames that support the answer. A method that is not known may too.
    if method in (None, "video-rlm", "composite"):
        return UNSUPPORTED
    return f"none: {printable(str(method), 60)} answers without naming a frame that supports it"


def searched_interval(settings: Mapping[str, Any], duration_s: float) -> Span:
    """Return the interval that a run with these settings searched in a video of this duration."""
    match settings.get("within"):
        case [int() | float() as start_s, int() | float() as end_s] if (
            0 <= start_s < end_s < math.inf
        ):
            return float(start_s), float(end_s)
    return 0.0, duration_s


def in_words(question: Question, answered: Answered | None, video: Video | None = None) -> str:
    """Return an answer or a truth as every display words it; empty for None.

    A choice has its letter, "B: the red car". Intervals are clock times, "8:08.7–8:16.5", with the
    name of the film if `video` is a collection. Other answers are worded by
    `Question.in_words`.
    """
    if answered is None:
        return ""
    spans = spans_of(answered)
    if spans and video is not None:
        return ", ".join(interval_in_words(video, *span) for span in spans)
    if spans:
        return ", ".join(interval(*span) for span in spans)
    words = question.in_words(answered)
    if question.kind == "choice" and isinstance(answered, int):
        return f"{label_of(answered)}: {words}"
    return words


def choices_in_words(question: Question) -> str:
    """Return the choices in one line, "A: the blue car | B: the red car"; empty without choices."""
    return " | ".join(in_words(question, index) for index in range(len(question.choices)))


def verdict(is_right: bool | None, truth: str = "", *, has_evidence: bool = True) -> str:
    """Return the remark after an answer: right or wrong, the truth, missing evidence.

    Args:
        is_right: Whether the answer is right; None if the truth is not known.
        truth: The truth in words, which is added to a wrong answer.
        has_evidence: Whether a frame supports the answer; if none does, the answer is marked.
    """
    remark = ""
    if is_right is not None:
        remark = ", which is right" if is_right else ", which is wrong"
    if truth and is_right is False:
        remark += f" (truth: {truth})"
    if not has_evidence:
        remark += f" {WITHOUT_EVIDENCE}"
    return remark


@dataclass(frozen=True)
class Spent:
    """The cost of this execution. A replay from a full cache makes no calls and decodes nothing."""

    calls: int = 0
    tokens: int = 0
    frames_decoded: int = 0
    seconds: float = 0.0
    decoding_s: float = 0.0
    """Seconds of decoding, summed over threads."""


@dataclass(frozen=True)
class Stops:
    """The reasons for which a run stopped, by the paper's three levels (§3.2)."""

    worker: dict[str, int]
    """Number of visits by the reason they ended: finished, plateau, steps, budget, failed."""
    master: str | None
    """"sufficient", or "depth" if no cell of the root grid may be expanded; None if the master did
    not stop the run."""
    overall: str | None
    """The limit that was reached: rounds, calls, tokens, effective_tokens, usd, seconds; "model" if
    the model failed; None if no limit stopped the run. In JSON it is "global"."""


@dataclass(frozen=True)
class Result:
    """The result of `ask` or of another method for one question.

    Examples:
        >>> result.answer, result.is_right
        ('a yellow star', True)
        >>> [(item.label, round(item.timestamp_s, 1)) for item in result.evidence]
        [('A', 74.1)]
        >>> result.save("result.json")
    """

    question: Question
    prediction: Answered | None
    """The answer in the form of the question's kind; None if the run has no answer."""
    reasoning: str
    evidence: Scratchpad
    """M+: the frames that support the answer. `sheet` shows them."""
    dead_zones: DeadZones
    """M−: the intervals that were explored without findings."""
    stop: str
    """The reason for which the search stopped, as one name; `stops` has the levels."""
    failure: str
    """The last failure of a call of the master, or of a round in which every worker's call failed;
    empty if there was none. `calls` has every failed call, including those that a worker recovered
    from."""
    rounds: int
    usage: dict[Role, Usage]
    """The usage of all replies, by role. A cached reply counts with the usage of the call that
    generated it."""
    settings: dict[str, Any]
    trace: Trace
    sheet: Sheet = field(compare=False, repr=False)
    """The evidence as an image."""
    calls: tuple[Call, ...] = field(compare=False, repr=False, default=())
    """Every call of this execution with its times, in the order in which they ended; not part of
    the JSON. As a table: `pd.DataFrame(result.calls)`."""
    spent: Spent = field(compare=False, default=Spent())
    """The cost of this execution; not part of the JSON."""

    @property
    def choice(self) -> int | None:
        """The index of the chosen answer; None without choices or without an answer."""
        if self.question.kind == "choice" and isinstance(self.prediction, int):
            return self.prediction
        return None

    @property
    def interval(self) -> Span | None:
        """The predicted interval of a when-question, in seconds; None unless there is just one."""
        return self.intervals[0] if len(self.intervals) == 1 else None

    @property
    def intervals(self) -> Spans:
        """The predicted intervals of a when-question, in seconds; none for other questions."""
        return spans_of(self.prediction)

    @property
    def answer(self) -> str | None:
        """The answer as text, a choice without its letter; None if the run has no answer."""
        if self.prediction is None:
            return None
        return self.question.in_words(self.prediction)

    @property
    def answer_in_words(self) -> str:
        """The answer as displays word it, "B: the red car"; empty if the run has no answer.

        If the answer is that the video shows no such thing, it is "not there" if everything was
        seen at the step that the search aimed at, else "not found".
        """
        if self.prediction == ABSENT:
            return "not there" if self.coverage.is_complete else "not found"
        return in_words(self.question, self.prediction, self.sheet.video)

    @property
    def places(self) -> tuple[Place, ...]:
        """The intervals of the answer to a when-question about a collection, as films and times.

        () for other questions and other videos.

        Examples:
            >>> result.places
            ()
        """
        places = list[Place]()
        for span in self.intervals:
            places += places_of(self.sheet.video, *span)
        return tuple(places)

    @property
    def truth_in_words(self) -> str:
        """The true answer as displays word it; empty if it is not known."""
        return in_words(self.question, self.question.answer, self.sheet.video)

    @property
    def stops(self) -> Stops:
        """The reasons for which the run stopped, by the paper's three levels (§3.2)."""
        visits = Counter(report.stop for report in self.trace.of(Report))
        is_global = self.stop not in MASTER_STOPS + WORKER_STOPS
        return Stops(
            worker=dict(sorted(visits.items())),
            master=self.stop if self.stop in MASTER_STOPS else None,
            overall=self.stop if is_global else None,
        )

    @property
    def within(self) -> Span:
        """The interval that was searched, in seconds: the whole video unless `ask` got `within`."""
        return searched_interval(self.settings, self.sheet.video.duration_s)

    @cached_property
    def coverage(self) -> Coverage:
        """How finely each part of the searched interval was seen: the proof of a "no"."""
        return coverage_of(self.trace, self.within, self.settings)

    @property
    def explored(self) -> float:
        """The share of the searched interval that workers explored, in [0, 1]."""
        # A union of intervals, whether they are dead zones or not.
        visited = DeadZones().add_all(report.interval_s for report in self.trace.of(Report))
        return visited.coverage(*self.within)

    @property
    def is_right(self) -> bool | None:
        """Whether the answer is right; None if the truth is not known."""
        if self.question.answer is None:
            return None
        return self.question.is_right(self.prediction)

    @property
    def total(self) -> Usage:
        """The sum of `usage` over all roles."""
        return sum(self.usage.values(), Usage())

    @property
    def per_video(self) -> Usage:
        """The part of `total` that depends on the video alone, and is paid once a video."""
        return sum((call.usage for call in self.calls if call.is_per_video), Usage())

    @property
    def per_question(self) -> Usage:
        """The part of `total` that every question costs anew."""
        return sum((call.usage for call in self.calls if not call.is_per_video), Usage())

    @property
    def without_evidence(self) -> str:
        """Why the answer has no evidence; empty if it has some, or if there is no answer."""
        if self.prediction in (None, ABSENT) or len(self.evidence):
            return ""
        return why_unsupported(self.settings.get("method"))

    def costs(self) -> list[dict[str, Any]]:
        """Return the calls and tokens as rows: one for each role, and one for their total."""
        rows = list[dict[str, Any]]()
        for role, usage in [*self.usage.items(), ("total", self.total)]:
            row = {
                "role": role,
                "calls": usage.calls,
                "prompt": usage.prompt_tokens,
                "cached": usage.cached_tokens,
                "image": usage.image_tokens,
                "completion": usage.completion_tokens,
                "reasoning": usage.reasoning_tokens,
                "effective": usage.effective_tokens,
            }
            rows.append(row)
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return the content of `to_json` as new dicts, lists and plain values."""
        return json.loads(self.to_json())  # type: ignore[no-any-return]

    def to_json(self) -> str:
        """Return the result as canonical JSON; two runs on the same inputs give the same bytes."""
        stops = self.stops
        row = {
            "atlaskit_result": RESULT_VERSION,
            "question": self.question.to_json(),
            "answer": self.answer,
            "prediction": self.prediction,
            "reasoning": self.reasoning,
            "evidence": [item.to_json() for item in self.evidence],
            "dead_zones_s": self.dead_zones.intervals,
            "stop": self.stop,
            "stops": {"worker": stops.worker, "master": stops.master, "global": stops.overall},
            "failure": self.failure,
            "rounds": self.rounds,
            "usage": {role: usage.to_json() for role, usage in self.usage.items()},
            "settings": self.settings,
            "trace": self.trace.to_json(),
        }
        if self.coverage.seen.parts:
            row["coverage"] = self.coverage.to_json()
        if self.without_evidence:
            row["without_evidence"] = self.without_evidence
        if self.places:
            row["places"] = [place.to_json() for place in self.places]
        return canonical_json(row)

    @property
    def passages(self) -> tuple[Passage, ...]:
        """Answer, evidence and truth as passages of the video, which `export` writes.

        An answer in words, "not there" included, is a passage over the whole searched interval.
        """
        question = self.question
        video = self.sheet.video
        about: dict[str, Any] = {
            "question": question.text,
            "video": video.name,
            "fps": video.fps,
        }
        found = [Passage(*span_s, question.text, "answer", **about) for span_s in self.intervals]
        if not found and self.answer_in_words:
            words = self.answer_in_words
            if self.prediction == ABSENT:
                words = f"{words}; {self.coverage}"
            found.append(Passage(*self.within, words, "answer", is_whole=True, **about))
        found += evidence_passages(self.evidence, about)
        truth = self.truth_in_words
        found += [Passage(*span_s, truth, "truth", **about) for span_s in question.evidence_s]
        if truth and not question.evidence_s:
            found.append(Passage(*self.within, truth, "truth", is_whole=True, **about))
        return tuple(found)

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        form: str | None = None,
        recorded_at: RecordedAt | None = None,
        clips: str | os.PathLike[str] | None = None,
        cache: Cache | None = None,
    ) -> None:
        """Write answer, evidence and truth to a file that other programs open. See `ak.export`.

        Args:
            path: The file; the ending of its name determines the format.
            form: The name of the format, if the name of the file should not determine it.
            recorded_at: When the recording of the video began; only Camtrap-DP has dates.
            clips: A folder for a clip of each passage with its sound.
            cache: Where clips are cached; by default the cache of the video.

        Raises:
            InputError: There is nothing to export, the format cannot hold it, or the file cannot be
                written.

        Examples:
            >>> result.export("found.vtt")
        """
        by_name = {one_line(self.sheet.video.name): self.sheet.video}
        passages, videos = of_films(self.passages, by_name)
        write(passages, path, videos=videos, form=form, recorded_at=recorded_at)
        if clips is not None:
            write_clips(passages, clips, videos, cache)

    def save(self, path: str | Path) -> None:
        """Write the result's JSON to a file.

        Raises:
            InputError: If the file cannot be written.
        """
        try:
            write_whole(path, self.to_json() + "\n")
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror}.") from error

    @property
    def stopped_by(self) -> str:
        """`stop`, or "the model failed" if there is no answer because of a failed call."""
        is_within_limits = self.stop in (*MASTER_STOPS, *WORKER_STOPS, "model")
        if is_within_limits and self.prediction is None and self.failure:
            return "the model failed"
        return self.stop

    def __str__(self) -> str:
        total = self.total
        spent = self.spent
        answer = printable(self.answer_in_words) or "none"
        remark = verdict(self.is_right, has_evidence=not self.without_evidence)
        truth = printable(self.truth_in_words)
        video = self.sheet.video
        frames = list[str]()
        for item in self.evidence:
            frames.append(f"[{item.label}] {moment_in_words(video, item.timestamp_s)}")
        evidence = ", ".join(frames) or self.without_evidence or "none"
        tokens = f"{total.tokens:,} tokens"
        if total.estimated:
            tokens = f"about {tokens}"
        if total.cached_tokens:
            tokens += f" ({total.cached_tokens:,} cached by the server)"
        rounds = "1 round" if self.rounds == 1 else f"{self.rounds} rounds"
        stopped = f"{self.stopped_by}: {self.failure}" if self.failure else self.stopped_by
        visits = ", ".join(f"{count} {stop}" for stop, count in self.stops.worker.items())

        lines = [printable(self.question.text), f"  answer    {answer}{remark}"]
        if truth and truth != answer:
            lines.append(f"  truth     {truth}")
        lines.append(f"  evidence  {evidence}")
        if self.coverage.seen.parts:
            lines.append(f"  seen      {self.coverage}")
        lines += [
            f"  cost      {total.calls} calls, {tokens} in {rounds}",
            f"  paid now  {spent.calls} calls, {spent.frames_decoded} frames decoded, "
            f"{spent.seconds:.2f} s",
            f"  stopped   {stopped}",
        ]
        if visits:
            lines.append(f"  visits    {visits}")
        if "caution" in self.settings:
            lines.append(f"  caution   {printable(str(self.settings['caution']))}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        answer = printable(self.answer_in_words, 60) or "no answer"
        return f"<result: {printable(self.question.text, 80)!r}, {answer}{verdict(self.is_right)}>"


def evidence_passages(evidence: Iterable[Evidence], about: Mapping[str, Any]) -> list[Passage]:
    """Return evidence as passages, each over the cell of its frame.

    Args:
        evidence: The evidence.
        about: Fields that all passages share: question, video and fps.
    """
    passages = list[Passage]()
    for item in evidence:
        passage = Passage(
            item.start_s,
            item.end_s,
            item.description,
            "evidence",
            label=item.label,
            confidence=item.confidence,
            at_s=item.timestamp_s,
            **about,
        )
        passages.append(passage)
    return passages


Run: TypeAlias = Result | Trace | str | Path
"""A run, as its result, its trace, or the file that one of them was saved to."""


def trace_of(run: Run) -> Trace:
    """Return the trace of a run.

    Raises:
        InputError: If a file cannot be read, or is neither a result nor a trace.
    """
    if isinstance(run, Trace):
        return run
    if isinstance(run, Result):
        return run.trace
    try:
        first_line = read_whole(run).split(b"\n", 1)[0]
    except (OSError, ValueError) as error:
        raise InputError(f"{run} cannot be read: {reason(error)}.") from error
    header = parse_line(str(run), first_line)
    if isinstance(header, dict) and header.get("atlaskit_result") == RESULT_VERSION:
        return Trace.of_rows(str(run), header.get("trace"))
    return Trace.load(run)
