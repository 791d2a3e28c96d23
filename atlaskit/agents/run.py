"""`Run`: one run of a method on a question, with its calls, its budget, its events and its result.

Video-RLM and all other methods use it. A call never raises ModelError: it returns the error, so
that the method can record it and go on. A display gets each event and cannot affect the run: it
must return at once, and an error in it becomes one line on stderr.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, Protocol, Self

from atlaskit.agents.budget import Budget, Meter, check_budget
from atlaskit.agents.prompts import Call
from atlaskit.agents.replies import DecisionReply, read
from atlaskit.agents.settings import caution
from atlaskit.caching.cache import Cache, default_cache
from atlaskit.environment.memory import DeadZones, Scratchpad
from atlaskit.environment.question import ABSENT, Answered, Kind, Question, as_question
from atlaskit.environment.render import Sheet
from atlaskit.environment.scoring import merged
from atlaskit.errors import Interrupted, printable, reason
from atlaskit.guests import DISPLAYS, load, registered
from atlaskit.models.cached import Cached, CallLog
from atlaskit.models.names import preset_of
from atlaskit.models.protocol import Model, ModelError, Reply, Request, Usage, now_s
from atlaskit.models.serving.server import as_model
from atlaskit.runs.events import Event, Start, Stop
from atlaskit.runs.result import Result, Spent
from atlaskit.runs.trace import Trace, save_manifest
from atlaskit.video.opening import as_video
from atlaskit.video.playlist import AnyVideo
from atlaskit.video.records import remember_video
from atlaskit.video.video import Video


class RunDisplay(Protocol):
    """A live display of one run."""

    def on_event(self, event: Event) -> None:
        """Record one event, on the thread of the event; drawing belongs on another thread."""

    def on_end(self, result: Result | None) -> None:
        """Draw the final state of the run; the result is None if the run ended with an error."""


class Run:
    """One run: `begin`, calls and events, then `end`, which returns the result.

    With `show`, use it in a `with` block, at whose end the display gets the result.

    Attributes:
        events: The events, in the order of the trace.
        failure: The last failure, which the result states; empty if there was none.
        refusal: The last failure after which every call must fail; None if there was none.
        result: The result that `end` returned; None before.
    """

    def __init__(
        self,
        video: AnyVideo,
        question: str | Question,
        choices: Sequence[str] | None,
        vlm: Model | str,
        *,
        kind: Kind | None = None,
        budget: Budget | None = None,
        sample: int = 0,
        replay: bool = False,
        cache: Cache | None = None,
        on_event: Callable[[Event], None] | None = None,
        show: bool = False,
    ) -> None:
        """Set up the run; raise InputError for a question or settings that break a rule.

        The arguments are those of `ask`.

        Args:
            on_event: Called with each event; its errors end the run.
            show: Whether to draw the run.
        """
        self.question = as_question(question, choices, kind)
        self.budget = budget
        if budget is not None:
            check_budget(budget)
        store = cache or default_cache()
        self._store = store
        self.vlm = as_model(vlm, store, is_replay=replay)
        self.video = as_video(video, store)
        self._caution = caution(self.vlm, self.video, self.question)
        self.sample = sample
        self.is_replay = replay
        self.cache = store.watched()
        self.model = CallLog(Cached(self.vlm, self.cache, sample=sample, replay=replay))
        remember_video(self.video, self.cache)
        self.events = list[Event]()
        self.settings = dict[str, Any]()
        self.failure = ""
        self.refusal: ModelError | None = None
        self.result: Result | None = None
        self._display: RunDisplay | None = None
        self._on_event = on_event
        self._has_warned = False
        if show:
            self._draw(self._open_display)
        # The clock starts here, since opening the video is not part of the run.
        self.meter = Meter(budget or Budget())
        self.frames_before = self.video.frames_decoded
        self.decoding_before_s = self.video.decoding_s

    def begin(self, method: str, settings: dict[str, Any]) -> None:
        """Record the start of the run.

        Args:
            method: Name of the method.
            settings: The settings of this method, beside those that all methods share.
        """
        self.settings = {
            "method": method,
            "model": self.vlm.name,
            "parameters": dict(self.vlm.parameters),
            "sample": self.sample,
            "video": self.video.fingerprint,
            **settings,
        }
        if self.budget is not None:
            self.settings["budget"] = self.budget.to_json()
        if self._caution:
            self.settings["caution"] = self._caution
        self.log(Start(question=self.question.to_json(), settings=self.settings))

    def complete(self, request: Request, max_attempts: int | None = None) -> Reply | ModelError:
        """Make a call and charge it; return the reply, or the error if it failed.

        Calls may be made in parallel: the meter only adds up, so their order does not matter.

        Args:
            request: The request to the model.
            max_attempts: The most attempts; None for as many as the budget allows.
        """
        outcome: Reply | ModelError
        attempts = max_attempts or self.meter.attempts(request.step == "decision")
        started_s = now_s()
        try:
            outcome = self.model.complete(
                request,
                max_attempts=attempts,
                deadline_s=self.meter.deadline_s,
                cancel=self.meter.cancel,
            )
        except ModelError as error:
            outcome = error
            if error.is_final:  # another thread may set this too; either error will do
                self.refusal = error
        self.meter.charge(request.role, outcome.usage, now_s() - started_s)
        return outcome

    @contextmanager
    def in_parallel(self, most: int) -> Iterator[ThreadPoolExecutor]:
        """Yield threads for parallel calls; an interrupt (Ctrl-C) cancels those in flight."""
        # A replay does not wait for replies, so one thread suffices.
        with ThreadPoolExecutor(1 if self.is_replay else most) as pool:
            try:
                yield pool
            except BaseException:
                self.meter.cancel.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    @property
    def is_hopeless(self) -> bool:
        """Whether no call got a reply and one failed with an error that every call would meet."""
        return self.refusal is not None and not self.has_reply

    @property
    def has_reply(self) -> bool:
        """Whether a call got a reply."""
        return any(not call.failure for call in self.model.calls)

    def log(self, event: Event) -> None:
        """Add an event to the trace, and emit it."""
        self.events.append(event)
        self.emit(event)

    def emit(self, event: Event) -> None:
        """Pass an event to the display and to the callback."""
        display = self._display
        if display is not None:
            self._draw(lambda: display.on_event(event))
        if self._on_event is not None:
            self._on_event(event)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        display = self._display
        if display is not None:
            self._draw(lambda: display.on_end(self.result))
        if kind is KeyboardInterrupt:
            count = sum(not call.failure for call in self.model.calls)
            replies = "1 reply is" if count == 1 else f"{count:,} replies are"
            raise Interrupted(f"stopped; {replies} kept, run it again to go on") from None

    def _open_display(self) -> None:
        self._display = open_display(self.video, self._store)

    def _draw(self, action: Callable[[], None]) -> None:
        """Run an action that must not fail the run; report its first error on stderr."""
        try:
            action()
        except Exception as error:
            if not self._has_warned:
                self._has_warned = True
                with suppress(Exception):  # stderr may be closed
                    fault = printable(reason(error), 300)
                    print(
                        f"atlaskit: the run goes on, but cannot be drawn: {fault}", file=sys.stderr
                    )

    def end(
        self,
        stop: str,
        decision: Reply | None,
        *,
        rounds: int = 0,
        evidence: Scratchpad = Scratchpad(),
        dead_zones: DeadZones = DeadZones(),
        sheet: Sheet | None = None,
    ) -> Result:
        """Record the end of the run, and return its result.

        Args:
            stop: Why the run ended.
            decision: The reply that answers the question; None without an answer.
            rounds: The number of rounds.
            evidence: The evidence (M+).
            dead_zones: The dead zones (M−).
            sheet: The image of the evidence; None for an image with the default look.
        """
        self.log(Stop(stop=stop, rounds=rounds, calls=self.meter.total.calls))
        calls = tuple(self.model.calls)
        live_usage = sum((call.usage for call in calls if call.live), Usage())
        answer: Answered | None = None
        reasoning = ""
        if decision is not None:
            answer = prediction(self.question, read(DecisionReply, decision.answer))
            reasoning = decision.answer.reasoning
        self.result = Result(
            question=self.question,
            prediction=answer,
            reasoning=reasoning,
            evidence=evidence,
            dead_zones=dead_zones,
            stop=stop,
            failure=self.failure,
            rounds=rounds,
            usage=dict(self.meter.used),
            settings=self.settings,
            trace=Trace(tuple(self.events)),
            sheet=sheet or Sheet(self.video, evidence, cache=self.cache),
            calls=calls,
            spent=Spent(
                calls=live_usage.calls,
                tokens=live_usage.tokens,
                frames_decoded=self.video.frames_decoded - self.frames_before,
                decoding_s=self.video.decoding_s - self.decoding_before_s,
                seconds=self.meter.seconds,
            ),
        )
        save_manifest(self.result.trace, self.cache)
        return self.result


def open_display(video: Video, cache: Cache) -> RunDisplay:
    """Return a display for a run on a video; its renderings are stored in the cache.

    The display is found by its entry point: a run knows nothing of notebooks and terminals.

    Raises:
        InputError: No display is registered, or it cannot be imported.
    """
    name = next(iter(registered(DISPLAYS)), "live")
    display: RunDisplay = load(DISPLAYS, name)(video, cache)
    return display


def prediction(question: Question, decision: DecisionReply) -> Answered:
    """Return the prediction of a decision: a choice's index, interval(s), a number or words.

    The ends of an interval are sorted, because no schema can force a model to give the start first.
    Several intervals are in order of time; those that overlap or touch are joined.
    """
    if decision.absent:
        return ABSENT
    if question.several:
        return merged(interval.span for interval in decision.intervals)
    if question.kind == "when":
        return decision.interval.span
    if isinstance(decision.answer, str):
        return decision.answer.strip()
    return decision.answer


def request_for(model: Model, call: Call) -> Request:
    """Return the request for a call, with the prompts that the model was trained on, if any."""
    words = preset_of(model).words
    return call.request() if words is None else words(call)
