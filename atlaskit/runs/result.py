"""What a run gives back: the answer, the frames it rests on, what it cost, why it stopped, and its trace."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from atlaskit.caching.keys import canonical_json
from atlaskit.environment.memory import DeadZones, Scratchpad
from atlaskit.environment.notation import clock
from atlaskit.environment.question import Answered, Question, Span
from atlaskit.environment.render import Sheet
from atlaskit.errors import InputError, printable
from atlaskit.models.call_log import Call
from atlaskit.models.protocol import Role
from atlaskit.models.usage import Usage
from atlaskit.runs.trace import Trace

RESULT_VERSION = 3

MASTER_STOPS = ("sufficient", "depth")
WORKER_STOPS = ("explored",)


def verdict(is_right: bool | None) -> str:
    """Return what is said behind an answer of whether it is right: nothing where the truth is not known."""
    return "" if is_right is None else f", which is {'right' if is_right else 'wrong'}"


@dataclass(frozen=True)
class Spent:
    """What this very run paid. A replay out of a full cache makes no calls and decodes no frames."""

    calls: int = 0
    tokens: int = 0
    frames_decoded: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Stops:
    """What stopped a run, by the level that did (paper §3.2)."""

    worker: dict[str, int]
    """How many visits ended for which reason: finished, plateau, steps, budget, failed."""
    master: str | None
    """"sufficient", or "depth" where there was nothing to explore; None if the Master did not stop the run."""
    overall: str | None
    """The limit that was reached: rounds, calls, tokens, effective_tokens, seconds; "model", if it did not answer."""


@dataclass(frozen=True)
class Result:
    """The outcome of one question."""

    question: Question
    prediction: Answered | None
    """What was answered, in the form of the question's kind; None if no answer could be had."""
    reasoning: str
    evidence: Scratchpad
    """M+: the frames the answer rests on. Show them with `sheet`."""
    dead_zones: DeadZones
    """M−: the time that was searched and holds nothing."""
    stop: str
    """Which of the search's stops ended it."""
    failure: str
    """The last failure of a call of the Master's, or of a round in which no worker got an answer, in words; empty if
    there was none. Each failed call, also one that a worker went on from, is in `calls`."""
    rounds: int
    usage: dict[Role, Usage]
    """What the answers cost when they were made, by role."""
    settings: dict[str, Any]
    trace: Trace
    sheet: Sheet = field(compare=False, repr=False)
    """The evidence as an image."""
    calls: tuple[Call, ...] = field(compare=False, repr=False, default=())
    """Every call of this run, in the order in which they ended, with times; not part of the result's JSON. For a table:
    `pd.DataFrame(call.row() for call in result.calls)`."""
    spent: Spent = field(compare=False, default=Spent())
    """What this run paid just now; not part of the result's JSON."""

    @property
    def choice(self) -> int | None:
        """The index of the chosen answer, None for a question without choices or where there is no answer."""
        return self.prediction if self.question.kind == "choice" and isinstance(self.prediction, int) else None

    @property
    def interval(self) -> Span | None:
        """The predicted interval of a when-question, in seconds."""
        return self.prediction if isinstance(self.prediction, tuple) else None

    @property
    def answer(self) -> str | None:
        """The answer in words."""
        return None if self.prediction is None else self.question.in_words(self.prediction)

    @property
    def stops(self) -> Stops:
        """What each of the paper's three levels of stopping did (§3.2)."""
        visits = Counter(event["stop"] for event in self.trace.of("report"))
        is_global = self.stop not in MASTER_STOPS + WORKER_STOPS
        return Stops(
            worker=dict(sorted(visits.items())),
            master=self.stop if self.stop in MASTER_STOPS else None,
            overall=self.stop if is_global else None,
        )

    @property
    def coverage(self) -> float:
        """The fraction of the video that workers were sent to, in [0, 1]."""
        visited = DeadZones().add_all(event["interval_s"] for event in self.trace.of("report"))
        return visited.coverage(0.0, self.sheet.video.duration_s)

    @property
    def is_right(self) -> bool | None:
        """Whether the answer is right, None where the truth is not known."""
        return None if self.question.answer is None else self.question.is_right(self.prediction)

    @property
    def total(self) -> Usage:
        """What the answers cost when they were made, all roles together."""
        return sum(self.usage.values(), Usage())

    def costs(self) -> list[dict[str, Any]]:
        """Return one row a role, and one for all, of calls and tokens."""
        rows: list[tuple[str, Usage]] = [*self.usage.items(), ("total", self.total)]
        return [
            {
                "role": role,
                "calls": usage.calls,
                "prompt": usage.prompt_tokens,
                "cached": usage.cached_tokens,
                "image": usage.image_tokens,
                "completion": usage.completion_tokens,
                "effective": usage.effective_tokens,
            }
            for role, usage in rows
        ]

    def to_json(self) -> str:
        """Return the result as canonical JSON: of two runs on the same inputs, the same bytes."""
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
            }
        )

    def save(self, path: str | Path) -> None:
        """Write the result's JSON to a file; raise InputError where it cannot be written."""
        try:
            Path(path).write_text(self.to_json() + "\n", encoding="utf-8")
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror}.") from error

    def __str__(self) -> str:
        total, spent, verdict = self.total, self.spent, {True: " – right", False: " – wrong", None: ""}[self.is_right]
        visits = ", ".join(f"{count} {stop}" for stop, count in self.stops.worker.items())
        rounds = "1 round" if self.rounds == 1 else f"{self.rounds} rounds"
        about = "about " if total.estimated else ""
        cached = f" ({total.cached_tokens:,} cached by the server)" if total.cached_tokens else ""
        evidence = ", ".join(f"[{item.label}] {clock(item.timestamp_s)}" for item in self.evidence)
        lines = [
            printable(self.question.text),
            f"  answer    {'none' if self.answer is None else printable(self.answer)}{verdict}",
            *([f"  truth     {self._truth()}"] if self.is_right is False else []),
            f"  evidence  {evidence or 'none'}",
            f"  cost      {total.calls} calls, {about}{total.tokens:,} tokens{cached} in {rounds}",
            f"  paid now  {spent.calls} calls, {spent.frames_decoded} frames decoded, {spent.seconds:.2f} s",
            f"  stopped   {self.stop}{f': {self.failure}' if self.failure else ''}",
            *([f"  workers   {visits}"] if visits else []),
        ]
        return "\n".join(lines)

    def _truth(self) -> str:
        truth = self.question.answer
        return "unknown" if truth is None else self.question.in_words(truth)
