"""`MethodRun`: makes a method's calls within its budget, records them, and builds its `Result`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypedDict, TypeVar, get_args

from atlaskit.agents.budget import DECISION_CALLS, RESERVED_CALLS, Budget, Charge, Limit, Meter, check_budget
from atlaskit.agents.master import prediction
from atlaskit.agents.responsiveness import MAX_UNANSWERED
from atlaskit.agents.suitability import warn_if_unsuitable
from atlaskit.caching.cache import Cache, default_cache
from atlaskit.environment.memory import DeadZones, Scratchpad
from atlaskit.environment.question import Kind, Question, Span, as_question
from atlaskit.environment.render import Sheet
from atlaskit.methods.prompts import TextCall
from atlaskit.models.cached import Cached
from atlaskit.models.call_log import CallLog
from atlaskit.models.clock import now_s
from atlaskit.models.errors import ModelError, Unreachable
from atlaskit.models.named import as_model
from atlaskit.models.presets import preset_for
from atlaskit.models.protocol import MAX_ATTEMPTS, Model, Reply, Request, Role
from atlaskit.models.usage import CHARACTERS_A_TOKEN, Usage
from atlaskit.runs.archive import save_manifest
from atlaskit.runs.events import Event, call_data, failure_data
from atlaskit.runs.result import Result, Spent
from atlaskit.runs.trace import Trace
from atlaskit.video.opening import as_video
from atlaskit.video.playlist import AnyVideo
from atlaskit.video.records import remember_video

T = TypeVar("T")


class MethodSettings(TypedDict, total=False):
    """The keywords that every method but Video-RLM takes. They mean what they mean for `ask`."""

    kind: Kind | None
    budget: Budget | None
    sample: int
    replay: bool
    cache: Cache | None


class MethodRun:
    """One run of a method: `begin`, calls, then `decide`, which returns the result.

    Calls before the decision (`call`, `answers`) return nothing once `is_over`: the budget is
    spent, or the model refuses every call. A method then decides from what it has.
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
    ) -> None:
        """Set up the run; raise InputError for a question or settings that break a rule."""
        self.sample, self.is_replay = sample, replay
        self.question = as_question(question, choices, kind)
        if budget is not None:
            check_budget(budget)
        self.vlm = vlm = as_model(vlm, cache or default_cache(), is_replay=replay)
        self.video = video = as_video(video, cache)
        warn_if_unsuitable(vlm.name, preset_for(vlm), video, self.question)
        self.cache = (cache or default_cache()).watched()
        self.model = CallLog(Cached(vlm, self.cache, sample=sample, replay=replay))
        remember_video(video, self.cache)
        self.events, self.failure = list[Event](), ""
        self.refusal: ModelError | None = None  # the failure after which no call can succeed
        self.limit: Limit | None = None  # the limit of the budget that ended the calls
        self.budget, self.meter, self._charging = budget, Meter(budget or Budget()), threading.Lock()
        self.frames_before = video.frames_decoded

    def begin(self, method: str, settings: dict[str, Any]) -> None:
        """Record the start of the run.

        Args:
            method: Name of the method.
            settings: The settings that this method has beside those of all.
        """
        self.settings = {
            "method": method,
            "model": self.vlm.name,
            "parameters": dict(self.vlm.parameters),
            "sample": self.sample,
            "video": self.video.fingerprint,
            **settings,
            **({} if self.budget is None else {"budget": self.budget.recorded()}),
        }
        self.log(Event("start", data={"question": self.question.to_json(), "settings": self.settings}))

    @property
    def is_over(self) -> bool:
        """Whether no call but the decision may follow."""
        if self.limit is None and self.budget is not None:
            self.limit = self.meter.exhausted()
        return self.limit is not None or self.refusal is not None

    def call(self, request: Request, intervals_s: Sequence[Span] = (), told: str = "") -> Any:
        """Make a call before the decision, and record it as a turn.

        Args:
            request: What the model is asked.
            intervals_s: The parts of the video that it is shown or told of.
            told: What the request tells the model beyond the turns before.

        Returns:
            The answer; None if the call failed, or none may follow.
        """
        if self.is_over:
            return None
        outcome = self.complete(request)
        if isinstance(outcome, ModelError):
            self.log_failure(request.step, outcome)
            return None
        self.log_turn(request.step, outcome, intervals_s, told)
        return outcome.answer

    def answers(
        self, items: Sequence[T], request: Callable[[T], Request], threads: int = 4
    ) -> Iterator[tuple[T, Reply]]:
        """Make a call about each item in parallel; yield the items that got a reply, in order.

        Failures are logged and left out. With a budget, calls are made in groups of `threads`, and
        the budget is checked between groups, so that the outcome does not depend on timing.

        Raises:
            Unreachable: If the first MAX_UNANSWERED calls of the run fail because the server is
                unreachable.
        """
        group = len(items) if self.budget is None else threads
        unreachable, has_reply = 0, any(not call.failure for call in self.model.calls)
        with ThreadPoolExecutor(threads) as pool:
            start = 0
            while start < len(items):
                if self.is_over:
                    return
                left = self.meter.calls_left()
                room = group if left is None else min(group, left - RESERVED_CALLS)  # positive: it is not over
                some = items[start : start + room]
                start += room
                requests = list(map(request, some))
                for item, asked, outcome in zip(some, requests, pool.map(self.complete, requests), strict=True):
                    if not isinstance(outcome, ModelError):
                        has_reply = True
                        yield item, outcome
                        continue
                    self.log_failure(asked.step, outcome)
                    unreachable += isinstance(outcome, Unreachable)
                    if outcome.is_final or (unreachable == MAX_UNANSWERED and not has_reply):
                        pool.shutdown(cancel_futures=True)
                        if outcome.is_final:
                            return
                        raise outcome

    def complete(self, request: Request, is_decision: bool = False) -> Reply | ModelError:
        """Make a call within the budget; return the reply, or the error if it failed."""
        if self.refusal is not None:
            return self.refusal
        started_s, left = now_s(), self.meter.calls_left()
        spare = 0 if is_decision else DECISION_CALLS
        attempts = MAX_ATTEMPTS if left is None else min(MAX_ATTEMPTS, max(1, left - spare))
        try:
            outcome: Reply | ModelError = self.model.complete(
                request, max_attempts=attempts, deadline_s=self.meter.deadline_s
            )
        except ModelError as error:
            self.refusal = error if error.is_final else self.refusal
            outcome = error
        charge = Charge.of(outcome)
        with self._charging:  # sums and maxima: the order of parallel calls does not matter
            self.meter.charge(request.role, charge, self.meter.peak(charge.usage), now_s() - started_s)
        return outcome

    def log_turn(self, step: str, reply: Reply, intervals_s: Sequence[Span] = (), told: str = "") -> None:
        """Record a call that got a reply, as a turn."""
        spans = [list(span) for span in intervals_s]
        answer = reply.answer.model_dump(mode="json")
        self.log(
            Event("turn", data={"step": step, "intervals_s": spans, "told": told, "answer": answer, **call_data(reply)})
        )

    def log(self, event: Event) -> None:
        """Add an event to the trace."""
        self.events.append(event)

    def log_failure(self, step: str, error: ModelError) -> None:
        """Record a call that failed."""
        self.failure = str(error)
        self.log(Event("failure", data=failure_data(step, error, error.usage)))

    def text_request(self, text: str, context: int) -> Request:
        """Return the request to answer from text.

        Text that does not fit is cut off after its last whole row, and `failure` says so.

        Args:
            text: Captions or subtitles, a row each; empty to answer from the question alone.
            context: How many tokens of text the model may get, at CHARACTERS_A_TOKEN each.
        """
        limit = context * CHARACTERS_A_TOKEN
        if len(text) > limit:
            fitting = text[:limit].rpartition("\n")[0] or text[:limit]
            self.failure = f"Of {len(text):,} characters only the first {len(fitting):,} fit the context."
            text = fitting
        return TextCall(self.question, self.video.duration_s, text).request()

    def decide(self, request: Request) -> Result:
        """Ask for the decision and return the result of the run.

        Raises:
            Unreachable: If the server cannot be reached, and no call of the run got a reply.
        """
        if not self.meter.can_decide():
            return self.end()
        outcome = self.complete(request, is_decision=True)
        if isinstance(outcome, Unreachable) and all(call.failure for call in self.model.calls):
            raise outcome
        if isinstance(outcome, ModelError):
            self.log_failure("decision", outcome)
        else:
            answer = outcome.answer.model_dump(mode="json")
            self.log(Event("decision", data={"view": None, "sheet": None, "answer": answer, **call_data(outcome)}))
        return self.end(None if isinstance(outcome, ModelError) else outcome)

    def end(self, decision: Reply | None = None) -> Result:
        """Record the run, and return its result: with a decision, or without an answer."""
        result = self._result(decision)
        save_manifest(result.trace, self.cache)
        return result

    def _result(self, decision: Reply | None) -> Result:
        calls, stop = self.model.calls, self._stop(decision)
        usage = {role: sum((call.usage for call in calls if call.role == role), Usage()) for role in get_args(Role)}
        paid_now = sum((call.usage for call in calls if call.live), Usage())
        count = sum(each.calls for each in usage.values())
        self.log(Event("stop", data={"stop": stop, "rounds": 0, "calls": count}))
        return Result(
            question=self.question,
            prediction=None if decision is None else prediction(self.question, decision.answer),
            reasoning="" if decision is None else decision.answer.reasoning,
            evidence=Scratchpad(),
            dead_zones=DeadZones(),
            stop=stop,
            failure=self.failure,
            rounds=0,
            usage=usage,
            settings=self.settings,
            trace=Trace(tuple(self.events)),
            sheet=Sheet(self.video, Scratchpad(), cache=self.cache),
            calls=tuple(calls),
            spent=Spent(
                calls=paid_now.calls,
                tokens=paid_now.tokens,
                frames_decoded=self.video.frames_decoded - self.frames_before,
                seconds=self.meter.seconds,
            ),
        )

    def _stop(self, decision: Reply | None) -> str:
        if self.limit is None and not self.meter.can_decide() and decision is None:
            self.limit = self.meter.exhausted()
        return self.limit or ("model" if decision is None else "answered")
