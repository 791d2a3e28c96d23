"""`Result`: answer, prediction, evidence, usage, stops, trace; its text and JSON forms."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from atlaskit.caching.files import write_whole
from atlaskit.caching.keys import canonical_json
from atlaskit.environment.memory import DeadZones, Scratchpad
from atlaskit.environment.notation import clock
from atlaskit.environment.question import Answered, Question, Span, Spans, spans_of
from atlaskit.environment.render import Sheet
from atlaskit.errors import InputError, printable, reason
from atlaskit.models.call_log import Call
from atlaskit.models.protocol import Role
from atlaskit.models.usage import Usage
from atlaskit.runs.trace import Trace, parse_line

RESULT_VERSION = 3

MASTER_STOPS = ("sufficient", "depth")
WORKER_STOPS = ("explored",)

UNSUPPORTED = "none: the answer names no frame that supports it"
RESTS_ON = {
    "uniform": "none: the answer rests on frames at equal steps, and names none of them",
    "captions": "none: the answer rests on captions of the video's clips",
    "subtitles": "none: the answer rests on the subtitles alone",
    "blind": "none: the answer rests on the question alone",
    "retrieval": "none: the answer rests on clips that a search for words found",
    "videotree": "none: the answer rests on captions of frames that stand for groups of similar ones",
    "videoagent": "none: the answer rests on captions of frames that were looked for",
    "mapreduce": "none: the answer rests on what was written down of chosen scenes",
    "mapreduce-clips": "none: the answer rests on what was written down of chosen clips",
    "worldmm": "none: the answer rests on what was recalled from summaries, facts and frames",
    "dvd": "none: the answer rests on records of clips, and on what was told of frames of some of them",
    "videoarm": "none: the answer rests on notes of a look from coarse to fine, and on the frames seen last",
}
"""What the answer of a method rests on that never names a frame, by the method's name."""


def rests_on(method: object) -> str:
    """Return what an answer without evidence rests on, by the name of its method."""
    return RESTS_ON.get(str(method), UNSUPPORTED)


def verdict(is_right: bool | None) -> str:
    """Return the clause that follows an answer in a text; empty if the truth is not known."""
    return "" if is_right is None else f", which is {'right' if is_right else 'wrong'}"


@dataclass(frozen=True)
class Spent:
    """What this execution cost. A replay from a full cache makes no calls and decodes no frames."""

    calls: int = 0
    tokens: int = 0
    frames_decoded: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Stops:
    """What stopped a run, by the paper's three levels (§3.2)."""

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
    """What `ask` or a baseline returns for one question."""

    question: Question
    prediction: Answered | None
    """The answer in the form of the question's kind; None if the run has no answer."""
    reasoning: str
    evidence: Scratchpad
    """M+: the frames that support the answer. `sheet` shows them."""
    dead_zones: DeadZones
    """M−: the intervals that were explored without findings."""
    stop: str
    """What stopped the search, by one name; `stops` has the levels."""
    failure: str
    """The last failure of a call of the master, or of a round in which every worker's call failed;
    empty if there was none. `calls` has every failed call, including those that a worker recovered
    from."""
    rounds: int
    usage: dict[Role, Usage]
    """What the replies cost when they were made, by role."""
    settings: dict[str, Any]
    trace: Trace
    sheet: Sheet = field(compare=False, repr=False)
    """The evidence as an image."""
    calls: tuple[Call, ...] = field(compare=False, repr=False, default=())
    """Every call of this execution with its times, in the order in which they ended; not part of
    the JSON. As a table: `pd.DataFrame(call.row() for call in result.calls)`."""
    spent: Spent = field(compare=False, default=Spent())
    """What this execution cost; not part of the JSON."""

    @property
    def choice(self) -> int | None:
        """The index of the chosen answer; None without choices or without an answer."""
        return self.prediction if self.question.kind == "choice" and isinstance(self.prediction, int) else None

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
        """The answer in words; None if the run has no answer."""
        return None if self.prediction is None else self.question.in_words(self.prediction)

    @property
    def stops(self) -> Stops:
        """What stopped the run at each of the paper's three levels (§3.2)."""
        visits = Counter(event["stop"] for event in self.trace.of("report"))
        is_global = self.stop not in MASTER_STOPS + WORKER_STOPS
        return Stops(
            worker=dict(sorted(visits.items())),
            master=self.stop if self.stop in MASTER_STOPS else None,
            overall=self.stop if is_global else None,
        )

    @property
    def coverage(self) -> float:
        """The share of the video that workers explored, in [0, 1]."""
        visited = DeadZones().add_all(event["interval_s"] for event in self.trace.of("report"))
        return visited.coverage(0.0, self.sheet.video.duration_s)

    @property
    def is_right(self) -> bool | None:
        """Whether the answer is right; None if the truth is not known."""
        return None if self.question.answer is None else self.question.is_right(self.prediction)

    @property
    def total(self) -> Usage:
        """What the replies cost when they were made, all roles together."""
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
        """What an answer without evidence rests on; empty with evidence, or without an answer."""
        has_none = self.prediction is not None and not len(self.evidence)
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
                "stop": self.stop,
                "stops": {"worker": self.stops.worker, "master": self.stops.master, "global": self.stops.overall},
                "failure": self.failure,
                "rounds": self.rounds,
                "usage": {role: usage.to_json() for role, usage in self.usage.items()},
                "settings": self.settings,
                "trace": self.trace.to_json(),
                **({"without_evidence": self.without_evidence} if self.without_evidence else {}),
            }
        )

    def save(self, path: str | Path) -> None:
        """Write the result's JSON to a file.

        Raises:
            InputError: If the file cannot be written.
        """
        try:
            write_whole(path, self.to_json() + "\n")
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror}.") from error

    def __str__(self) -> str:
        total, spent = self.total, self.spent
        truth_mark = {True: " – right", False: " – wrong", None: ""}[self.is_right]
        visits = ", ".join(f"{count} {stop}" for stop, count in self.stops.worker.items())
        rounds = "1 round" if self.rounds == 1 else f"{self.rounds} rounds"
        about = "about " if total.estimated else ""
        cached = f" ({total.cached_tokens:,} cached by the server)" if total.cached_tokens else ""
        evidence = ", ".join(f"[{item.label}] {clock(item.timestamp_s)}" for item in self.evidence)
        lines = [
            printable(self.question.text),
            f"  answer    {'none' if self.answer is None else printable(self.answer)}{truth_mark}",
            *([f"  truth     {self._truth()}"] if self.is_right is False else []),
            f"  evidence  {evidence or self.without_evidence or 'none'}",
            f"  cost      {total.calls} calls, {about}{total.tokens:,} tokens{cached} in {rounds}",
            f"  paid now  {spent.calls} calls, {spent.frames_decoded} frames decoded, {spent.seconds:.2f} s",
            f"  stopped   {self.stop}{f': {self.failure}' if self.failure else ''}",
            *([f"  workers   {visits}"] if visits else []),
        ]
        return "\n".join(lines)

    def _truth(self) -> str:
        truth = self.question.answer
        return "unknown" if truth is None else self.question.in_words(truth)


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
        first_line = Path(run).read_bytes().split(b"\n", 1)[0]
    except (OSError, ValueError) as error:
        raise InputError(f"{run} cannot be read: {reason(error)}.") from error
    header = parse_line(str(run), first_line)
    if isinstance(header, dict) and header.get("atlaskit_result") == RESULT_VERSION:
        return Trace.of_rows(str(run), header.get("trace"))
    return Trace.load(run)
