"""`Result`: answer, prediction, evidence, usage, stops, trace; its text and JSON forms.

`in_words` and `verdict` word answers and truths for every display, so that they agree.
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
WORKER_STOPS = ("explored",)

WITHOUT_EVIDENCE = "(!) without evidence"
"""Marks an answer that no frame supports; in ASCII, which every terminal and typeface has."""
UNSUPPORTED = "none: the answer names no frame that supports it"


def rests_on(method: object) -> str:
    """Return on what an answer without evidence is based, by the name of its method."""
    if method in (None, "video-rlm", "composite"):
        return UNSUPPORTED
    return f"none: {printable(str(method), 60)} answers without naming a frame that supports it"


def searched(settings: Mapping[str, Any], duration_s: float) -> Span:
    """Return the interval that a run with these settings searched in a video of this duration."""
    match settings.get("within"):
        case [int() | float() as start_s, int() | float() as end_s] if (
            0 <= start_s < end_s < math.inf
        ):
            return float(start_s), float(end_s)
    return 0.0, duration_s


def in_words(question: Question, answered: Answered | None, video: Video | None = None) -> str:
    """Return an answer or a truth as every display words it; empty for None.

    A choice has its letter, "B: the red car"; intervals are clock times, "8:08.7–8:16.5", and name
    the film if `video` is a collection; anything else is as `Question.in_words` returns it.
    """
    if answered is None:
        return ""
    spans = spans_of(answered)
    if spans and video is not None:
        return ", ".join(interval_in_words(video, *span) for span in spans)
    if spans:
        return ", ".join(interval(*span) for span in spans)
    if question.kind == "choice" and isinstance(answered, int):
        letter = f"{label_of(answered)}: "
    else:
        letter = ""
    return f"{letter}{question.in_words(answered)}"


def choices_in_words(question: Question) -> str:
    """Return the choices in one line, "A: the blue car | B: the red car"; empty without choices."""
    return " | ".join(in_words(question, index) for index in range(len(question.choices)))


def verdict(is_right: bool | None, truth: str = "", *, has_evidence: bool = True) -> str:
    """Return the remark after an answer in a text: right or wrong, the truth, missing evidence.

    Args:
        is_right: Whether the answer is right; None if the truth is not known.
        truth: The truth in words, which is added to a wrong answer.
        has_evidence: Whether a frame supports the answer; if none does, the answer is marked.
    """
    clause = "" if is_right is None else f", which is {'right' if is_right else 'wrong'}"
    told_truth = f" (truth: {truth})" if truth and is_right is False else ""
    return f"{clause}{told_truth}{'' if has_evidence else f' {WITHOUT_EVIDENCE}'}"


@dataclass(frozen=True)
class Spent:
    """The cost of this execution. A replay from a full cache makes no calls, decodes no frames."""

    calls: int = 0
    tokens: int = 0
    frames_decoded: int = 0
    seconds: float = 0.0
    decoding_s: float = 0.0
    """Seconds of decoding; of several threads at once, those of each."""


@dataclass(frozen=True)
class Stops:
    """The reasons for which a run stopped, by the paper's three levels (§3.2)."""

    worker: dict[str, int]
    """Number of visits by the reason they ended: finished, plateau, steps, budget, failed."""
    master: str | None
    """"sufficient", or "depth" if there was nothing to explore; None if the master did not stop the
    run."""
    overall: str | None
    """The limit that was reached: rounds, calls, tokens, effective_tokens, usd, seconds; "model" if
    the model failed."""


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
    """The usage of all replies, when they were generated, by role."""
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
        return None if self.prediction is None else self.question.in_words(self.prediction)

    @property
    def answer_in_words(self) -> str:
        """The answer as displays word it, "B: the red car"; empty if the run has no answer.

        What is not in the video is "not there" if all was seen at the step of the search, and "not
        found" if less was.
        """
        if self.prediction == ABSENT:
            return "not there" if self.coverage.is_complete else "not found"
        return in_words(self.question, self.prediction, self.sheet.video)

    @property
    def places(self) -> tuple[Place, ...]:
        """Where the answer to a when-question is in a collection: films and times in them.

        () for another question or another video.

        Examples:
            >>> result.places
            ()
        """
        video = self.sheet.video
        return tuple(place for span in self.intervals for place in places_of(video, *span))

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
        return searched(self.settings, self.sheet.video.duration_s)

    @cached_property
    def coverage(self) -> Coverage:
        """How finely each part of the searched interval was seen: the proof of a "no"."""
        return coverage_of(self.trace, self.within, self.settings)

    @property
    def explored(self) -> float:
        """The share of the searched interval that workers explored, in [0, 1]."""
        visited = DeadZones().add_all(report.interval_s for report in self.trace.of(Report))
        return visited.coverage(*self.within)

    @property
    def is_right(self) -> bool | None:
        """Whether the answer is right; None if the truth is not known."""
        return None if self.question.answer is None else self.question.is_right(self.prediction)

    @property
    def total(self) -> Usage:
        """The usage of all replies, when they were generated, for all roles together."""
        return sum(self.usage.values(), Usage())

    @property
    def per_video(self) -> Usage:
        """The part of `total` that depends on the video alone, and is paid once a video.

        It is what these calls cost when they were made, whether or not this run paid them.
        """
        return sum((call.usage for call in self.calls if call.is_per_video), Usage())

    @property
    def per_question(self) -> Usage:
        """The part of `total` that every question costs anew."""
        return sum((call.usage for call in self.calls if not call.is_per_video), Usage())

    @property
    def without_evidence(self) -> str:
        """The basis of an answer without evidence; empty with evidence, or without an answer."""
        has_none = self.prediction not in (None, ABSENT) and not len(self.evidence)
        return rests_on(self.settings.get("method")) if has_none else ""

    def costs(self) -> list[dict[str, Any]]:
        """Return the calls and tokens as rows: one for each role, and one for their total."""
        rows: list[tuple[str, Usage]] = [*self.usage.items(), ("total", self.total)]
        return [
            {
                "role": role,
                "calls": usage.calls,
                "prompt": usage.prompt_tokens,
                "cached": usage.cached_tokens,
                "image": usage.image_tokens,
                "completion": usage.completion_tokens,
                "reasoning": usage.reasoning_tokens,
                "effective": usage.effective_tokens,
            }
            for role, usage in rows
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the content of `to_json` as plain values: dicts, lists, texts, numbers, None.

        They are copies: a change of them does not change the result.
        """
        return json.loads(self.to_json())  # type: ignore[no-any-return]

    def to_json(self) -> str:
        """Return the result as canonical JSON; two runs on the same inputs give the same bytes."""
        return canonical_json(
            {
                "atlaskit_result": RESULT_VERSION,
                "question": self.question.to_json(),
                "answer": self.answer,
                "prediction": self.prediction,
                "reasoning": self.reasoning,
                "evidence": [item.to_json() for item in self.evidence],
                "dead_zones_s": self.dead_zones.intervals,
                **({"coverage": self.coverage.to_json()} if self.coverage.seen.parts else {}),
                "stop": self.stop,
                "stops": {
                    "worker": self.stops.worker,
                    "master": self.stops.master,
                    "global": self.stops.overall,
                },
                "failure": self.failure,
                "rounds": self.rounds,
                "usage": {role: usage.to_json() for role, usage in self.usage.items()},
                "settings": self.settings,
                "trace": self.trace.to_json(),
                **({"without_evidence": self.without_evidence} if self.without_evidence else {}),
                **({"places": self._places_json()} if self.places else {}),
            }
        )

    def _places_json(self) -> list[dict[str, Any]]:
        return [
            {
                "film": place.film,
                "start_s": place.start_s,
                "end_s": place.end_s,
                "at": None if place.at is None else place.at.isoformat(),
            }
            for place in self.places
        ]

    @property
    def passages(self) -> tuple[Passage, ...]:
        """Answer, evidence and truth as passages of the video, which `export` writes.

        An answer in words, also that something is not there, is about all that was searched.
        """
        about: dict[str, Any] = {"question": self.question.text, "video": self.sheet.video.name}
        about["fps"] = self.sheet.video.fps
        found = [
            Passage(*span_s, self.question.text, "answer", **about) for span_s in self.intervals
        ]
        if not found and self.answer_in_words:
            proof = f"; {self.coverage}" if self.prediction == ABSENT else ""
            found.append(
                Passage(
                    *self.within, f"{self.answer_in_words}{proof}", "answer", is_whole=True, **about
                )
            )
        found += evidence_passages(self.evidence, about)
        truth = self.truth_in_words
        found += [Passage(*span_s, truth, "truth", **about) for span_s in self.question.evidence_s]
        if truth and not self.question.evidence_s:
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
            path: The file; what its name ends in tells the format.
            form: The name of the format, whatever the file is called.
            recorded_at: When the recording of the video began; only Camtrap-DP has dates.
            clips: A folder in which to cut each stretch as a film with its sound.
            cache: Where clips are cached; by default that of the video.

        Raises:
            InputError: There is nothing to export, the format cannot hold it, or the file cannot be
                written.

        Examples:
            >>> result.export("found.vtt")
        """
        named = {one_line(self.sheet.video.name): self.sheet.video}
        passages, videos = of_films(self.passages, named)
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
        """What stopped the run in words: a model that failed at the last gave no answer by that."""
        is_done = self.stop in (*MASTER_STOPS, *WORKER_STOPS, "model")  # and no limit was reached
        is_failed = is_done and self.prediction is None and bool(self.failure)
        return "the model failed" if is_failed else str(self.stop)

    def __str__(self) -> str:
        total = self.total
        spent = self.spent
        answer = printable(self.answer_in_words) or "none"
        truth = printable(self.truth_in_words)
        visits = ", ".join(f"{count} {stop}" for stop, count in self.stops.worker.items())
        rounds = "1 round" if self.rounds == 1 else f"{self.rounds} rounds"
        about = "about " if total.estimated else ""
        cached = f" ({total.cached_tokens:,} cached by the server)" if total.cached_tokens else ""
        video = self.sheet.video
        evidence = ", ".join(
            f"[{item.label}] {moment_in_words(video, item.timestamp_s)}" for item in self.evidence
        )
        lines = [
            printable(self.question.text),
            f"  answer    {answer}{verdict(self.is_right, has_evidence=not self.without_evidence)}",
            *([f"  truth     {truth}"] if truth and truth != answer else []),
            f"  evidence  {evidence or self.without_evidence or 'none'}",
            *([f"  seen      {self.coverage}"] if self.coverage.seen.parts else []),
            f"  cost      {total.calls} calls, {about}{total.tokens:,} tokens{cached} in {rounds}",
            (
                f"  paid now  {spent.calls} calls, {spent.frames_decoded} frames decoded, "
                f"{spent.seconds:.2f} s"
            ),
            f"  stopped   {self.stopped_by}{f': {self.failure}' if self.failure else ''}",
            *([f"  workers   {visits}"] if visits else []),
            *(
                [f"  caution   {printable(str(self.settings['caution']))}"]
                if "caution" in self.settings
                else []
            ),
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        answer = printable(self.answer_in_words, 60) or "no answer"
        return f"<result: {printable(self.question.text, 80)!r}, {answer}{verdict(self.is_right)}>"


def evidence_passages(evidence: Iterable[Evidence], about: Mapping[str, Any]) -> list[Passage]:
    """Return evidence as passages: the cells of its frames.

    Args:
        evidence: The frames.
        about: Fields that all passages share: question, video and fps.
    """
    return [
        Passage(
            item.start_s,
            item.end_s,
            item.description,
            "evidence",
            label=item.label,
            confidence=item.confidence,
            at_s=item.timestamp_s,
            **about,
        )
        for item in evidence
    ]


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
